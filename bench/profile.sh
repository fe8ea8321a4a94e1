#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/profile.sh [SIZE...]: where the time of a run goes, by op of the tape: --profile of the
# program, with the options of the step that the other parts time and with 1 thread. Writes
# profile.csv and prints its table.
set -eu
cd "$(dirname "$0")/.."
. bench/lib.sh
[ $# -gt 0 ] || set -- tiny small medium baby
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT

steps_of() {
    case $1 in tiny) echo 400 ;; small) echo 150 ;; medium) echo 40 ;; *) echo 15 ;; esac
}

echo "size,op,forward_ms,backward_ms,both_ms,share" >"$dir/profile.csv"
for size; do
    # each on a line of its own, where a failure ends this script
    options=$(own step --options "$size")
    steps=$(steps_of "$size")
    # shellcheck disable=SC2086 # a word each
    build/rootdk $options --threads 1 --steps "$steps" --log-every 0 --probe-every 0 --eval-every 0 \
        --eval-size 1 --save-every 0 --profile --out "$run/$size" >"$run/out" 2>"$run/profile" || {
        cat "$run/profile" >&2
        exit 1
    }
    awk -v size="$size" '
        # an op may be of two words; the last five are its figures and "%"
        /ms a step/ { on = 1; next }
        on && $NF == "%" {
            op = $1
            for (i = 2; i <= NF - 5; i++) op = op " " $i
            print size "," op "," $(NF - 4) "," $(NF - 3) "," $(NF - 2) "," $(NF - 1) / 100
            rows++
        }
        END { exit !rows }' "$run/profile" >>"$dir/profile.csv" || {
        echo "profile: no table of ops in what --profile printed" >&2
        exit 1
    }
done
table profile
