#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/neon.sh: library, program and kernel tests built for aarch64 and run by an emulator of it.
#
# In any case every 1009th float goes through exp, tanh, erf and GELU, `theory` checks itself, and runs
# of 20 steps are compared with those of the plainest table of this machine: vectors as wide, other
# roundings (aarch64 fuses multiply and add, baseline x86-64 cannot). Where Check is there for
# aarch64 too, the tests of the kernels run as well.
set -u
cd "$(dirname "$0")/.." || exit 1

MAKE=${MAKE:-make -s}
CC=${NEON_CC:-aarch64-linux-gnu-gcc}
EMULATOR=${NEON_RUN-qemu-aarch64}
STRIDE=1009
: "${OMP_NUM_THREADS:=2}" "${OMP_WAIT_POLICY:=passive}"
export OMP_NUM_THREADS OMP_WAIT_POLICY
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fail() {
    echo "neon: $1" >&2
    exit 1
}

# logged COMMAND...: silent unless it fails.
logged() {
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log"
        fail "$*"
    }
}

# build ARGUMENT...: silent, as the linker warns of dlopen in every program that has OpenMP within.
build() {
    # shellcheck disable=SC2086 # words
    logged $MAKE CC="$CC" "$@"
}

emulated() {
    # shellcheck disable=SC2086 # words
    $EMULATOR "$@"
}

for tool in "$CC" ${EMULATOR%% *}; do
    command -v "$tool" >/dev/null 2>&1 ||
        fail "$tool is missing (Debian: sudo apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)"
done

echo "neon: building with $CC"
build MODE=neon program library build/neon/tests/exhaustive/functions
RDK_ISA=neon emulated build/neon/rootdk --version | grep 'instruction set  neon' || fail "--version names no neon"
RDK_ISA=base emulated build/neon/rootdk --version >/dev/null 2>&1 && fail "RDK_ISA=base was accepted"

echo "neon: every ${STRIDE}th float"
logged emulated build/neon/tests/exhaustive/functions "$STRIDE"

# links_with LIBRARIES: is Check for aarch64 there, and does it need these?
links_with() {
    cat >"$work/check.c" <<END
#include <check.h>
int main(void)
{
    SRunner *runner = srunner_create(suite_create("none"));
    srunner_run_all(runner, CK_SILENT);
    return srunner_ntests_failed(runner);
}
END
    # shellcheck disable=SC2086 # words
    "$CC" ${CFLAGS-} -o "$work/check" "$work/check.c" ${LDFLAGS-} $1 2>"$work/log"
}

libraries=
for candidate in "-lcheck" "-lcheck -lsubunit -lm"; do
    links_with "$candidate" && libraries=$candidate && break
done
if [ -n "$libraries" ]; then
    unit=$(for source in tests/unit/test_kernels_*.c; do echo "build/neon/${source%.c}"; done)
    double=$(for source in tests/double/test_kernels_*.c; do echo "build/neon-double/${source%.c}"; done)
    # shellcheck disable=SC2086 # words
    build MODE=neon CHECK_LIBS="$libraries" $unit
    # shellcheck disable=SC2086 # words
    build MODE=neon-double CHECK_LIBS="$libraries" $double
    RDK_RUN_WITH=$EMULATOR tests/run.sh build/neon/tests/unit build/neon-double/tests/double || exit 1
else
    echo "neon: left out: the tests that need Check, which is not there for aarch64" \
        "(Debian: sudo dpkg --add-architecture arm64; sudo apt-get update; sudo apt-get install check:arm64)"
fi

echo "neon: theory checks itself"
logged emulated build/neon/rootdk theory --samples 20000

# near FILE FILE COLUMN...: these columns of two logs agree to a part in a thousand, in every row.
near() {
    paste -d, "$1" "$2" | awk -F, -v names="$3" '
        NR == 1 { for (i = 1; i <= NF; i++) if (i <= NF / 2 && index(names, " " $i " ")) column[i]; next }
        { for (i in column) {
              a = $i; b = $(i + NF / 2); difference = a > b ? a - b : b - a
              if (!(difference <= 1e-3 * (b < 0 ? -b : b) + 1e-6)) { print "row " NR ": " a " and " b; bad = 1 }
              compared++
          } }
        END { exit bad || !compared }'
}

plainest=
case $(uname -m) in x86_64 | amd64) plainest=base ;; esac
$MAKE program || exit 1
for options in "--scale sqrt --mlp gelu-exact" "--scale qknorm --norm rms" "--scale none --attention additive"; do
    echo "neon: 20 steps of $options beside this machine's"
    # shellcheck disable=SC2086 # words
    set -- $options --steps 20 --log-every 1 --probe-every 10 \
        --layers 2 --d-model 32 --heads 2 --seq-len 16 --batch 4 --eval-size 16
    rm -rf "$work/neon" "$work/here"
    logged emulated build/neon/rootdk "$@" --out "$work/neon"
    logged env RDK_ISA="$plainest" build/rootdk "$@" --out "$work/here"
    near "$work/neon/metrics.csv" "$work/here/metrics.csv" " step loss grad_norm " || fail "metrics differ"
    near "$work/neon/attention.csv" "$work/here/attention.csv" " step score_std entropy p_max " ||
        fail "attention differs"
done
echo "neon: all agrees"
