# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The grid that lr-window.sh and entropy-against-loss.sh both look at: one layer of one head writes
# eight symbols backwards under each scaling, at six learning rates. Sourced.
rates="0.0003 0.001 0.003 0.01 0.03 0.1"
train_grid lr-window --task reverse --seq-len 8 --layers 1 --heads 1 --d-k 64 --mlp none \
    --scale none,sqrt,dk,qknorm,t5 --lr "$(echo "$rates" | tr ' ' ,)" --seed 1..5 \
    --batch 32 --steps 400 --schedule cosine --probe-every 50
