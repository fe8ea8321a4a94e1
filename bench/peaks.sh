#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/peaks.sh: the machine and its limits, with 1 thread and with all. Writes machine.csv and
# peaks.csv and prints them.
set -eu
cd "$(dirname "$0")/.."
. bench/lib.sh

said() { # WORDS: what --version says of them
    build/rootdk --version | sed -n "s/^$1  *//p"
}
processor=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1)
cat >"$dir/machine.csv" <<END
what,is
processor,${processor:-$(uname -m)}
threads,$most
system,$(uname -sr)
compiler,$(said compiler)
kernels,$(said 'instruction set')
build,$(said build)
date,$(date -u +%Y-%m-%d)
END
echo "threads,gflops,gbytes_memory,gbytes_cache" >"$dir/peaks.csv"
for threads in $counts; do own peak "$threads" >>"$dir/peaks.csv"; done
table machine
table peaks
