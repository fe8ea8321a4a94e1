#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/recipes.sh: are the recipes true to the letter? Applies every example of docs/recipes.md, as it
# stands there, to a copy of the tree, and runs the tests of the copy.
#
# A block of C behind a line "New file `PATH`:" is that file; a block of diff is a patch.
set -eu
cd "$(dirname "$0")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
tar cf - --exclude ./build --exclude ./runs --exclude ./.git . | (cd "$copy" && tar xf -)
cd "$copy"

awk '
    /^New file `.*`:$/ { split($0, part, "`"); path = part[2] }
    /^```c$/ && path != "" { to = path; next }
    /^```diff$/ { to = "recipes.patch"; next }
    /^```/ { if (to == path) path = ""; to = ""; next }
    to != "" { print > to }' docs/recipes.md
patch -s -F0 -p1 <recipes.patch # no fuzz: a line that is elsewhere now is no context
echo "applied to a copy: $(grep -c '^+++ ' recipes.patch) files changed, and $(grep -c '^New file ' docs/recipes.md) new"
"${MAKE:-make}" -s test
