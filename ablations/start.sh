# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The grid that variance-by-dk.sh and gradient-anatomy.sh both look at: one layer of 8 heads on
# independent random tokens, before its first update. Sourced.
train_grid start --task random --seq-len 64 --layers 1 --heads 8 --d-model 256 --mlp none \
    --scale none,sqrt,dk,qknorm --d-k 4,16,64,256 --seed 1..5 \
    --batch 16 --eval-size 16 --steps 1 --warmup 0
