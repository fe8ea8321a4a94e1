#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/probing.sh [ROUNDS] [SIZE...]: what looking at attention costs: steps without, with a probed
# step in ten, and with every step probed, A B A B. Ten steps are timed as one. Writes probing.csv and
# prints its table.
set -eu
cd "$(dirname "$0")/.."
. bench/lib.sh
rounds=${1:-5}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- tiny small medium

steps_of() {
    case $1 in tiny) echo 200 ;; small) echo 60 ;; *) echo 20 ;; esac
}

echo "size,threads,round,probe_every,ms" >"$dir/probing.csv"
for size; do
    round=0
    while [ "$round" -lt "$rounds" ]; do
        round=$((round + 1))
        for every in 0 10 1; do
            line=$(own step "$size" "$most" "$(steps_of "$size")" "$every" 10)
            echo "$size,$most,$round,$every,$(echo "$line" | cut -d, -f3)" >>"$dir/probing.csv"
        done
    done
done
table probing
