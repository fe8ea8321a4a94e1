#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/lint.sh: everything about the sources that a machine can check. Each check prints what it
# found; the exit status is 1 where one did, or where a tool is missing (LINT_OPTIONAL=1 lets a
# missing tool pass).
set -u
cd "$(dirname "$0")/.." || exit 1

ROOMS="base kernels autograd ops nn optim tasks probe run report ablate cli"
LONGEST_FUNCTION=60
LONGEST_FILE=400
JOBS=${JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=

# check NAME COMMAND...: the command prints its findings and fails where there are any.
check() {
    name=$1
    shift
    if "$@" >"$work/findings" 2>&1; then
        echo "ok    $name"
    else
        echo "FAIL  $name"
        sed 's/^/      /' "$work/findings"
        failed="$failed $name,"
    fi
}

# have TOOL PACKAGE
have() {
    if command -v "$1" >/dev/null 2>&1; then return 0; fi
    echo "MISS  $1 (Debian: sudo apt-get install $2)"
    [ "${LINT_OPTIONAL-}" = 1 ] || failed="$failed $1 is missing,"
    return 1
}

# Fails where the command printed anything, a complaint of a tool included.
prints_nothing() {
    "$@" >"$work/printed" 2>&1
    cat "$work/printed"
    [ ! -s "$work/printed" ]
}

c_files() {
    find include src examples tests bench -name '*.[ch]' 2>/dev/null | sort
}

shell_files() {
    echo train .ci/run
    find scripts tests bench ablations -name '*.sh' 2>/dev/null | sort
}

# ---- what awk can see ---------------------------------------------------------------------------

# A file of src/ROOM or include/rootdk/ROOM.h includes nothing of a room above its own.
# "x.h" without a directory is of the same room; rootdk/rootdk.h stands above all.
floors() {
    # shellcheck disable=SC2016 # an awk program
    find src include -name '*.[ch]' | sort | xargs awk -v rooms="$ROOMS" '
        BEGIN {
            n = split(rooms, name, " ")
            for (i = 1; i <= n; i++) floor[name[i]] = i
            floor["rootdk"] = n + 1
        }
        function room_of(path, part) {
            if (path ~ /^include\//) sub(/^include\//, "", path)
            else sub(/^src\//, "", path)
            split(path, part, "/")
            if (part[1] == "rootdk") { sub(/\.h$/, "", part[2]); return part[2] }
            return part[1]
        }
        FNR == 1 {
            own = room_of(FILENAME)
            if (!(own in floor)) print FILENAME ": no such room: " own
        }
        /^[ \t]*#[ \t]*include/ {
            file = $0
            sub(/^[^<"]*[<"]/, "", file); sub(/[>"].*$/, "", file)
            if (file ~ /\.\./) print FILENAME ":" FNR ": includes by ..: " file
            if (file !~ /\//) next
            other = room_of(file)
            if ((other in floor) && floor[other] > floor[own])
                print FILENAME ":" FNR ": " own " includes " file " of a room above it"
        }'
}

pragmas() {
    c_files | grep -v '^src/base/parallel.h$' | xargs grep -nE '^[[:space:]]*#[[:space:]]*pragma|_Pragma'
}

# The flags that drop infinities and nan; here and in base.h they are named to be refused.
fast_math() {
    shell_files | grep -v '^scripts/lint.sh$' | xargs grep -nE -e '-ffast-math|-Ofast' Makefile
}

first_lines() {
    for f in $(c_files); do
        [ "$(head -n 1 "$f")" = "/* SPDX-License-Identifier: MIT" ] || echo "$f:1: no SPDX line"
    done
}

lengths() {
    find src include -name '*.[ch]' | sort | xargs awk -v most="$LONGEST_FUNCTION" -v file="$LONGEST_FILE" '
        FNR == 1 { start = 0 }
        FNR == file + 1 { print FILENAME ": more than " file " lines" }
        /^{/ { start = FNR }
        /^}/ && start {
            if (FNR - start - 1 > most)
                print FILENAME ":" start ": a function of " FNR - start - 1 " lines, at most " most
            start = 0
        }'
}

# A banner is one line of 100 columns, with an empty line above it.
banners() {
    # shellcheck disable=SC2016 # an awk program
    c_files | xargs awk '
        FNR == 1 { above = "" }
        /^\/\* ---- / {
            if ($0 !~ /\*\/$/) print FILENAME ":" FNR ": a banner that ends on another line: dashes too many"
            if (above != "") print FILENAME ":" FNR ": no empty line above the banner"
        }
        { above = $0 }'
}

layout() {
    for f in $(c_files); do
        clang-format "$f" | cmp -s - "$f" || echo "$f is not laid out as .clang-format says"
    done
}

ops_are_listed() {
    sed -n 's/^const rdk_op \(rdk_op_[a-z0-9_]*\) *=.*/\1/p' src/ops/*.c | while read -r op; do
        grep -q "&${op}[, ]" src/ops/table.c || echo "src/ops/table.c does not list $op"
    done
}

# What threads share by begin and end is compiled once (RDK_SHARED in src/base/parallel.h says why).
compiled_once() {
    grep -nE '^static .*\(size_t begin, size_t end,' src/kernels/*.[ch] | sed 's/$/: no RDK_SHARED/'
}

# awk reads all that bench/page.sh is made of: from CSVs that hold nothing but their names. (What one
# awk takes another may refuse: mawk knows no function of an array's name.)
tables() {
    for part in machine peaks steps precision profile kernels gemm probing scaling; do
        echo names >"$work/$part.csv"
    done
    { BENCH_DIR=$work bench/page.sh >/dev/null; } 2>&1
}

# ---- what the compilers and the linker see ------------------------------------------------------

# build NAME FLAGS VARIABLES...: all of it without a warning, in a folder of its own. Some warnings of
# gcc need its optimiser; where another build has had those, -O0 says the rest in half the time.
build() {
    folder=build/lint-$1 flags=$2
    shift 2
    make -s -j"$JOBS" B="$folder" PROGRAM="$folder/rootdk" CFLAGS="-Werror $flags" "$@" \
        test-programs bench-programs
}

# Undefined symbols of the objects of rooms, one a line: "object symbol".
calls_of() {
    for room; do
        for object in build/lint-gcc/"$room"/*.o; do
            if [ -f "$object" ]; then nm -u "$object" | awk -v o="$object" '{ print o, $NF }'; fi
        done
    done
}

rooms_up_to() {
    for room in $ROOMS; do
        [ "$room" = "$1" ] && return
        echo "$room"
    done
}

# refuse "ROOMS" WHY SYMBOLS...
refuse() {
    rooms=$1 why=$2
    shift 2
    # shellcheck disable=SC2086 # a word each
    calls_of $rooms | awk -v list="$*" -v why="$why" '
        BEGIN { n = split(list, name, " "); for (i = 1; i <= n; i++) bad[name[i]] = 1 }
        $2 in bad { print $1 " uses " $2 ": " why }'
}

forbidden_calls() {
    refuse "$(echo "$ROOMS" | sed 's/^base //')" "memory comes from src/base (rdk_alloc)" \
        malloc calloc realloc free aligned_alloc posix_memalign strdup strndup asprintf getline
    refuse "$(rooms_up_to run)" "only src/run and the rooms above it print" \
        stdout stderr printf puts putchar putc fputs vprintf perror
    # a child of src/ablate that could not become the program ends by _exit
    refuse "$(rooms_up_to ablate)" "only src/cli ends the process" _exit
    refuse "$(rooms_up_to cli)" "only src/cli ends the process" \
        exit _Exit abort quick_exit __assert_fail
    refuse "$ROOMS" "the host program's locale and random numbers are its own" \
        setlocale rand srand random srandom drand48
}

external_names() {
    nm -g --defined-only build/lint-gcc/librootdk.a | awk 'NF == 3 && $3 !~ /^rdk_/ { print $3 " has no prefix rdk_" }'
}

# Writable data below src/cli. Tables of pointers, which the loader fills in, are not: .data.rel.ro.
# The one exception is select.c, which remembers what the processor has.
mutable_state() {
    for room in $(rooms_up_to cli); do
        for object in build/lint-gcc/"$room"/*.o; do
            case $object in */kernels/select.o) continue ;; esac
            [ -f "$object" ] && nm -f sysv "$object" | awk -F '|' -v o="$object" '
                { gsub(/ /, "", $1); gsub(/ /, "", $7) }
                $7 ~ /^(\.data|\.bss|\*COM\*)/ && $7 !~ /^\.data\.rel\.ro/ { print o ": " $1 " is global state" }'
        done
    done
}

# One file a call: with several, clang-tidy 14 takes a va_list of the second for one of the first.
# isa.c includes the kernels' sources, as it should; and in them x == x asks for NaN.
tidy() {
    flags="-std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc -Ibuild/lint-gcc"
    found=0
    # shellcheck disable=SC2086 # a word each
    {
        find src -name '*.c' | grep -v '^src/kernels/' | sort |
            xargs -n 1 -P "$JOBS" sh -c 'clang-tidy --quiet "$@" -- '"$flags" tidy || found=1
        clang-tidy --quiet src/kernels/select.c -- $flags || found=1
        clang-tidy --quiet --checks=-bugprone-suspicious-include,-misc-redundant-expression \
            src/kernels/isa.c -- $flags -DRDK_VECTOR_BYTES=16 -DRDK_ISA_NAME=base \
            -DRDK_ISA_TABLE=rdk_kernels_base || found=1
    } 2>/dev/null
    return $found
}

# cppcheck knows no vector types, whose lanes are written one by one; gcc watches over those.
check_c() {
    cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
        --suppress=duplicateAssignExpression --suppress=missingIncludeSystem \
        --suppress='uninitvar:src/kernels/*' --error-exitcode=1 -j "$JOBS" -Iinclude -Isrc \
        -DRDK_VECTOR_BYTES=16 -DRDK_ISA_NAME=base -DRDK_ISA_TABLE=rdk_kernels_base src
}

# ---- all of it ----------------------------------------------------------------------------------

check "floors: no include of a room above" prints_nothing floors
check "no pragma outside src/base/parallel.h" prints_nothing pragmas
check "no fast-math flags" prints_nothing fast_math
check "every file begins with its licence" prints_nothing first_lines
check "functions and files are short" prints_nothing lengths
check "banners are one line" prints_nothing banners
check "awk reads the tables of bench/page.sh" prints_nothing tables
check "what threads share is compiled once" prints_nothing compiled_once
check "every op is in src/ops/table.c" prints_nothing ops_are_listed
# shellcheck disable=SC2046 # a word each
if have shellcheck shellcheck; then check "shellcheck" shellcheck $(shell_files); fi
if have clang-format clang-format; then check "clang-format (make format mends it)" prints_nothing layout; fi
if have gcc gcc; then
    check "gcc builds all without a warning" build gcc "" CC=gcc
    check "gcc, double precision" build gcc-double "" CC=gcc MODE=double
    check "gcc, without OpenMP" build gcc-portable -O0 CC=gcc MODE=portable
    check "gcc, for this processor's instructions throughout" \
        make -s -j"$JOBS" B=build/lint-native CFLAGS="-Werror -O0 -march=native" CC=gcc \
        build/lint-native/librootdk.a
    check "external symbols begin with rdk_" prints_nothing external_names
    check "no allocation, printing or exit where it must not be" prints_nothing forbidden_calls
    check "no global state" prints_nothing mutable_state
fi
if have clang clang; then
    check "clang builds all without a warning" build clang -O0 CC=clang
    check "clang, double precision" build clang-double -O0 CC=clang MODE=double
fi
if have clang-tidy clang-tidy; then check "clang-tidy" tidy; fi
if have cppcheck cppcheck; then check "cppcheck" check_c; fi

if [ -n "$failed" ]; then
    echo "lint: failed:${failed%,}"
    exit 1
fi
echo "lint: all is well"
