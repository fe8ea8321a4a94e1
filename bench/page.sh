#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/page.sh [PART...]: the tables of docs/performance.md, as markdown, from the CSVs that the
# other scripts left. Parts: machine peaks steps precision profile kernels gemm probing scaling
# memory; without any, all whose CSV is there, each under its name.
#
# Of times the best round counts, of ratios the middle one, with the least and the most beside it; of
# turns (probing) the middle one, with the quartiles.
set -eu
cd "$(dirname "$0")/.."
. bench/lib.sh

# Rows whose cells are parted by tabs, the first of them headings, as a markdown table.
layout() {
    awk -F '\t' '
        {
            for (i = 1; i <= NF; i++) {
                cell[NR, i] = $i
                if (length($i) > wide[i]) wide[i] = length($i)
            }
            if (NF > columns) columns = NF
        }
        END {
            for (r = 1; r <= NR; r++) {
                line = rule = "|"
                for (i = 1; i <= columns; i++) {
                    line = line sprintf(i == 1 ? " %-" wide[i] "s |" : " %" wide[i] "s |", cell[r, i])
                    dashes = sprintf("%" wide[i] "s", "")
                    gsub(/ /, "-", dashes)
                    rule = rule (i == 1 ? " " dashes " |" : " " substr(dashes, 2) ": |")
                }
                print line
                if (r == 1) print rule
            }
        }'
}

# Functions of awk: a list of numbers grows by push, and is told by its middle or its spread.
lists='
    # cell[row, column] of all rows and columns, below a head
    function cross(head, rows,    r, c) {
        printf "%s", head
        for (c = 1; c <= count["columns"]; c++) printf "\t%s", item["columns", c]
        print ""
        for (r = 1; r <= count[rows]; r++) {
            printf "%s", item[rows, r]
            for (c = 1; c <= count["columns"]; c++)
                printf "\t%s", cell[item[rows, r], item["columns", c]]
            print ""
        }
    }
    function push(list, x) { item[list, ++count[list]] = x }
    function sorted(list,    i, j, t) {
        for (i = 2; i <= count[list]; i++)
            for (j = i; j > 1 && item[list, j] < item[list, j - 1]; j--) {
                t = item[list, j]; item[list, j] = item[list, j - 1]; item[list, j - 1] = t
            }
    }
    function middle(list,    n) {
        sorted(list)
        n = count[list]
        return n % 2 ? item[list, (n + 1) / 2] : (item[list, n / 2] + item[list, n / 2 + 1]) / 2
    }
    function spread(list, format,    m) {
        m = middle(list)
        return sprintf(format " (" format " to " format ")", m, item[list, 1], item[list, count[list]])
    }
    function first_seen(list, x) { if (!((list, x) in seen)) { seen[list, x] = 1; push(list, x) } }
'

machine() {
    awk 'BEGIN { print "machine\t" } NR > 1 { sub(/,/, "\t"); print }' "$dir/machine.csv" | layout
}

peaks() {
    awk -F, 'BEGIN { OFS = "\t"; print "threads", "GFLOP/s", "GB/s of memory", "GB/s of the nearest caches" }
        NR > 1 { print $1, $2, $3, $4 }' "$dir/peaks.csv" | layout
}

steps() {
    awk -F, "$lists"'
        NR == 1 { next }
        { key = $3 "," $4 }
        $1 == "peak" { first_seen("rows", key); if ($7 > peak[key]) peak[key] = $7; next }
        { at = $1 "," key }
        !(at in ms) || $5 < ms[at] { ms[at] = $5; gflops[at] = $7; mib[at] = $8; start[at] = $9 }
        !(at in least) || $6 < least[at] { least[at] = $6 }
        $1 == "rootdk" { own[$2, key] = $5; next }
        { torch = 1; push(at, $5 / own[$2, key]) }
        function ratio(who) {
            return (who in ms) ? sprintf("\t%.4g\t%s", ms[who], spread(who, "%.2f")) : ""
        }
        END {
            printf "size\tthreads\tms\tleast\tGFLOP/s\tshare of peak\tMiB\tfirst step, s"
            if (torch) printf "\tPyTorch, ms\ttimes ours\tas installed, ms\ttimes ours\tPyTorch, MiB"
            print ""
            for (i = 1; i <= count["rows"]; i++) {
                key = item["rows", i]; split(key, k, ","); at = "rootdk," key
                printf "%s\t%d\t%.4g\t%.4g\t%.4g\t%.0f %%\t%.4g\t%.3f", k[1], k[2], ms[at], least[at], gflops[at], \
                    100 * gflops[at] / peak[key], mib[at], start[at]
                tuned = "torch-tuned," key
                print ratio(tuned) ratio("torch-plain," key) ((tuned in ms) ? "\t" mib[tuned] : "")
            }
        }' "$dir/steps.csv" | layout
}

precision() {
    awk -F, "$lists"'
        NR == 1 { next }
        {
            at = $3 "\t" $4
            first_seen("rows", at)
            if (!(($1, at) in ms) || $6 < ms[$1, at]) ms[$1, at] = $6
            own[$1, $2, at] = $5
            if ($1 == "bf16") push(at, own["float", $2, at] / $5)
        }
        END {
            print "size\tthreads\tfloat, ms at least\tbf16, ms at least\tfloat / bf16"
            for (r = 1; r <= count["rows"]; r++) {
                at = item["rows", r]
                printf "%s\t%.4g\t%.4g\t%s\n", at, ms["float", at], ms["bf16", at], spread(at, "%.2f")
            }
        }' "$dir/precision.csv" | layout
}

profile() {
    awk -F, "$lists"'
        NR > 1 { first_seen("sizes", $1); first_seen("ops", $2); ms[$1, $2] = $5; share[$1, $2] = $6 }
        function told(size, op) {
            if (op == "all") return sprintf("%.4g ms", ms[size, op])
            return (size, op) in share ? sprintf("%.1f %%", 100 * share[size, op]) : ""
        }
        function row(op,    s) {
            printf "%s", op
            for (s = 1; s <= count["sizes"]; s++) printf "\t%s", told(item["sizes", s], op)
            print ""
        }
        END {
            printf "op"
            for (s = 1; s <= count["sizes"]; s++) printf "\t%s", item["sizes", s]
            print ""
            for (o = 1; o <= count["ops"]; o++) if (item["ops", o] !~ /^(all|no op)$/) row(item["ops", o])
            row("no op")
            row("all")
        }' "$dir/profile.csv" | layout
}

kernels() {
    awk -F, "$lists"'
        NR > 1 {
            first_seen("columns", $2 ", " $4); first_seen("kernels", $1)
            cell[$1, $2 ", " $4] = sprintf("%.0f %%, %.3g", 100 * $9, $5)
        }
        END { cross("share, ns an element", "kernels") }' "$dir/kernels.csv" | layout
}

gemm() {
    awk -F, "$lists"'
        NR == 1 { next }
        $3 == "geometric mean" { means = means sprintf("\t%s: %s, %.0f %%", $1, $7, 100 * $7 / $2); next }
        $3 == "x W^T + b" { layer = $6 " to " $5; first_seen("layers", layer) } # its rows come first
        {
            column = $3 ", " $1
            first_seen("columns", column)
            cell[layer, column] = sprintf("%s, %.0f %%", $7, 100 * $7 / $2)
        }
        END {
            cross("GFLOP/s, share of peak", "layers")
            print "geometric means, by threads" means
        }' "$dir/gemm.csv" | layout
}

probing() {
    awk -F, "$lists"'
        NR == 1 { next }
        {
            at = $1 "\t" $2
            first_seen("rows", at)
            ms[at] = $4
            cost[at, $3] = sprintf("%.1f (%.1f to %.1f)", $5, $6, $7)
        }
        END {
            print "size\tthreads\tms, nothing probed\t%, one step in 10 probed\t%, every step"
            for (r = 1; r <= count["rows"]; r++) {
                at = item["rows", r]
                print at "\t" ms[at] "\t" cost[at, 10] "\t" cost[at, 1]
            }
        }' "$dir/probing.csv" | layout
}

# The best round of each point, in order: what, value, size, threads, ms, GFLOP/s, MiB
points() {
    awk -F, "$lists"'
        NR == 1 { next }
        { at = $1 "," $2 "," $4 "," $5; first_seen("points", at) }
        !(at in ms) || $6 < ms[at] { ms[at] = $6; rest[at] = $8 "," $9 }
        END { for (p = 1; p <= count["points"]; p++) { at = item["points", p]; print at "," ms[at] "," rest[at] } }
    ' "$dir/scaling.csv"
}

scaling() {
    points | awk -F, '
        BEGIN { OFS = "\t"; print "doubled", "L x H x d x T x B x V", "threads", "ms", "times the row above", "GFLOP/s" }
        $1 != "one head" {
            print $1 " " $2, $3, $4, $5, ($1 == what ? sprintf("%.2f", $5 / ms) : ""), $6
            what = $1; ms = $5
        }' | layout
}

memory() {
    points | awk -F, '
        BEGIN { OFS = "\t"; print "T", "ms", "times the row above", "microseconds a token", "MiB", "times the row above" }
        $1 == "one head" {
            print $2, $5, (ms ? sprintf("%.2f", $5 / ms) : ""), sprintf("%.2f", 1e3 * $5 / $2), $7, \
                (ms ? sprintf("%.2f", $7 / mib) : "")
            ms = $5; mib = $7
        }' | layout
}

csv_of() {
    case $1 in memory) echo "$dir/scaling.csv" ;; *) echo "$dir/$1.csv" ;; esac
}

if [ $# -gt 0 ]; then
    for part; do "$part"; done
    exit
fi
for part in machine peaks steps precision profile kernels gemm probing scaling memory; do
    [ -s "$(csv_of $part)" ] || continue
    echo "### $part"
    echo
    "$part"
    echo
done
