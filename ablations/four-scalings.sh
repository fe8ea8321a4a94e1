#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: same model, same data, same start: what does the divisor of the attention scores change?
# The default run under each scaling; prints one table, and fails where the claim does not hold:
# `sqrt` and `qknorm` solve the task, `dk` is later than `sqrt`, `none` stays near chance.
#     ablations/four-scalings.sh [SEED ...]      default: seed 1
set -eu
cd "$(dirname "$0")/.."
. tests/reference/lib.sh
[ $# -gt 0 ] || set -- 1

# The first evaluated step with accuracy of at least 99 %, or "-".
solved_at() { awk -F, '$2 == "eval" && $4 >= 0.99 && !at { at = $1 } END { print at ? at : "-" }' "$1"; }
# Of attention.csv, column $2, mean over layers and heads at the first ($3 = first) or last step.
mean_of() {
    awk -F, -v name="$2" -v which="$3" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next }
        { n[$1]++; s[$1] += $c; if (NR == 2) first = $1; last = $1 }
        END { k = which == "first" ? first : last; printf "%.3f", s[k] / n[k] }' "$1"
}

status=0
printf '%-7s %5s %9s %9s %10s %12s %12s %9s\n' scale seed loss accuracy solved-at H/ln-n:start \
    predicted H/ln-n:end
for seed; do
    for scale in none sqrt dk qknorm; do
        out=runs/four-$scale-seed$seed
        ./train --scale "$scale" --seed "$seed" --out "$out" --force --quiet >/dev/null
        accuracy=$(figure "$out" held_out_accuracy)
        printf '%-7s %5s %9.4f %8.2f%% %10s %12s %12.3f %9s\n' "$scale" "$seed" \
            "$(figure "$out" held_out_loss)" "$(awk "BEGIN { print 100 * $accuracy }")" \
            "$(solved_at "$out/metrics.csv")" "$(mean_of "$out/attention.csv" entropy_norm first)" \
            "$(figure "$out" entropy_norm_theory)" "$(mean_of "$out/attention.csv" entropy_norm last)"
        case $scale in
        none) expect "none stays near chance" "$accuracy < 0.3" >&2 || status=1 ;;
        sqrt | qknorm) expect "$scale solves the task" "$accuracy >= 0.99" >&2 || status=1 ;;
        dk)
            late=$(solved_at "$out/metrics.csv")
            on_time=$(solved_at "runs/four-sqrt-seed$seed/metrics.csv")
            [ "$late" = - ] && late=1e9
            expect "dk is later than sqrt" "$late > $on_time" >&2 || status=1
            ;;
        esac
    done
done
exit $status
