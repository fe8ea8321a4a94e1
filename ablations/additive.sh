#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: is additive attention really the better one at large d_k, as Vaswani et al. 2017, 3.2.1,
# report, and does the divisor take its advantage away? Expected: undivided products suffer as d_k
# grows, w.tanh(q + k) does not, since its scores are bounded by w; divided by sqrt(d_k), products do
# not either.
#     ablations/additive.sh
set -eu
cd "$(dirname "$0")/.."
. ablations/lib.sh
. ablations/widths.sh
undivided=$(values final_loss scale=none d-k=1024 | smallest)
divided=$(values accuracy scale=sqrt | smallest)
write_backwards additive --attention additive

for d_k in 64 256 1024; do
    claim "additive, d_k $d_k: solved in every seed" "$(values accuracy d-k=$d_k | smallest) >= 0.99"
    claim "additive, d_k $d_k: starts soft" "$(values entropy_norm_first d-k=$d_k | smallest) > 0.8"
done
claim "products over sqrt(d_k): solved at every d_k in every seed" "$divided >= 0.99"
claim "additive at d_k 1024 ends far below undivided products" \
    "$(values final_loss d-k=1024 | largest) < 0.1 * $undivided"

join_grids beside-additive 'plateau/scale-none*' 'plateau/scale-sqrt*' 'additive/*'
report_grid loss=additive
finish
