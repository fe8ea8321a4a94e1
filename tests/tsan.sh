#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/tsan.sh: the parallel code under the thread sanitizer.
#
# gcc's OpenMP runtime is unknown to the sanitizer, which then sees races where a barrier stands.
# clang's comes with Archer, a tool that tells it of the barriers; so this needs clang, its OpenMP
# and Archer (Debian: clang libomp-dev), and skips with one line where they are missing.
# First a racy and a clean program show that the sanitizer here can tell them apart.
set -u
cd "$(dirname "$0")/.." || exit 1

MAKE=${MAKE:-make -s}
CC=${TSAN_CC:-clang}
THREADS=3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

skip() {
    echo "tsan: skipped: $1 (Debian: sudo apt-get install clang libomp-dev)"
    exit 0
}

command -v "$CC" >/dev/null 2>&1 || skip "$CC is missing"
archer=$("$CC" -print-file-name=libarcher.so)
[ -f "$archer" ] || archer=$("$CC" -print-resource-dir)/../../libarcher.so
[ -f "$archer" ] || skip "$CC has no libarcher.so"
OMP_TOOL_LIBRARIES=$archer
TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1 exitcode=66 ${TSAN_OPTIONS-}"
OMP_NUM_THREADS=$THREADS
export OMP_TOOL_LIBRARIES TSAN_OPTIONS OMP_NUM_THREADS

# sample NAME INDEX: sums of 1000 cells in a parallel loop, where INDEX says which cell.
sample() {
    cat >"$work/$1.c" <<END
#include <stdio.h>
int main(void)
{
    static int cell[1000], sum;
    for (int round = 0; round < 50; round++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < 1000; i++) cell[$2] += i;
        for (int i = 0; i < 1000; i++) sum += cell[i];
    }
    return printf("%d\n", sum) < 0;
}
END
    "$CC" -O1 -g -fsanitize=thread -fopenmp -o "$work/$1" "$work/$1.c" 2>"$work/log" ||
        skip "$CC cannot build with -fsanitize=thread -fopenmp"
}
sample clean i
sample racy 'i % 7'
"$work/clean" >"$work/log" 2>&1 || skip "the sanitizer sees races in a program that has none"
"$work/racy" >"$work/log" 2>&1 && skip "the sanitizer misses a race that is there"

programs=$(for source in tests/unit/test_*kernel*.c tests/unit/test_base_text.c; do
    [ -f "$source" ] && echo "build/tsan/${source%.c}"
done)
# shellcheck disable=SC2086 # words
$MAKE MODE=tsan CC="$CC" program $programs || exit 1

for program in $programs; do
    echo "tsan: $program, $THREADS threads"
    "$program" || exit 1
done
for option in "scale sqrt" "scale qknorm" "precision bf16"; do
    echo "tsan: five training steps, --$option, $THREADS threads"
    # shellcheck disable=SC2086 # two words
    build/tsan/rootdk --$option --steps 5 --threads $THREADS --dropout 0.1 --accum 2 \
        --probe-every 2 --eval-every 2 --out "$work/$option" >"$work/log" 2>&1 || {
        cat "$work/log"
        exit 1
    }
done
echo "tsan: no race"
