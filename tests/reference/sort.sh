#!/bin/sh
# SPDX-License-Identifier: MIT
# Sorting 6 digits of 3, as minGPT's demo notebook has it: 3 layers, 3 heads, width 48, dropout 0.1,
# AdamW at 5e-4, 2000 steps of 64. Published there: every held-out sequence right.
set -eu
cd "$(dirname "$0")/../.."
. tests/reference/lib.sh
out=${1:-runs/reference-sort}

./train --task sort --seq-len 6 --vocab 3 --layers 3 --heads 3 --d-model 48 --bias --dropout 0.1 \
    --init gpt2 --lr 5e-4 --warmup 0 --weight-decay 0.1 --beta2 0.95 --clip 1 --batch 64 \
    --steps 2000 --seed 3407 --eval-size 2000 --log-every 200 --probe-every 200 --eval-every 500 \
    --out "$out" --force

status=0
expect "held-out sequences whole" "$(figure "$out" held_out_sequence_accuracy) >= 0.999" || status=1
initial=$(figure "$out" initial_loss)
expect "initial loss near ln 3" "($initial - log(3))^2 <= 0.05^2" || status=1
exit $status
