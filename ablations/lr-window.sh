#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: with the learning rate tuned, is there any difference left between the scalings? Expected:
# hardly any in the best loss; a large one in how many rates work. Sensitivity to the learning rate
# (Wortsman et al. 2023, 2.2): qknorm < sqrt < t5 and dk < none. t5 starts exactly as sqrt, so
# between these two it is the step of W_Q alone that differs.
# One layer of one head learns to write eight symbols backwards; nothing but attention can move them.
#     ablations/lr-window.sh
set -eu
cd "$(dirname "$0")/.."
. ablations/lib.sh

train_grid lr-window --task reverse --seq-len 8 --layers 1 --heads 1 --d-k 64 --mlp none \
    --scale none,sqrt,dk,qknorm,t5 --lr 3e-4,1e-3,3e-3,1e-2,3e-2,1e-1 --seed 1..5 \
    --batch 32 --steps 400 --schedule cosine --probe-every 50
print_grid
report_grid rates=lr-window

for scale in none sqrt dk qknorm t5; do
    claim "$scale: the loss at the best rate is near 0" "$(rated loss $scale) < 0.02"
done
for l0 in chance start; do
    none=$(rated $l0 none) sqrt=$(rated $l0 sqrt) dk=$(rated $l0 dk) t5=$(rated $l0 t5)
    qknorm=$(rated $l0 qknorm)
    claim "sensitivity, l0 = $l0: qknorm far below sqrt" "$qknorm < 0.3 * $sqrt"
    claim "sensitivity, l0 = $l0: sqrt below dk and t5" "$sqrt < $dk && $sqrt < $t5"
    claim "sensitivity, l0 = $l0: dk and t5 below none" "$dk < $none && $t5 < $none"
done
finish
