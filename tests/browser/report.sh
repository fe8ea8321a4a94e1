#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a small ablation and reads its report in a headless Chromium: tests/browser/report.js.
# Without a browser or node it says so and passes. Screenshots: build/browser.
#     tests/browser/report.sh [DIR]      DIR: an ablation to read instead
set -eu
cd "$(dirname "$0")/../.."

browser=${BROWSER-}
for name in chromium chromium-browser google-chrome chrome; do
    [ -n "$browser" ] || browser=$(command -v "$name" || true)
done
if [ -z "$browser" ] || ! command -v node >/dev/null; then
    echo "skipped: no Chromium or no node (Debian: sudo apt-get install chromium nodejs)"
    exit 0
fi

mkdir -p build/browser
runs=${1-build/browser/runs}
if [ $# -eq 0 ]; then
    rm -rf "$runs"
    for scale in none sqrt dk qknorm; do
        for d_k in 16 64; do
            for lr in 1e-3 1e-2; do
                for seed in 1 2 3; do
                    build/rootdk --scale "$scale" --d-k "$d_k" --lr "$lr" --seed "$seed" --steps 40 \
                        --batch 8 --eval-size 32 --log-every 2 --probe-every 4 --eval-every 10 \
                        --threads 1 --quiet --out "$runs/$scale-$d_k-$lr-$seed" >/dev/null
                done
            done
        done
    done
fi
rm -rf build/browser/mixed
for task in copy sort; do
    for scale in none sqrt; do
        build/rootdk --task "$task" --scale "$scale" --steps 10 --batch 4 --eval-size 8 --log-every 2 \
            --probe-every 2 --threads 1 --quiet --out "build/browser/mixed/$task-$scale" >/dev/null
    done
done
build/rootdk report "$runs" --out build/browser/report.html >/dev/null
build/rootdk report build/browser/mixed --out build/browser/mixed.html >/dev/null
node tests/browser/report.js "$browser" "$PWD/build/browser/report.html" "$runs" build/browser \
    "$PWD/build/browser/mixed.html"
echo "look at build/browser/light.png and dark.png"
