#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: "I removed the scale and nothing happened": why? Because the weights were small. The rule
# is about queries and keys of unit variance. With weights of 0.02 the undivided scores of this width
# have a variance of 0.04, and dividing them is what hurts. Expected: with --init unit none fails and
# sqrt learns; with gpt2 the other way round; with gpt2 and a factor that brings the variance of the
# scores back to d_k, failure again, so it is the scores and not the other weights; with t5, where
# W_Q is drawn smaller, none learns, since it starts as sqrt does with unit.
#     ablations/init-matters.sh
set -eu
cd "$(dirname "$0")/.."
. ablations/lib.sh

# 39.0625 = 1 / (64 * 0.02^2): d_model 64, weights of 0.02
train_grid init-matters --init unit,t5 --scale none,sqrt --seed 1..3
train_grid init-matters --init gpt2 --scale none,sqrt,39.0625 --seed 1..3
print_grid
report_grid loss=init-matters

worst() { # INIT SCALE: accuracy
    values accuracy "init=$1" "scale=$2" | smallest
}
finest() { # INIT SCALE
    values accuracy "init=$1" "scale=$2" | largest
}
claim "unit: sqrt solves the task, none stays near chance" \
    "$(worst unit sqrt) >= 0.99 && $(finest unit none) < 0.3"
claim "gpt2: none solves the task, sqrt does not" \
    "$(worst gpt2 none) >= 0.99 && $(finest gpt2 sqrt) < 0.5"
claim "gpt2, scores back at variance d_k: none's failure again" "$(finest gpt2 39.0625) < 0.3"
claim "t5: none solves the task" "$(worst t5 none) >= 0.99"
finish
