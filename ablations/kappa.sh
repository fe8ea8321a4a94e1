#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: how large may scores be before attention hurts, and before it is worse than none? Force RMS(q) = RMS(k) =
# sqrt(kappa) by an RMSNorm of q and k with a fixed gain of sqrt(kappa), as in Wortsman et al. 2023,
# Fig. 10: with 1 / sqrt(d_k) behind it, kappa is the standard deviation of the scores of
# independent directions, and training cannot leave it. Published (10M parameters): worse from
# kappa = 1e3 on, and at 1e4 worse than a bigram model. Expected of this small model and few steps:
# worse at each kappa than at the one before, and worse than the bigram model earlier than published,
# at 1e3 in any case. The bigram model here is the same model with windows of one character.
#     ablations/kappa.sh [FILE]      default: the project's own sources
set -eu
cd "$(dirname "$0")/.."
. ablations/lib.sh
choose_text "$@"

character_model() { # NAME OPTION...
    train_grid "$@" --task text --data "$text" --layers 2 --heads 2 --d-model 64 --d-k 32 \
        --steps 600 --lr 2e-3 --schedule cosine --seed 1..5 --eval-every 0
}
loss() { # [OPTION=VALUE]
    values final_loss "$@" | mean
}
character_model "$(of_text kappa-bigram)" --seq-len 1 --batch 1024 --eval-size 16384 --probe-every 0
print_grid
bigram=$(loss)
bigram_seeds=$(values final_loss)

character_model "$(of_text kappa)" --seq-len 64 --batch 16 --eval-size 256 --probe-every 100 \
    --scale sqrt --qk-norm rms --no-qk-gain-learned --qk-gain 1,3.1622777,10,31.622777,100
print_grid
report_grid loss=kappa

gains="1 3.1622777 10 31.622777 100"
of_kappa() { # GAIN: losses, by seed
    values final_loss "qk-gain=$1"
}
kappa() { # GAIN
    awk "BEGIN { printf \"%.4g\", $1^2 }"
}
printf '%-7s %18s %16s %16s\n' kappa loss 'beside kappa 1' 'beside bigram'
for gain in $gains; do
    printf '%-7s %18s %16s %16s\n' "$(kappa "$gain")" "$(of_kappa "$gain" | in_words)" \
        "$(stands "$(of_kappa "$gain")" "$(of_kappa 1)")" "$(stands "$(of_kappa "$gain")" "$bigram_seeds")"
done
printf '%-7s %18s\n' bigram "$(echo "$bigram_seeds" | in_words)"

previous=0
for gain in $gains; do
    claim "kappa $(kappa "$gain"): no better than a smaller one" "$(loss qk-gain="$gain") > $previous - 0.01"
    near "kappa $(kappa "$gain"): it is the std of the scores at the start, ratio" \
        "$(at_start attention.csv score_std qk-gain="$gain" | awk "{ print \$1 / $gain^2 }" | mean)" 1 0.1
    previous=$(loss qk-gain="$gain")
done
claim "kappa 1: better than a bigram model, in every seed" \
    "$(of_kappa 1 | largest) < $bigram - 0.1"
claim "kappa 10: worse than at 1, intervals apart" \
    "$(is_that above "$(of_kappa 3.1622777)" "$(of_kappa 1)")"
claim "kappa 1e3: worse than a bigram model, intervals apart" \
    "$(is_that above "$(of_kappa 31.622777)" "$bigram_seeds")"
claim "kappa 1e4: worse than a bigram model, in every seed" \
    "$(of_kappa 100 | smallest) > $bigram"
finish
