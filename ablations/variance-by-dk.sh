#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: how does the spread of attention scores grow with d_k, and what is left of the entropy?
# First as pure theory (queries and keys drawn), then in the first layer of a model before its first
# update, beside what theory predicts for it. Expected: variance with slope +1 for none, 0 for sqrt
# and qknorm, -1 for dk; entropy as predicted, but that theory has one Gaussian of variance c^2 d_k
# for all rows. Three things of a real model are not in it, and all make attention softer: |q| varies
# from row to row (by sqrt(2 / d_k)), so does the spread that W_K gives it (sqrt(2 / d_model)), and a
# symbol that occurs twice has nearly the same key twice. A wide model with many symbols shows it:
# there what is left in wide heads is expected to vanish, and that of narrow ones to stay.
#     ablations/variance-by-dk.sh
set -eu
cd "$(dirname "$0")/.."
. ablations/lib.sh

theory=0
./train theory --d-k 1..4096 >runs/science/theory.txt || theory=$?
awk '/^1\. The scores/ { on = 1 } /^ *slope  / { on = 0 } on' runs/science/theory.txt

spread() { # SCALE: d_k and the mean variance of the scores there
    for d_k in 4 16 64 256; do
        at_start attention.csv score_std "scale=$1" "d-k=$d_k" |
            awk -v d_k="$d_k" '{ s += $1 * $1; n++ } END { print d_k, s / n }'
    done
}
predicted() { # SCALE D_K: entropy / ln n
    at_start attention.csv entropy_norm_theory "scale=$1" "d-k=$2" | mean
}
# By seed, as heads of one seed read the same tokens: entropy / ln n measured less predicted.
beyond() { # SCALE D_K
    values entropy_norm_first "scale=$1" "d-k=$2" | awk -v y="$(predicted "$1" "$2")" '{ print $1 - y }'
}
parts() { # SCALE D_K: whether the interval excludes the prediction
    beyond "$1" "$2" | interval | awk '{ print ($1 > $2 ? "above" : $1 < -$2 ? "below" : "-") }'
}
table() { # SCALES D_KS
    printf '\n%-7s %5s %18s %10s %10s %24s %6s\n' scale d_k 'variance, share' H/ln-n predicted \
        'measured - predicted' parts
    for scale in $1; do
        for d_k in $2; do
            printf '%-7s %5s %18s %10.4f %10.4f %24s %6s\n' "$scale" "$d_k" \
                "$(variance_share "scale=$scale" "d-k=$d_k" | in_words)" "$(values entropy_norm_first "scale=$scale" "d-k=$d_k" | mean)" \
                "$(predicted "$scale" "$d_k")" "$(beyond "$scale" "$d_k" | in_words)" "$(parts "$scale" "$d_k")"
        done
    done
}

. ablations/start.sh
report_grid start=variance-by-dk
table "none sqrt dk qknorm" "4 16 64 256"
claim "theory: every check of ./train theory --d-k 1..4096 holds" "$theory == 0"
near "none: the slope of ln variance in ln d_k is 1" "$(spread none | slope)" 1 0.02
near "sqrt: it is 0" "$(spread sqrt | slope)" 0 0.02
near "dk: it is -1" "$(spread dk | slope)" -1 0.02
for scale in none sqrt dk qknorm; do
    for d_k in 16 64 256; do
        case $scale-$d_k in
        none-16) tolerance=0.03 ;;
        dk-*) tolerance=$(awk "BEGIN { print 0.1 * (1 - $(predicted dk $d_k)) }") ;;
        *-16) tolerance=0.01 ;;
        *) tolerance=0.006 ;;
        esac
        near "$scale, d_k $d_k: entropy / ln n less what is predicted" \
            "$(beyond $scale $d_k | mean)" 0 "$tolerance"
        claim "$scale, d_k $d_k: not below it" "$(beyond $scale $d_k | interval | awk '{ print $1 + $2 }') > 0"
    done
done

# The same with 1024 symbols and d_model 1024.
train_grid start-wide --task random --seq-len 64 --layers 1 --heads 8 --d-model 1024 --vocab 1024 \
    --mlp none --scale none,sqrt,qknorm --d-k 16,64,256 --seed 1..5 \
    --batch 16 --eval-size 16 --steps 1 --warmup 0
table "none sqrt qknorm" "16 64 256"
for scale in none sqrt qknorm; do
    near "wide, many symbols: $scale, d_k 256: as predicted" "$(beyond $scale 256 | mean)" 0 0.002
done
near "wide, many symbols: none, d_k 16 stays above, as narrow heads do in theory, by" \
    "$(beyond none 16 | mean)" 0.019 0.01
finish
