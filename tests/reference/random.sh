#!/bin/sh
# SPDX-License-Identifier: MIT
# The leak detector: on independent tokens no model can get below ln V. Unscaled attention at a high
# learning rate has the largest scores, where a mask by a finite constant would leak.
set -eu
cd "$(dirname "$0")/../.."
. tests/reference/lib.sh
out=${1:-runs/reference-random}

./train --task random --steps 500 --scale none --lr 1e-2 --eval-every 50 --out "$out" --force
# V is the number of symbols, as config.ini has it
vocab=$(sed -n 's/^vocab = //p' "$out/config.ini")
lowest=$(awk -F, '$2 == "eval" && (least == "" || $3 < least) { least = $3 } END { print least }' \
    "$out/metrics.csv")
expect "no held-out loss below ln $vocab" "$lowest >= log($vocab) - 0.01"
