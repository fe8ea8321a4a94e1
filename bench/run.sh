#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/run.sh [ROUNDS] [SIZE...]: whole steps beside the machine's peak and, where /usr/bin/python3
# or PYTHON has torch, beside PyTorch. Rounds go A B A B, so that both meet the same weather. Of
# milliseconds the best round counts, of ratios the middle one. Writes bench.csv (BENCH_OUT) and prints
# a table.
#
# PyTorch runs tuned, where malloc keeps its memory and its AVX-512 kernels are used if the processor
# has them; and plain, as it is installed.
set -eu
cd "$(dirname "$0")/.."
programs=build/release/bench
rounds=${1:-3}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- tiny small medium baby
out=${BENCH_OUT:-bench.csv}
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || python=
most=$(getconf _NPROCESSORS_ONLN)
[ "$most" -gt 1 ] && counts="1 $most" || counts=1

grep -qs avx512f /proc/cpuinfo && capability=avx512 || capability=default

tuned() {
    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE ATEN_CPU_CAPABILITY="$capability" \
        MALLOC_TRIM_THRESHOLD_=4000000000 MALLOC_MMAP_THRESHOLD_=4000000000 \
        MALLOC_TOP_PAD_=500000000 "$@"
}

steps_of() {
    case $1 in tiny) echo 100 ;; small) echo 40 ;; medium) echo 10 ;; *) echo 5 ;; esac
}

# one WHO COMMAND...: a line of CSV with who and the round in front
one() {
    who=$1
    shift
    line=$("$@") && echo "$who,$round,$line" >>"$out"
}

echo "who,round,size,threads,ms_median,ms_least,gflops,mib,first_step_s,loss" >"$out"
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    for threads in $counts; do
        for size; do
            steps=$(steps_of "$size")
            peak=$("$programs/peak" "$threads" | cut -d, -f2)
            echo "peak,$round,$size,$threads,,,$peak,,," >>"$out"
            one rootdk "$programs/step" "$size" "$threads" "$steps"
            [ -n "$python" ] || continue
            one torch-tuned tuned "$python" bench/torch_step.py "$size" "$threads" "$steps"
            one torch-plain "$python" bench/torch_step.py "$size" "$threads" "$steps"
        done
    done
done

awk -F, '
    NR == 1 { next }
    {
        key = $3 "," $4
        if (!(key in seen)) { seen[key] = 1; order[++n] = key }
        if ($1 == "peak") { if ($7 > peak[key]) peak[key] = $7; next }
        at = $1 "," key
        if (!(at in ms) || $5 < ms[at]) { ms[at] = $5; gflops[at] = $7; mib[at] = $8; first[at] = $9 }
        # pairs: of the same round
        if ($1 == "rootdk") own[$2 "," key] = $5
        else { n_ratios[at]++; ratio[at, n_ratios[at]] = $5 / own[$2 "," key] }
    }
    function middle(at,    i, j, t, n) {
        n = n_ratios[at]
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && ratio[at, j] < ratio[at, j - 1]; j--) {
                t = ratio[at, j]; ratio[at, j] = ratio[at, j - 1]; ratio[at, j - 1] = t
            }
        return n % 2 ? ratio[at, (n + 1) / 2] : (ratio[at, n / 2] + ratio[at, n / 2 + 1]) / 2
    }
    END {
        printf "%-7s %7s %9s %9s %7s %7s %9s %9s %9s %9s\n", "size", "threads", "ms", "GFLOP/s", "peak", \
            "share", "MiB", "first s", "x tuned", "x plain"
        for (i = 1; i <= n; i++) {
            key = order[i]; split(key, k, ","); at = "rootdk," key
            printf "%-7s %7d %9.4g %9.4g %7.4g %6.1f%% %9.4g %9.3f", k[1], k[2], ms[at], gflops[at], peak[key], \
                100 * gflops[at] / peak[key], mib[at], first[at]
            t = "torch-tuned," key; p = "torch-plain," key
            if (t in n_ratios) printf " %9.2f %9.2f", middle(t), middle(p)
            printf "\n"
        }
    }' "$out"
