#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: is low attention entropy a failure? The runs of four-scalings.sh, as paths of entropy
# against loss. Expected: none starts at low entropy and high loss, and stays; the others start at
# high entropy and come down with the loss. So low entropy is saturation where the loss is high, and
# what was learned where it is low.
#     ablations/entropy-against-loss.sh
set -eu
cd "$(dirname "$0")/.."
. ablations/lib.sh

train_grid four-scalings --scale none,sqrt,dk,qknorm --seed 1..3
print_grid
report_grid trajectory=entropy-against-loss

last() { # SCALE: the largest over seeds
    values final_loss "scale=$1" | largest
}
claim "none starts at low entropy" "$(values entropy_norm_first scale=none | largest) < 0.2"
claim "none ends at lower entropy than it started with, at a high loss" \
    "$(values entropy_norm_last scale=none | largest) < 0.2 && $(values final_loss scale=none | smallest) > 2"
for scale in sqrt dk qknorm; do
    claim "$scale starts at high entropy" "$(values entropy_norm_first scale=$scale | smallest) > 0.8"
    claim "$scale ends at lower entropy and a low loss" \
        "$(values entropy_norm_last scale=$scale | largest) < 0.75 && $(last $scale) < 0.05"
done
finish
