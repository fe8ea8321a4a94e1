#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/kernels.sh [SIZE...]: each kernel's share of its limit, with 1 thread and with all; matrix
# products apart. Writes kernels.csv and gemm.csv and prints their tables.
set -eu
cd "$(dirname "$0")/.."
. bench/lib.sh

echo "kernel,size,shape,threads,ns_per_element,rate,limit,unit,share" >"$dir/kernels.csv"
echo "threads,peak,form,m,n,k,gflops" >"$dir/gemm.csv"
for threads in $counts; do
    rows=$(own kernels "$threads" "$@") # a wrong result ends this script
    echo "$rows" | sed 1d >>"$dir/kernels.csv"
    before=$(own peak "$threads" | cut -d, -f2)
    rows=$(own gemm "$threads")
    # a peak that others disturbed is none
    peak=$({ echo "$before"; own peak "$threads" | cut -d, -f2; } | sort -n | tail -n 1)
    echo "$rows" | sed "1d; s/^/$threads,$peak,/" >>"$dir/gemm.csv"
done
table kernels
table gemm
