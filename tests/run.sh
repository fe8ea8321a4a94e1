#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/run.sh DIRECTORY...: runs every test program there (two at a time), prints each one's name
# and Check's closing line, all that a failing one said, and closes with the sum in Check's own form.
# RDK_RUN_WITH: a command that runs the programs, as an emulator does.
# Fails where a test failed, a program crashed or ran no test, or where there is no program at all.
set -u

AT_ONCE=2
: "${OMP_WAIT_POLICY:=passive}" # two programs share the cores: no spinning
export OMP_WAIT_POLICY
LIMIT=900 # seconds that a program may take

limited() {
    if command -v timeout >/dev/null 2>&1; then timeout "$LIMIT" "$@"; else "$@"; fi
}

# one PROGRAM: runs it and prints the result in one piece; "checks failures errors" go to a file.
one() {
    name=${1#build/}
    output=$ROOTDK_TESTS/$(echo "$name" | tr / .)
    # shellcheck disable=SC2086 # words
    limited ${RDK_RUN_WITH-} "$1" >"$output" 2>&1
    status=$?
    line=$(grep -E '^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+$' "$output" | tail -n 1)
    numbers=$(echo "${line:-0%: Checks: 0, Failures: 0, Errors: 0}" | tr -cs '0-9' ' ')
    # shellcheck disable=SC2086 # four numbers, a word each
    set -- $numbers
    checks=$2 failures=$3 errors=$4
    silent=no # failed, and no check says so
    if [ "$((failures + errors))" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$checks" -eq 0 ]; }; then
        silent=yes checks=$((checks + 1)) errors=1
    fi
    echo "$checks $failures $errors" >"$output.sum"

    until mkdir "$ROOTDK_TESTS/printing" 2>/dev/null; do sleep 0.1; done
    if [ $((failures + errors)) -gt 0 ]; then
        echo "---- $name says:"
        cat "$output"
        [ $silent = no ] || echo "---- $name: exit status $status without a failed check: an error"
    fi
    printf '%-52s %s\n' "$name" "${line:-no closing line}"
    rmdir "$ROOTDK_TESTS/printing"
}

if [ "${1-}" = --one ]; then
    one "$2"
    exit 0
fi

cd "$(dirname "$0")/.." || exit 1
ROOTDK_TESTS=$(mktemp -d) || exit 1
export ROOTDK_TESTS
trap 'rm -rf "$ROOTDK_TESTS"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for program in $(for directory; do echo "$directory"/test_*; done); do
    # The program of a source that is gone may still lie there.
    if [ -x "$program" ] && [ -f "tests/${program#build/*/tests/}.c" ]; then echo "$program"; fi
done >"$ROOTDK_TESTS/programs"
if [ ! -s "$ROOTDK_TESTS/programs" ]; then
    echo "tests: no test program in $*: make test builds them" >&2
    exit 1
fi

xargs -n 1 -P "$AT_ONCE" tests/run.sh --one <"$ROOTDK_TESTS/programs"

# A program whose runner died has left no sum; it counts as an error.
lost=$(($(wc -l <"$ROOTDK_TESTS/programs") - $(cat "$ROOTDK_TESTS"/*.sum | wc -l)))
cat "$ROOTDK_TESTS"/*.sum | awk -v lost="$lost" '
    { checks += $1; failures += $2; errors += $3 }
    END {
        checks += lost; errors += lost
        percent = checks ? int(100 * (checks - failures - errors) / checks) : 0
        printf "%d%%: Checks: %d, Failures: %d, Errors: %d\n", percent, checks, failures, errors
        exit failures + errors > 0 || checks == 0
    }'
