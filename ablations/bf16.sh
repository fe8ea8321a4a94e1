#!/bin/sh
# SPDX-License-Identifier: MIT
# Question: what do products of bfloat16 (--precision bf16) do to attention, and does the divisor of
# the scores matter for it? Rounding moves a number by 0.00166 of its size, root mean square. A score
# of independent queries and keys meets it six times (the inputs and weights of both projections, q and
# k), so it is off by sqrt(6) of that, 0.41 % of the deviation c sqrt(d_k) of the scores: with sqrt by
# 0.0041 at any width, undivided by that times sqrt(d_k), with dk over it (docs/precision.md). Expected
# of training: where the error is that small, no difference beyond that between seeds.
# First the start: one layer of 8 heads on independent random tokens. The attention of the example in
# maps.csv tells how far the scores of a row moved: ln p is the score less a constant of the row. Then
# the default run under each scaling, and the widest heads, where undivided scores are off by most.
#     ablations/bf16.sh
set -eu
cd "$(dirname "$0")/.."
. ablations/lib.sh
seeds="1 2 3 4 5"
of_a_score=0.00407 # sqrt(6) 0.00166

# ---- the start -----------------------------------------------------------------------------------

train_grid bf16-start --precision float,bf16 --task random --seq-len 64 --layers 1 --heads 8 \
    --d-model 256 --mlp none --scale none,sqrt,dk --d-k 16,64,256 --seed 1..5 \
    --batch 16 --eval-size 16 --steps 1 --warmup 0

run_of() { # PRECISION SCALE D_K SEED
    echo "$grid/$(values point "precision=$1" "scale=$2" "d-k=$3" "seed=$4")"
}
# By seed: how far bfloat16 moves a score from where float has it, root mean square.
errors() { # SCALE D_K
    for seed in $seeds; do
        paste -d, "$(run_of float "$1" "$2" "$seed")/maps.csv" "$(run_of bf16 "$1" "$2" "$seed")/maps.csv" |
            awk -F, '
                NR == 1 || $1 > 0 || $6 == 0 || $12 == 0 { next }
                { row = $2 "," $3 "," $4; x = log($12) - log($6); n[row]++; s[row] += x; q[row] += x * x }
                END {
                    for (row in n) { all += q[row] - s[row] ^ 2 / n[row]; free += n[row] - 1 }
                    print sqrt(all / free) }'
    done
}
# c sqrt(d_k)
deviation() { # SCALE D_K
    awk -v scale="$1" -v d_k="$2" 'BEGIN { print scale == "none" ? sqrt(d_k) : scale == "sqrt" ? 1 : 1 / sqrt(d_k) }'
}
# As values; sat99_first, which results.csv has not, is of step 0 and the mean over heads.
figures() { # COLUMN [OPTION=VALUE]...: with sat99_first of one run
    case $1 in
        sat99_first) shift && at_start attention.csv sat99 "$@" | mean ;;
        *) values "$@" ;;
    esac
}
difference() { # COLUMN [OPTION=VALUE]...: bf16 less float, by seed
    for seed in $seeds; do
        { figures "$@" precision=bf16 "seed=$seed" && figures "$@" precision=float "seed=$seed"; } |
            awk 'NR == 1 { x = $1 } NR == 2 { printf "%.6g\n", x - $1 }'
    done
}

printf '%-5s %5s %20s %12s %26s %26s\n' scale d_k 'error of a score' expected \
    'H/ln n, bf16 less float' 'saturated, the same'
for scale in none sqrt dk; do
    for d_k in 16 64 256; do
        printf '%-5s %5s %20s %12.4g %26s %26s\n' $scale $d_k "$(errors $scale $d_k | in_words)" \
            "$(deviation $scale $d_k | awk "{ print $of_a_score * \$1 }")" \
            "$(difference entropy_norm_first scale=$scale d-k=$d_k | in_words)" \
            "$(difference sat99_first scale=$scale d-k=$d_k | in_words)"
    done
done
for scale in none sqrt dk; do
    for d_k in 16 64 256; do
        near "$scale, d_k $d_k: the error of a score per deviation of the scores, over 0.00407" \
            "$(errors $scale $d_k | mean | awk "{ print \$1 / $(deviation $scale $d_k) / $of_a_score }")" 1 0.15
        near "$scale, d_k $d_k: entropy / ln n, bf16 less float" \
            "$(difference entropy_norm_first scale=$scale d-k=$d_k | mean)" 0 0.0001
        near "$scale, d_k $d_k: saturated rows, bf16 less float" \
            "$(difference sat99_first scale=$scale d-k=$d_k | mean)" 0 0.001
    done
done

# ---- training ------------------------------------------------------------------------------------

# A figure of runs of float and of bf16, and the difference seed by seed.
line() { # NAME COLUMN [OPTION=VALUE]...
    name=$1
    shift
    printf '%-8s %-22s %20s %20s %22s\n' "$name" "$1" "$(values "$@" precision=float | in_words)" \
        "$(values "$@" precision=bf16 | in_words)" "$(difference "$@" | in_words)"
}
lines() { # NAME [OPTION=VALUE]...
    of=$1
    shift
    for column in final_loss accuracy entropy_norm_last sat99_last; do
        line "$of" $column "$@"
    done
}
heading() {
    printf '\n%-8s %-22s %20s %20s %22s\n' "$1" figure float bf16 'bf16 less float'
}

train_grid bf16 --precision float,bf16 --scale none,sqrt,dk,qknorm --seed 1..5
print_grid
heading scale
for scale in none sqrt dk qknorm; do lines $scale scale=$scale; done
for scale in sqrt dk qknorm; do line $scale solved_at scale=$scale; done
for precision in float bf16; do
    for scale in sqrt dk qknorm; do
        claim "$scale, $precision: solved in every seed" \
            "$(values accuracy scale=$scale precision=$precision | smallest) >= 0.99"
    done
    claim "none, $precision: near chance in every seed" \
        "$(values accuracy scale=none precision=$precision | largest) < 0.3"
done
# How far from 0 the interval of such numbers reaches.
reach() {
    interval | awk '$1 == "none" { print; exit } { printf "%.3g\n", ($1 < 0 ? -$1 : $1) + $2 }'
}
alike() { # BOUND WORDS COLUMN [OPTION=VALUE]...
    bound=$1 words=$2
    shift 2
    claim "$words, bf16 less float seed by seed: the interval is within +-$bound" \
        "$(difference "$@" | reach) <= $bound"
}
alike 0.1 "none: the loss" final_loss scale=none
for scale in sqrt dk qknorm; do
    alike 0.01 "$scale: the loss" final_loss scale=$scale
    claim "$scale: solved at the same evaluation in every seed" \
        "$(difference solved_at scale=$scale | awk '$1 == 0 { n++ } END { print n + 0 }') == 5"
done
for scale in none sqrt dk qknorm; do
    alike 0.02 "$scale: entropy / ln n at the end" entropy_norm_last scale=$scale
    alike 0.05 "$scale: saturated rows at the end" sat99_last scale=$scale
done

# One layer of one head writes sixteen symbols backwards, as in plateau-at-1024.sh.
train_grid bf16-wide --precision float,bf16 --task reverse --seq-len 16 --layers 1 --heads 1 \
    --mlp none --d-k 1024 --scale none,sqrt --seed 1..5 --batch 16 --steps 300 \
    --probe-every 50 --eval-every 20 --eval-size 128
print_grid
heading 'd_k 1024'
for scale in none sqrt; do lines $scale scale=$scale; done
distances() { # SCALE: of the two losses, by seed
    difference final_loss "scale=$1" | sed 's|^-||'
}
for scale in none sqrt; do
    echo "$scale: the two losses of a seed are $(distances $scale | smallest) to $(distances $scale | largest) apart"
done
claim "sqrt, d_k 1024: rounding moves the loss of no seed by more than 1 % of the mean" \
    "$(distances sqrt | largest) <= 0.01 * $(values final_loss scale=sqrt | mean)"
claim "d_k 1024: rounding moves the loss of every seed of none a thousand times as far as sqrt's" \
    "$(distances none | smallest) > 1000 * $(distances sqrt | largest)"
finish
