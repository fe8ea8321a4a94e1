#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/probing.sh [TURNS] [SIZE...]: what looking at attention costs: ten steps of which none, one, and
# all are probed, in turns. Writes probing.csv and prints its table.
set -eu
cd "$(dirname "$0")/.."
. bench/lib.sh
turns=${1:-40}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- tiny small medium baby

# Longer steps need fewer turns.
turns_of() {
    case $1 in medium) echo $((turns / 4 + 1)) ;; baby) echo $((turns / 8 + 1)) ;; *) echo "$turns" ;; esac
}

rows=$(mktemp -d)
trap 'rm -rf "$rows"' EXIT
echo "size,threads,every,ms,median,low,high" >"$dir/probing.csv"
for size; do
    for threads in $counts; do
        own probing "$size" "$threads" "$(turns_of "$size")" "$rows" >>"$dir/probing.csv"
    done
done
table probing
