#!/bin/sh
# SPDX-License-Identifier: MIT
# Entropy at the start beside theory, on independent tokens: every head of every scaling within 0.02 of
# what independent inputs of unit size predict. At width 256: W_Q and W_K are draws of d_model x d_k
# numbers, and at the default width of 64 a single head strays a little further (printed, not judged).
set -eu
cd "$(dirname "$0")/../.."
. tests/reference/lib.sh

# The largest |entropy_norm - entropy_norm_theory| at step 0.
furthest() {
    awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
        $1 == 0 {
            d = $column["entropy_norm"] - $column["entropy_norm_theory"]
            if (d < 0) d = -d
            if (d > most) most = d
        }
        END { print most + 0 }' "$1/attention.csv"
}

status=0
for seed in 1 2 3; do
    for scale in none sqrt dk qknorm; do
        out=runs/reference-start
        for width in 64 256; do
            ./train --task random --scale "$scale" --seed "$seed" --d-model "$width" --d-k 64 --steps 1 \
                --eval-size 8 --out "$out" --force --quiet >/dev/null
            far=$(furthest "$out")
            if [ "$width" = 64 ]; then
                echo "noted   width  64, $scale, seed $seed: furthest head $far"
            else
                expect "width 256, $scale, seed $seed: furthest head" "$far <= 0.02" || status=1
            fi
        done
    done
done
exit $status
