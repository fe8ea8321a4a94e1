#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: "I removed the scale and nothing happened": why? Because the weights were small. The rule
# is about queries and keys of unit variance. With weights of 0.02 the undivided scores of this head
# have a variance of 0.17, and dividing them is what costs time. Expected: with --init unit none is
# held up by saturated rows and sqrt is not; with gpt2 both learn, none not later than sqrt; with gpt2
# and a factor that brings the variance of the scores back to d_k, saturated rows again, so it is the
# scores and not the other weights; with t5, where W_Q is drawn smaller, none starts as sqrt does
# with unit, and learns.
#     ablations/init-matters.sh
set -eu
cd "$(dirname "$0")/.."
. ablations/lib.sh

write_backwards() { # OPTION...
    train_grid init-matters "$@" --task reverse --seq-len 16 --layers 1 --heads 1 --d-k 256 \
        --mlp none --seed 1..5 --batch 16 --steps 300 --probe-every 50 --eval-every 20 --eval-size 128
}
write_backwards --init unit,t5 --scale none,sqrt
write_backwards --init gpt2 --scale none,sqrt,39.0625 # 1 / (64 * 0.02^2): d_model 64, weights of 0.02
print_grid
report_grid loss=init-matters

echo
for case in "unit sqrt" "gpt2 none" "gpt2 sqrt" "t5 none" "t5 sqrt"; do
    echo "$case: solved at $(values solved_at "init=${case% *}" "scale=${case#* }" | in_words)" \
        "(evaluated every 20 steps)"
done
echo

worst() { # INIT SCALE: accuracy
    values accuracy "init=$1" "scale=$2" | smallest
}
last() { # INIT SCALE: the mean over seeds of the final loss
    values final_loss "init=$1" "scale=$2" | mean
}
claim "unit: sqrt solves the task in every seed" "$(worst unit sqrt) >= 0.99"
claim "unit: none does not" "$(worst unit none) < 0.99 && $(last unit none) > 100 * $(last unit sqrt)"
claim "gpt2: both do" "$(worst gpt2 none) >= 0.99 && $(worst gpt2 sqrt) >= 0.99"
claim "gpt2: none no later than sqrt" \
    "$(values solved_at init=gpt2 scale=none | largest) <= $(values solved_at init=gpt2 scale=sqrt | smallest)"
claim "gpt2, the scores back at variance d_k: not in every seed" \
    "$(worst gpt2 39.0625) < 0.99 && $(last gpt2 39.0625) > 100 * $(last gpt2 sqrt)"
claim "t5: none solves it in every seed" "$(worst t5 none) >= 0.99"
finish
