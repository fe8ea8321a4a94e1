#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: where does saturation show in the gradients, and why does raw |dW_Q| say the opposite?
# One layer before its first update, on independent random tokens. Expected: raw |dW_Q| is largest
# where attention is most saturated, since the chain rule puts c in front of it; |dW_Q| / |dW_V| is
# the same at every d_k for sqrt, and for qknorm from 16 on; the median row of the gradient at the
# scores falls with d_k for none, and a few rows carry what is left.
#     ablations/gradient-anatomy.sh
set -eu
cd "$(dirname "$0")/.."
. ablations/lib.sh
. ablations/start.sh
report_grid start-gradients=gradient-anatomy

raw() { # SCALE D_K
    tensor=wq at_start gradients.csv grad_norm "scale=$1" "d-k=$2" | geometric_mean
}
ratio() { # SCALE D_K
    values query_value_ratio_first "scale=$1" "d-k=$2" | geometric_mean
}
rows() { # COLUMN SCALE D_K
    at_start attention.csv "$1" "scale=$2" "d-k=$3" | mean
}
printf '%-7s %5s %10s %16s %12s %12s\n' scale d_k '|dW_Q|' '|dW_Q|/|dW_V|' 'median row' 'top 5 %'
for scale in none sqrt dk qknorm; do
    for d_k in 4 16 64 256; do
        printf '%-7s %5s %10.4g %16s %12.3g %12.3f\n' "$scale" "$d_k" "$(raw $scale $d_k)" \
            "$(values query_value_ratio_first scale=$scale d-k=$d_k | in_words)" \
            "$(rows ds_median $scale $d_k)" "$(rows ds_top5_share $scale $d_k)"
    done
done

for d_k in 16 64 256; do
    claim "d_k $d_k: raw |dW_Q| is largest for none, smallest for dk" \
        "$(raw none $d_k) > $(raw sqrt $d_k) && $(raw sqrt $d_k) > $(raw dk $d_k)"
done
slope_of_ratio() { # SCALE [D_K...]
    scale=$1
    shift
    for d_k in "$@" 16 64 256; do echo "$d_k $(ratio "$scale" "$d_k")"; done | slope
}
near "|dW_Q| / |dW_V| is flat in d_k for sqrt, from 4 on: its slope" "$(slope_of_ratio sqrt 4)" 0 0.02
near "it is flat for qknorm from 16 on: its slope" "$(slope_of_ratio qknorm)" 0 0.02
claim "it is more than 1.2 times that at d_k 4 for qknorm" "$(ratio qknorm 4) > 1.2 * $(ratio qknorm 16)"
near "at d_k 256 qknorm is as sqrt: the quotient" \
    "$(awk "BEGIN { print $(ratio qknorm 256) / $(ratio sqrt 256) }")" 1 0.05
claim "it rises for none" "$(slope_of_ratio none 4) > 0.15"
near "it falls as 1 / sqrt(d_k) for dk: its slope" "$(slope_of_ratio dk 4)" -0.5 0.02
claim "the median row at d_k 256: none has less than a tenth of what sqrt has" \
    "$(rows ds_median none 256) < 0.1 * $(rows ds_median sqrt 256)"
claim "the top 5 % of rows at d_k 256: more than half of the square for none, less than 0.35 for sqrt" \
    "$(rows ds_top5_share none 256) > 0.5 && $(rows ds_top5_share sqrt 256) < 0.35"
finish
