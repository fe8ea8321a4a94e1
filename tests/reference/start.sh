#!/bin/sh
# SPDX-License-Identifier: MIT
# Entropy at the start beside theory, on independent tokens: every head of every scaling within 0.02 of
# what independent inputs of unit size predict. The task is 128 wide where nobody says: W_Q and W_K are
# draws of d_model x d_k numbers, and at width 64 a single head strays a little further (printed, not
# judged).
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
for seed in 1 2 3 4 5; do
    for scale in none sqrt dk qknorm; do
        out=runs/reference-start
        set -- --task random --scale "$scale" --seed "$seed" --steps 1 --eval-size 8 --out "$out" --force --quiet
        ./train "$@" >/dev/null
        expect "$scale, seed $seed: furthest head" "$(furthest "$out") <= 0.02" || status=1
        ./train "$@" --d-model 64 --d-k 64 >/dev/null
        echo "noted   width 64, $scale, seed $seed: furthest head $(furthest "$out")"
    done
done
exit $status
