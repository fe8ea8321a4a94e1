#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/profile.sh [SIZE...]: where the time of a run goes, by op of the tape: --profile of the
# program at the shapes of the sizes, with 1 thread. Writes profile.csv and prints its table.
set -eu
cd "$(dirname "$0")/.."
. bench/lib.sh
[ $# -gt 0 ] || set -- tiny small medium baby
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT

# The options that step.c has, so many steps, and nothing seen of them.
options_of() { # SIZE
    case $1 in # as in bench.h
    tiny) set -- 2 4 64 32 32 16 400 ;;
    small) set -- 4 4 128 64 12 65 150 ;;
    medium) set -- 4 4 256 128 16 65 40 ;;
    baby) set -- 6 6 384 256 8 65 15 ;;
    *) return 1 ;;
    esac
    echo "--task random --init gpt2 --bias --lr 1e-3 --clip 1 --threads 1 --layers $1 --heads $2" \
        "--d-model $3 --seq-len $4 --batch $5 --vocab $6 --steps $7" \
        "--log-every 0 --probe-every 0 --eval-every 0 --eval-size 1 --save-every 0"
}

echo "size,op,forward_ms,backward_ms,both_ms,share" >"$dir/profile.csv"
for size; do
    # shellcheck disable=SC2046 # a word each
    build/rootdk $(options_of "$size") --profile --out "$run/$size" 2>&1 >/dev/null |
        awk -v size="$size" '
            # an op may be of two words; the last five are its figures and "%"
            /ms a step/ { on = 1; next }
            on && $NF == "%" {
                op = $1
                for (i = 2; i <= NF - 5; i++) op = op " " $i
                print size "," op "," $(NF - 4) "," $(NF - 3) "," $(NF - 2) "," $(NF - 1) / 100
            }' >>"$dir/profile.csv"
done
table profile
