#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/steps.sh [ROUNDS] [SIZE...]: whole steps beside the machine's peak and, where /usr/bin/python3
# or PYTHON has torch, beside PyTorch. Rounds go A B A B, so that both meet the same weather. Writes
# steps.csv and prints its table.
#
# PyTorch runs tuned, where malloc keeps its memory and the widest kernels are used that the processor
# has; and plain, as it is installed. Its BLAS is the system's, and of OpenBLAS the OpenMP flavour is
# the fair one, as the other has threads of its own beside those it is given: tuned takes it where
# Debian's libopenblas0-openmp is installed, whatever the system has chosen.
set -eu
cd "$(dirname "$0")/.."
. bench/lib.sh
rounds=${1:-3}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- tiny small medium baby
out=$dir/steps.csv
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || python=

capability=default
for wider in avx2 avx512; do
    grep -qs " $wider" /proc/cpuinfo && capability=$wider
done

blas=
for path in /usr/lib/*/openblas-openmp; do
    [ -d "$path" ] && blas=$path
done
[ -z "$python" ] || [ -n "$blas" ] ||
    echo "steps: no OpenMP flavour of OpenBLAS here; the tuned PyTorch has the system's BLAS" >&2

tuned() {
    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE ATEN_CPU_CAPABILITY="$capability" \
        LD_LIBRARY_PATH="$blas${blas:+${LD_LIBRARY_PATH:+:}}${LD_LIBRARY_PATH:-}" \
        MALLOC_TRIM_THRESHOLD_=4000000000 MALLOC_MMAP_THRESHOLD_=4000000000 \
        MALLOC_TOP_PAD_=500000000 "$@"
}

steps_of() {
    case $1 in tiny) echo 100 ;; small) echo 40 ;; medium) echo 10 ;; *) echo 5 ;; esac
}

# one WHO COMMAND...: a line of CSV with who and the round in front
one() {
    who=$1
    shift
    line=$("$@") && echo "$who,$round,$line" >>"$out"
}

echo "who,round,size,threads,ms_median,ms_least,gflops,mib,first_step_s,loss" >"$out"
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    for threads in $counts; do
        for size; do
            steps=$(steps_of "$size")
            peak=$(own peak "$threads" | cut -d, -f2)
            echo "peak,$round,$size,$threads,,,$peak,,," >>"$out"
            one rootdk own step "$size" "$threads" "$steps"
            [ -n "$python" ] || continue
            one torch-tuned tuned "$python" bench/torch_step.py "$size" "$threads" "$steps"
            one torch-plain "$python" bench/torch_step.py "$size" "$threads" "$steps"
        done
    done
done
table steps
