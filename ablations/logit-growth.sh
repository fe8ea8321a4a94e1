#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: do attention scores grow with the learning rate until training suffers, and does QK-norm
# stop it (Wortsman et al. 2023, Figs. 1 and 2: 10M parameters and more, 1e5 steps)? Two layers and a
# thousandth of that here, so the direction is asked for, not the size. Expected: without QK-norm the
# largest score grows with the rate, by orders of magnitude, and the loss suffers at rates that do no
# harm with it. With QK-norm q and k grow before the norm as well, which the scores do not see: these
# follow the gains, and the gains hardly grow.
#     ablations/logit-growth.sh [FILE]      default: the project's own sources
set -eu
cd "$(dirname "$0")/.."
. ablations/lib.sh
choose_text "$@"

train_grid "$(of_text logit-growth)" --task text --data "$text" --layers 2 --heads 2 --d-model 64 \
    --d-k 32 --positions rope --seq-len 64 --batch 8 --steps 600 --schedule cosine \
    --scale sqrt,qknorm --lr 3e-4,1e-3,3e-3,1e-2,3e-2,1e-1,3e-1 --seed 1..3 \
    --eval-every 0 --eval-size 256 --probe-every 50 --log-every 10
print_grid
report_grid rates=logit-growth
size_of() { # SCALE LR: of q times that of k, root mean squares before QK-norm, at the end
    for column in q_rms k_rms; do
        at_step 600 attention.csv $column "scale=$1" "lr=$2" | sed "s/^/$column /"
    done | awk '$1 == "q_rms" { q[++n] = $2; next } { s += q[++i] * $2 } END { print s / n }'
}
gains() { # LR: root mean square of those of q times that of those of k, at the end; 1 at the start
    for gain in q_gain k_gain; do
        tensor=$gain at_step 600 gradients.csv weight_norm scale=qknorm "lr=$1" | sed "s/^/$gain /"
    done | awk '$1 == "q_gain" { q[++n] = $2; next } { s += q[++i] * $2 / 32 } END { print s / n }'
}
printf '%-7s %7s %18s %10s %12s %8s\n' scale lr loss 'max score' '|q| |k| end' 'gains'
for scale in sqrt qknorm; do
    for lr in 0.0003 0.001 0.003 0.01 0.03 0.1 0.3; do
        printf '%-7s %7s %18s %10.4g %12.4g %8s\n' $scale $lr \
            "$(values final_loss scale=$scale lr=$lr | in_words)" \
            "$(values score_absmax_max scale=$scale lr=$lr | mean)" "$(size_of $scale $lr)" \
            "$(if [ $scale = qknorm ]; then printf %.3f "$(gains $lr)"; else echo -; fi)"
    done
done

largest_score() { # SCALE LR
    values score_absmax_max "scale=$1" "lr=$2" | mean
}
claim "sqrt: the largest score grows more than a hundredfold from the best rate to 0.1" \
    "$(largest_score sqrt 0.1) > 100 * $(largest_score sqrt 0.01)"
claim "qknorm: it stays below 200 at every rate" "$(values score_absmax_max scale=qknorm | largest) < 200"
claim "qknorm, lr 0.3: q and k grow more than a hundredfold before the norm, the gains less than fourfold" \
    "$(size_of qknorm 0.3) > 100 && $(gains 0.3) < 4"
near "the loss at the best rate is the same, within" "$(rated loss sqrt)" "$(rated loss qknorm)" 0.1
claim "sensitivity to the rate: qknorm below sqrt" "$(rated chance qknorm) < $(rated chance sqrt)"
claim "lr 0.3: sqrt is worse by more than 0.3" \
    "$(values final_loss scale=sqrt lr=0.3 | mean) > $(values final_loss scale=qknorm lr=0.3 | mean) + 0.3"
finish
