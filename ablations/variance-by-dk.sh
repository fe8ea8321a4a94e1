#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: how does the spread of attention scores grow with d_k, and what is left of the entropy?
# First as pure theory (queries and keys drawn), then in the first layer of a model before its first
# update, beside what theory predicts for it. Expected: variance with slope +1 for none, 0 for sqrt
# and qknorm, -1 for dk; entropy as predicted.
#     ablations/variance-by-dk.sh
set -eu
cd "$(dirname "$0")/.."
. ablations/lib.sh

theory=0
./train theory --d-k 1..4096 >runs/science/theory.txt || theory=$?
awk '/^1\. The scores/ { on = 1 } /^ *slope  / { on = 0 } on' runs/science/theory.txt

. ablations/start.sh
report_grid start=variance-by-dk

spread() { # SCALE: d_k and the mean variance of the scores there
    for d_k in 4 16 64 256; do
        at_start attention.csv score_std "scale=$1" "d-k=$d_k" |
            awk -v d_k="$d_k" '{ s += $1 * $1; n++ } END { print d_k, s / n }'
    done
}
claim "theory: every check of ./train theory --d-k 1..4096 holds" "$theory == 0"
near "none: the slope of ln variance in ln d_k is 1" "$(spread none | slope)" 1 0.05
near "sqrt: it is 0" "$(spread sqrt | slope)" 0 0.05
near "dk: it is -1" "$(spread dk | slope)" -1 0.05
# Theory has Gaussian scores. Those of narrow heads are not: each row has a spread of its own.
for scale in none sqrt dk qknorm; do
    for d_k in 16 64 256; do
        measured=$(at_start attention.csv entropy_norm scale=$scale d-k=$d_k | mean)
        predicted=$(at_start attention.csv entropy_norm_theory scale=$scale d-k=$d_k | mean)
        near "$scale, d_k $d_k: entropy / ln n as predicted" "$measured" "$predicted" \
            "$([ $d_k = 16 ] && echo 0.03 || echo 0.01)"
    done
done
finish
