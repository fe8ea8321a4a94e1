#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: how large may scores be before attention is of no use? Force RMS(q) = RMS(k) =
# sqrt(kappa) by an RMSNorm of q and k with a fixed gain of sqrt(kappa), as in Wortsman et al. 2023,
# Fig. 10: with 1 / sqrt(d_k) behind it, kappa is the standard deviation of the scores of
# independent directions, and training cannot leave it. Published (10M parameters): worse from
# kappa = 1e3 on, and at 1e4 worse than a bigram model. The bigram model here is the same model with
# windows of one character.
#     ablations/kappa.sh [FILE]      default: the project's own sources
set -eu
cd "$(dirname "$0")/.."
. ablations/lib.sh
choose_text "$@"

character_model() { # NAME OPTION...
    train_grid "$@" --task text --data "$text" --layers 2 --heads 2 --d-model 64 --d-k 32 \
        --steps 600 --lr 2e-3 --schedule cosine --seed 1..3 --eval-every 0
}
loss() { # [OPTION=VALUE]
    values final_loss "$@" | mean
}
character_model "$(of_text kappa-bigram)" --seq-len 1 --batch 1024 --eval-size 16384 --probe-every 0
print_grid
bigram=$(loss)

character_model "$(of_text kappa)" --seq-len 64 --batch 16 --eval-size 256 --probe-every 100 \
    --scale sqrt --qk-norm rms --no-qk-gain-learned --qk-gain 1,3.1622777,10,31.622777,100
print_grid
report_grid loss=kappa
echo "bigram: $bigram"

previous=0
for gain in 1 3.1622777 10 31.622777 100; do
    kappa=$(awk "BEGIN { print $gain^2 }")
    claim "kappa $kappa: no better than a smaller one" "$(loss qk-gain=$gain) > $previous - 0.02"
    near "kappa $kappa: it is the std of the scores at the start, ratio" \
        "$(at_start attention.csv score_std qk-gain=$gain | awk "{ print \$1 / $kappa }" | mean)" 1 0.15
    previous=$(loss qk-gain=$gain)
done
claim "kappa 1: better than a bigram model, in every seed" \
    "$(values final_loss qk-gain=1 | largest) < $bigram - 0.1"
claim "kappa 1e4: worse than a bigram model, in every seed" \
    "$(values final_loss qk-gain=100 | smallest) > $bigram"
finish
