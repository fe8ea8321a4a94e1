#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/all.sh [PART...]: all parts, or these, in the order given: the machine's limits, whole steps,
# and what explains them.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- peaks steps precision profile kernels probing scaling
for part; do
    echo
    echo "== $part"
    "bench/$part.sh"
done
