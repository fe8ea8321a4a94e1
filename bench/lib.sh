# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Shared by the scripts of bench/: sourced with the project's root as the working directory.
#     BENCH_DIR=DIR   where the CSVs go (build/bench)
#     BENCH_THREADS=N what "all threads" means (the processors online)
# shellcheck disable=SC2034 # what is set here is used there
programs=build/release/bench
dir=${BENCH_DIR:-build/bench}
most=${BENCH_THREADS:-$(getconf _NPROCESSORS_ONLN)}
if [ "$most" -gt 1 ]; then counts="1 $most"; else counts=1; fi
mkdir -p "$dir"
make -s MODE=release program bench-programs >&2

# own PROGRAM...: of this folder, its threads waiting as those of ./train do (src/cli/threads.c)
own() {
    program=$programs/$1
    shift
    env OMP_WAIT_POLICY="${OMP_WAIT_POLICY-passive}" GOMP_SPINCOUNT="${GOMP_SPINCOUNT-1000}" "$program" "$@"
}

# The table of one part, by page.sh.
table() {
    echo
    bench/page.sh "$1"
}
