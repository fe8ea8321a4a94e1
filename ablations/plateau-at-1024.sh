#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: what becomes of undivided attention in wide heads? Britz et al. 2017 (WMT, BLEU) found it
# fine up to 512 and 4 points worse at 1024. Expected: at d_k 1024 none stays on a plateau: saturated
# rows that let no gradient through, at a loss that is still high. sqrt does not; nor does t5, which
# has no factor either but starts as sqrt does: so it is the start that holds none there. In narrow
# heads, which start soft undivided too, no difference between none and sqrt is expected to show.
# One layer of one head learns to write sixteen symbols backwards; nothing but attention can move
# them, and a row that is saturated on the wrong symbol stays wrong.
#     ablations/plateau-at-1024.sh
set -eu
cd "$(dirname "$0")/.."
. ablations/lib.sh
. ablations/widths.sh
report_grid loss=plateau-at-1024
echo
print_solved_at "sqrt, solved at" scale=sqrt
for d_k in 64 256 1024; do
    echo "d_k $d_k: the interval of the loss, none beside sqrt:" \
        "$(stands "$(values final_loss scale=none d-k=$d_k)" "$(values final_loss scale=sqrt d-k=$d_k)")"
done
of_none() { # FILE COLUMN [SPLIT]: at step 200, d_k 1024, the mean of each seed
    for seed in 1 2 3 4 5; do tensor=${3:-} at_step 200 "$1" "$2" scale=none d-k=1024 seed=$seed | mean; done
}
echo "none, d_k 1024, step 200: held-out loss $(of_none metrics.csv loss eval | in_words)," \
    "rows with p above 0.99 $(of_none attention.csv sat99 | in_words)"

echo
for scale in sqrt t5; do
    for d_k in 64 256 1024; do
        claim "$scale, d_k $d_k: accuracy in every seed" \
            "$(values accuracy scale=$scale d-k=$d_k | smallest) >= 0.95"
    done
done
claim "sqrt is not slower at d_k 1024 than at 64" \
    "$(values solved_at scale=sqrt d-k=1024 | largest) <= $(values solved_at scale=sqrt d-k=64 | smallest)"
claim "none, d_k 1024: solved in no seed" "$(values accuracy scale=none d-k=1024 | largest) < 0.95"
loss_of_none() { # D_K
    values final_loss scale=none "d-k=$1"
}
claim "none: its loss at d_k 1024 is above that at 64 and at 256, intervals apart" \
    "$(is_that above "$(loss_of_none 1024)" "$(loss_of_none 64)") && $(is_that above "$(loss_of_none 1024)" "$(loss_of_none 256)")"
# The plateau.
claim "none, d_k 1024, step 200: nearly all rows have p above 0.99" \
    "$(at_step 200 attention.csv sat99 scale=none d-k=1024 | smallest) > 0.9"
claim "none, d_k 1024, step 200: the median row has less than a billionth of sqrt's at the start" \
    "$(at_step 200 attention.csv ds_median scale=none d-k=1024 | largest) < 1e-9 * $(at_start attention.csv ds_median scale=sqrt d-k=1024 | smallest)"

write_backwards narrow 4,16 --scale none,sqrt
for d_k in 4 16; do
    echo "d_k $d_k: the interval of the loss, none beside sqrt:" \
        "$(stands "$(values final_loss scale=none d-k=$d_k)" "$(values final_loss scale=sqrt d-k=$d_k)")"
done
claim "narrow, none: starts softer than at d_k 64" \
    "$(values entropy_norm_first scale=none d-k=4 | smallest) > 0.5 && $(values entropy_norm_first scale=none d-k=16 | smallest) > 0.25"
claim "narrow, d_k 4: the losses of none and sqrt cannot be told apart" \
    "$(is_that overlaps "$(values final_loss scale=none d-k=4)" "$(values final_loss scale=sqrt d-k=4)")"
finish
