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
divided=$(values accuracy scale=sqrt | smallest)
print_solved_at "products over sqrt(d_k), solved at" scale=sqrt
products=$grid
write_backwards additive 64,256,1024 --attention additive
print_solved_at "additive, solved at"

loss_of_products() { # SCALE D_K: of the other grid
    (grid=$products && values final_loss "scale=$1" "d-k=$2")
}
for d_k in 64 256 1024; do
    for scale in none sqrt; do
        echo "d_k $d_k: the interval of the loss, additive beside $scale:" \
            "$(stands "$(values final_loss d-k=$d_k)" "$(loss_of_products $scale $d_k)")"
    done
done

for d_k in 64 256 1024; do
    claim "additive, d_k $d_k: solved in every seed" "$(values accuracy d-k=$d_k | smallest) >= 0.99"
    claim "additive, d_k $d_k: starts soft" "$(values entropy_norm_first d-k=$d_k | smallest) > 0.8"
done
claim "products over sqrt(d_k): solved at every d_k in every seed" "$divided >= 0.99"
claim "additive at d_k 1024 ends below undivided products, intervals apart" \
    "$(is_that below "$(values final_loss d-k=1024)" "$(loss_of_products none 1024)")"

join_grids beside-additive 'plateau/scale-none*' 'plateau/scale-sqrt*' 'additive/*'
report_grid loss=additive
finish
