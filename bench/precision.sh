#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/precision.sh [ROUNDS] [SIZE...]: steps with products of bfloat16 beside steps with floats, in
# turns. Writes precision.csv and prints its table.
set -eu
cd "$(dirname "$0")/.."
. bench/lib.sh
rounds=${1:-5}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- tiny small medium baby

steps_of() {
    case $1 in tiny) echo 60 ;; small) echo 20 ;; medium) echo 5 ;; *) echo 2 ;; esac
}

echo "precision,round,size,threads,ms_median,ms_least,gflops,mib,first_step_s,loss" >"$dir/precision.csv"
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    for threads in $counts; do
        for size; do
            for precision in float bf16; do
                line=$(own step "$size" "$threads" "$(steps_of "$size")" $precision)
                echo "$precision,$round,$line" >>"$dir/precision.csv"
            done
        done
    done
done
table precision
