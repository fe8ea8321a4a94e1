#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/scaling.sh [ROUNDS]: the time of a step as one of T, d_model, layers, batch and threads doubles
# and the others stay; then one head over long sequences, whose memory should grow as T and whose time
# as T^2. Writes scaling.csv and prints its tables.
set -eu
cd "$(dirname "$0")/.."
. bench/lib.sh
rounds=${1:-2}
out=$dir/scaling.csv

# point WHAT VALUE LAYERSxHEADSxD_MODELxTxBATCHxV THREADS [STEPS]
point() {
    line=$(own step "$3" "$4" "${5:-10}")
    echo "$1,$2,$round,$line" >>"$out"
}

echo "what,value,round,size,threads,ms_median,ms_least,gflops,mib,first_step_s,loss" >"$out"
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    for n in 128 256 512 1024 2048; do point T $n 2x4x128x${n}x1x64 1; done
    for n in 64 128 256 512; do point d_model $n 4x4x${n}x64x12x64 1; done
    for n in 1 2 4 8; do point layers $n ${n}x4x128x64x12x64 1; done
    for n in 4 8 16 32; do point batch $n 4x4x128x64x${n}x64 1; done
    n=1
    while [ $n -le "$most" ]; do
        point threads $n 4x4x256x128x16x64 $n
        n=$((2 * n))
    done
    for n in 1024 2048 4096 8192; do point "one head" $n 1x1x64x${n}x1x64 1 3; done
done
table scaling
table memory
