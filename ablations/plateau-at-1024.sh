#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: from which width on does undivided attention not learn any more? Britz et al. 2017 (WMT,
# BLEU) found it fine up to 512 and 4 points worse at 1024. Expected: at some width none stays on a
# plateau, saturated rows without a gradient, and sqrt does not; nor does t5, which has no factor
# either but starts as sqrt: so it is the start that holds none there.
# The task of lr-window.sh, at one rate at which every scaling learns at d_k 64.
#     ablations/plateau-at-1024.sh
set -eu
cd "$(dirname "$0")/.."
. ablations/lib.sh

train_grid plateau --task reverse --seq-len 8 --layers 1 --heads 1 --mlp none \
    --scale none,sqrt,t5 --d-k 64,128,256,512,1024 --seed 1..3 \
    --batch 32 --steps 400 --probe-every 50 --eval-every 10 --eval-size 256
print_grid
report_grid loss=plateau-at-1024

for scale in sqrt t5; do
    for d_k in 64 128 256 512 1024; do
        claim "$scale, d_k $d_k: solved in every seed" \
            "$(values accuracy scale=$scale d-k=$d_k | smallest) >= 0.99"
    done
done
claim "sqrt: no slower at d_k 1024 than at 64" \
    "$(values solved_at scale=sqrt d-k=1024 | largest) <= $(values solved_at scale=sqrt d-k=64 | smallest)"
for d_k in 512 1024; do
    claim "none, d_k $d_k: not solved in any seed" \
        "$(values accuracy scale=none d-k=$d_k | largest) < 0.95"
done
# A plateau: the rows are saturated and let nothing through while the loss is still high.
claim "none, d_k 1024, step 200: nearly all rows have p above 0.99" \
    "$(at_step 200 attention.csv sat99 scale=none d-k=1024 | smallest) > 0.9"
claim "none, d_k 1024, step 200: the median row has less than a billionth of sqrt's at the start" \
    "$(at_step 200 attention.csv ds_median scale=none d-k=1024 | largest) < 1e-9 * $(at_start attention.csv ds_median scale=sqrt d-k=1024 | smallest)"
claim "none, d_k 1024: the loss stays far above sqrt's" \
    "$(values final_loss scale=none d-k=1024 | smallest) > 100 * $(values final_loss scale=sqrt d-k=1024 | largest)"
finish
