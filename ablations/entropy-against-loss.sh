#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: is low attention entropy a failure? Paths of entropy against loss, of two tasks. On recall
# (the runs of four-scalings.sh) none is expected to start at low entropy and high loss and to stay,
# the others to start at high entropy and come down with the loss. On the reversal of lr-window.sh,
# at a rate of 0.01, where all learn: all end at low entropy and low loss, and sqrt lower than none was
# when it knew nothing. So no threshold on entropy tells saturation from what was learned: the loss does.
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

. ablations/rates.sh
of() { # STATISTIC COLUMN SCALE
    values "$2" "scale=$3" lr=0.01 | "$1"
}
ignorant=$(of smallest entropy_norm_first none) # the lowest entropy at which none was at chance
printf '\nReversal, lr 0.01:\n%-7s %22s %22s %22s\n' scale 'loss' 'H/ln n at start' 'H/ln n at end'
for scale in none t5 sqrt dk qknorm; do
    printf '%-7s %22s %22s %22s\n' $scale "$(of in_words final_loss $scale)" \
        "$(of in_words entropy_norm_first $scale)" "$(of in_words entropy_norm_last $scale)"
done
claim "reversal, none: starts at low entropy, near chance" \
    "$(of largest entropy_norm_first none) < 0.2 && $(of smallest initial_loss none) > 2"
claim "reversal, none: ends at lower entropy yet, and a low loss" \
    "$(of largest entropy_norm_last none) < 0.05 && $(of largest final_loss none) < 0.1"
for scale in sqrt t5; do
    claim "reversal, $scale: solved, in every seed at lower entropy than any none started with" \
        "$(of largest entropy_norm_last $scale) < $ignorant && $(of largest final_loss $scale) < 0.001"
done
claim "reversal, none at 0.1: lower entropy than any of these, not solved" \
    "$(values entropy_norm_last scale=none lr=0.1 | largest) < $(of smallest entropy_norm_last t5) && $(values final_loss scale=none lr=0.1 | smallest) > 1"

join_grids paths 'lr-window/*_lr-0.01_*'
report_grid trajectory=entropy-against-loss-learned
finish
