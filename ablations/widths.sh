# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The grid that plateau-at-1024.sh and additive.sh both look at: one layer of one head, narrow to
# wide, writes sixteen symbols backwards. Sourced; prints its tables.
write_backwards() { # NAME D_KS OPTION...
    name=$1 d_ks=$2
    shift 2
    train_grid "$name" "$@" --task reverse --seq-len 16 --layers 1 --heads 1 --mlp none \
        --d-k "$d_ks" --seed 1..5 --batch 16 --steps 300 \
        --probe-every 50 --eval-every 20 --eval-size 128
    print_grid
}
print_solved_at() { # WORDS [OPTION=VALUE]: at each d_k, where all seeds solve it
    words=$1
    shift
    for d_k in 64 256 1024; do
        echo "$words, d_k $d_k: $(values solved_at "d-k=$d_k" "$@" | in_words) (evaluated every 20 steps)"
    done
}
write_backwards plateau 64,256,1024 --scale none,sqrt,t5
