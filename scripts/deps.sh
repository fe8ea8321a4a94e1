#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/deps.sh test: installs what the tests need (Check, and pkg-config to find it) with the
# system's package manager. Where they are there it does nothing and asks no network.
set -u

if [ $# -ne 1 ] || [ "$1" != test ]; then
    echo "usage: scripts/deps.sh test" >&2
    exit 2
fi

installed() {
    command -v pkg-config >/dev/null 2>&1 && pkg-config --exists check
}

# Runs a command as root.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        echo "deps: cannot install without root: run as root: $*" >&2
        exit 1
    fi
}

known_to_apt() {
    apt-cache show check pkg-config >/dev/null 2>&1
}

with_apt() {
    known_to_apt || as_root apt-get update || return 1
    # Lists that are old name files that are gone; then new lists help.
    set -- as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends check pkg-config
    "$@" || { as_root apt-get update && "$@"; }
}

if installed; then
    echo "deps: Check $(pkg-config --modversion check) is there"
    exit 0
fi

if command -v apt-get >/dev/null 2>&1; then
    with_apt
elif command -v dnf >/dev/null 2>&1; then
    as_root dnf install -y check-devel pkgconf-pkg-config
elif command -v pacman >/dev/null 2>&1; then
    as_root pacman -S --needed --noconfirm check pkgconf
elif command -v apk >/dev/null 2>&1; then
    as_root apk add check-dev pkgconf
elif command -v brew >/dev/null 2>&1; then
    brew install check pkgconf # refuses to run as root
else
    echo "deps: no apt-get, dnf, pacman, apk or brew here: install Check (libcheck.github.io) and pkg-config" >&2
    exit 1
fi

if ! installed; then
    echo "deps: cannot install Check and pkg-config; the messages above say why" >&2
    exit 1
fi
echo "deps: installed Check $(pkg-config --modversion check)"
