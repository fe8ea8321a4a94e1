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

. ablations/rates.sh
print_grid
report_grid rates=lr-window

solved() { # SCALE LR: in how many of the five seeds
    values solved_at "scale=$1" "lr=$2" | wc -l | tr -d ' '
}
rates_with() { # SCALE N: at how many rates at least N seeds are solved
    for lr in $rates; do solved "$1" "$lr"; done | awk -v least="$2" '$1 >= least { n++ } END { print n + 0 }'
}
printf '\nSolved, of 5 seeds:\n%-7s' lr
# shellcheck disable=SC2086 # one word for each rate
printf ' %7s' $rates
printf '\n'
for scale in none sqrt dk qknorm t5; do
    printf '%-7s' $scale
    for lr in $rates; do printf ' %7s' "$(solved $scale "$lr")"; done
    printf '\n'
done

# Of one seed, with the loss at the start as l0.
sensitivity() { # SCALE SEED
    for column in final_loss initial_loss; do
        values $column "scale=$1" "seed=$2" | sed "s/^/$column /"
    done | awk '$1 == "final_loss" { x[++n] = $2; next }
        { i++; if (x[i] > $2) x[i] = $2; s += x[i]; if (i == 1 || x[i] < best) best = x[i] }
        END { printf "%.4f\n", s / n - best }'
}
printf '\nSensitivity, l0 = start, by seed:\n'
lowest=0 highest=0 sqrt_below_dk=0
printf '%-7s %7s %7s %7s %7s %7s\n' seed none sqrt dk qknorm t5
for seed in 1 2 3 4 5; do
    none=$(sensitivity none $seed) sqrt=$(sensitivity sqrt $seed) dk=$(sensitivity dk $seed)
    qknorm=$(sensitivity qknorm $seed) t5=$(sensitivity t5 $seed)
    printf '%-7s %7s %7s %7s %7s %7s\n' $seed "$none" "$sqrt" "$dk" "$qknorm" "$t5"
    others=$(printf '%s\n' "$sqrt" "$dk" "$t5")
    lowest=$(awk "BEGIN { print $lowest + ($qknorm < $(echo "$others" | smallest)) }")
    highest=$(awk "BEGIN { print $highest + ($none > $(echo "$others" | largest)) }")
    sqrt_below_dk=$(awk "BEGIN { print $sqrt_below_dk + ($sqrt < $dk) }")
done
echo "sqrt below dk in $sqrt_below_dk of 5 seeds"
echo

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
claim "qknorm has the lowest sensitivity in every seed" "$lowest == 5"
claim "none has the highest in every seed" "$highest == 5"
claim "none: four rates at which at least 3 of 5 seeds are solved" "$(rates_with none 3) == 4"
claim "all 5 seeds are solved at fewer rates by none than by sqrt and by t5" \
    "$(rates_with none 5) < $(rates_with sqrt 5) && $(rates_with none 5) < $(rates_with t5 5)"
claim "qknorm: all 5 seeds are solved at every rate" \
    "$(for lr in $rates; do solved qknorm "$lr"; done | smallest) == 5"
finish
