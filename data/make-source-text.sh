#!/bin/sh
# SPDX-License-Identifier: MIT
# Gathers the project's own sources (C, shell, make, documents) into one text to train on:
#
#     data/make-source-text.sh build/source.txt && ./train --task text --data build/source.txt
#
# Each file is preceded by a line with its name; the order is that of the names, byte by byte, so the
# same sources give the same text on every machine. The text appears whole or not at all.
set -eu

if [ $# -ne 1 ] || [ -z "$1" ]; then
    echo "usage: $0 OUTPUT    writes the project's own sources there as one text" >&2
    exit 2
fi
case $1 in -*)
    echo "make-source-text.sh: unknown option $1 (give the path of the text to write)" >&2
    exit 2
    ;;
esac

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
output=$1
if [ -d "$output" ]; then
    echo "make-source-text.sh: $output is a directory (give the path of a file)" >&2
    exit 1
fi
mkdir -p -- "$(dirname -- "$output")"
temporary=$output.$$.tmp
trap 'rm -f -- "$temporary" "$temporary.list"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Folders by name, so that what was built, and runs, are never taken for sources.
(
    cd -- "$root"
    for place in src include tests docs data bench ablations scripts ./*.md Makefile train; do
        if [ -e "$place" ]; then printf '%s\n' "${place#./}"; fi
    done | while IFS= read -r place; do
        find "$place" -type f \( -name '*.c' -o -name '*.h' -o -name '*.sh' -o -name '*.md' \
            -o -name Makefile -o -name train \)
    done | LC_ALL=C sort
) > "$temporary.list"

while IFS= read -r file; do
    printf '==== %s ====\n' "$file"
    cat -- "$root/$file"
    echo
done < "$temporary.list" > "$temporary"

files=$(($(wc -l < "$temporary.list")))
bytes=$(($(wc -c < "$temporary")))
mv -f -- "$temporary" "$output"
echo "$output: $files files, $bytes bytes; next: ./train --task text --data $output" >&2
