#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: same model, same data, same start: what does the divisor of the attention scores change?
# The default run under each scaling; prints one table, and fails where the claim does not hold:
# `sqrt` and `qknorm` solve the task, `dk` is later than `sqrt`, `none` stays near chance.
#     ablations/four-scalings.sh [SEED ...]      default: seeds 1 2 3
set -eu
cd "$(dirname "$0")/.."
. ablations/lib.sh
[ $# -gt 0 ] || set -- 1 2 3
seeds=$#

train_grid four-scalings --scale none,sqrt,dk,qknorm --seed "$(echo "$@" | tr ' ' ,)"

# Which runs of a scaling are of this seed: of one seed all are, and the grid has no column of it.
of_seed() { # SCALE
    case $(head -n 1 "$grid/results.csv") in
    *,seed,*) echo "seed=$seed" ;;
    *) echo "scale=$1" ;;
    esac
}
# A figure of the run of this scaling and seed, or "-" where it has none.
of_run() { # COLUMN
    set -- "$(values "$1" "scale=$scale" "$(of_seed "$scale")")"
    echo "${1:--}"
}
never_as_number() { # STEP
    if [ "$1" = - ]; then echo 1e9; else echo "$1"; fi
}
printf '%-7s %5s %9s %9s %10s %12s %12s %9s\n' scale seed loss accuracy solved-at H/ln-n:start \
    predicted H/ln-n:end
for seed; do
    for scale in none sqrt dk qknorm; do
        accuracy=$(of_run accuracy)
        printf '%-7s %5s %9.4f %8.2f%% %10s %12.3f %12.3f %9.3f\n' "$scale" "$seed" \
            "$(of_run final_loss)" "$(awk "BEGIN { print 100 * $accuracy }")" \
            "$(of_run solved_at)" "$(of_run entropy_norm_first)" \
            "$(at_start attention.csv entropy_norm_theory scale=$scale "$(of_seed "$scale")" | mean)" \
            "$(of_run entropy_norm_last)"
        case $scale in
        none) claim "none stays near chance" "$accuracy < 0.3" >&2 ;;
        sqrt | qknorm) claim "$scale solves the task" "$accuracy >= 0.99" >&2 ;;
        dk)
            on_time=$(values solved_at scale=sqrt "$(of_seed sqrt)")
            claim "dk is later than sqrt" \
                "$(never_as_number "$(of_run solved_at)") > $(never_as_number "${on_time:--}")" >&2
            ;;
        esac
    done
done

# Of the start, as gradient-anatomy.sh has it on independent tokens.
query_gradient() { # SCALE: raw |dW_Q|, the mean over layers
    tensor=wq at_start gradients.csv grad_norm "scale=$1" "$(of_seed "$1")" | mean
}
ratio() { # SCALE
    values query_value_ratio_first "scale=$1" "$(of_seed "$1")"
}
for seed; do
    claim "seed $seed, at the start: |dW_Q| is largest for none, smallest for dk" \
        "$(query_gradient none) > $(query_gradient sqrt) && $(query_gradient sqrt) > $(query_gradient dk)" >&2
    claim "seed $seed: so is |dW_Q| / |dW_V|" \
        "$(ratio none) > $(ratio sqrt) && $(ratio sqrt) > $(ratio dk)" >&2
done
if [ "$seeds" -gt 1 ]; then
    for scale in none sqrt dk qknorm; do
        echo "$scale: |dW_Q| / |dW_V| at the start $(values query_value_ratio_first scale=$scale | in_words)" >&2
    done
fi
finish
