#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: d_k or d_model? With the width of the model fixed, more heads are narrower ones. Expected:
# divided by sqrt(d_k) the start is the same for any number of heads; divided by sqrt(d_model), the
# common mistake, the variance is 1 / heads; undivided it is d_k, however wide the model. That of a
# causal row about its own mean is a little less, (1 - 1/n) of it, which what theory predicts has too;
# so the share of that is expected to be 1, over seeds enough (few heads stray).
#     ablations/heads-at-fixed-width.sh
set -eu
cd "$(dirname "$0")/.."
. ablations/lib.sh

variance() { # SCALE OPTION=VALUE
    at_start attention.csv score_std "scale=$1" "$2" | awk '{ s += $1 * $1; n++ } END { print s / n }'
}
entropy() { # SCALE OPTION=VALUE
    values entropy_norm_first "scale=$1" "$2" | mean
}
share() { # OPTION=VALUE: of the variance predicted; of every scaling the same, but for rounding
    variance_share scale=sqrt "$1"
}
row() { # WORDS OPTION=VALUE
    for scale in none sqrt dmodel; do
        printf '%-14s %-7s %10.4g %20s %20s\n' "$1" $scale "$(variance $scale "$2")" \
            "$(variance_share scale=$scale "$2" | in_words)" \
            "$(values entropy_norm_first scale=$scale "$2" | in_words)"
    done
}
as_predicted() { # WORDS OPTION=VALUE
    near "sqrt, $1: the variance, as a share of what is predicted" "$(share "$2" | mean)" 1 0.025
}

at_start_of() { # NAME OPTION...: one layer on independent random tokens, before its first update
    train_grid "$@" --task random --seq-len 64 --layers 1 --mlp none --scale none,sqrt,dmodel \
        --seed 1..12 --batch 16 --eval-size 16 --steps 1 --warmup 0
}

printf '%-14s %-7s %10s %20s %20s\n' "" scale variance 'share of predicted' 'H / ln n'
at_start_of widths --d-model 64,128,256,512 --heads 4 --d-k 64
for d_model in 64 128 256 512; do row "d_model $d_model" "d-model=$d_model"; done
for d_model in 128 256 512; do
    near "none: d_model $d_model is as 64, entropy / ln n" "$(entropy none d-model=$d_model)" \
        "$(entropy none d-model=64)" 0.005
done
for d_model in 64 128 256 512; do as_predicted "d_model $d_model" "d-model=$d_model"; done

at_start_of heads --d-model 256 --heads 1,2,4,8,16,32
report_grid start=heads-at-fixed-width
for heads in 1 2 4 8 16 32; do row "$heads heads" "heads=$heads"; done
for heads in 1 2 4 8 16 32; do as_predicted "$heads heads" "heads=$heads"; done
slope_in_heads() { # SCALE
    for heads in 1 2 4 8 16 32; do echo "$heads $(variance "$1" heads=$heads)"; done | slope
}
near "none: variance falls as 1 / heads, its slope" "$(slope_in_heads none)" -1 0.02
near "sqrt: it is the same for any number of heads" "$(slope_in_heads sqrt)" 0 0.02
near "dmodel: it falls as 1 / heads" "$(slope_in_heads dmodel)" -1 0.02
near "sqrt: entropy / ln n of 32 heads is that of 1" "$(entropy sqrt heads=32)" \
    "$(entropy sqrt heads=1)" 0.01
finish
