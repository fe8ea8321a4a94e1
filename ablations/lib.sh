# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Shared by the experiments: sourced with the project's root as the working directory. Each trains a
# grid below runs/science/ (what is done there is never run again), prints its table, writes its
# report, and ends with the claims that it checks.
#     JOBS=N       runs at once; 0, the default: as many as there are cores
#     FIGURES=DIR  copy the experiment's figures to DIR as well
. tests/reference/lib.sh # expect

status=0 # of the script: 1 once a claim does not hold
mkdir -p runs/science
finish() {
    exit $status
}

# Trains what of the grid is not done yet, and sets $grid to its directory.
train_grid() { # NAME OPTION...
    grid=runs/science/$1
    shift
    if [ "${JOBS:-0}" -gt 0 ]; then set -- "$@" --jobs "$JOBS"; fi
    [ -t 2 ] || set -- "$@" --quiet
    ./train ablate "$@" --out "$grid" >/dev/null
}

# The text that experiments with text read, $text: FILE, else the project's own sources, which are
# another text after every change of them; so a grid of a text has its checksum in its name.
choose_text() { # [FILE]
    text=${1:-build/source.txt}
    [ $# -gt 0 ] || data/make-source-text.sh "$text" 2>/dev/null
}
of_text() { # NAME
    echo "$1-$(cksum <"$text" | cut -d ' ' -f 1)"
}

# The tables of $grid: means and 95 % intervals over seeds.
print_grid() {
    cat "$grid/results.md"
}

# Writes the report of $grid; with FIGURES, figure X of it as FIGURES/NAME.svg for each X=NAME.
report_grid() { # [X=NAME]...
    ./train report "$grid" --figures "$grid/figures"
    if [ -z "${FIGURES:-}" ]; then return 0; fi
    mkdir -p "$FIGURES"
    for pair; do cp "$grid/figures/${pair%%=*}.svg" "$FIGURES/${pair#*=}.svg"; done
}

# Makes $grid a directory that holds runs of several grids, for one report.
join_grids() { # NAME GRID/POINTS...; POINTS may be a pattern
    grid=runs/science/$1
    shift
    rm -rf "$grid"
    mkdir -p "$grid"
    for from; do
        for run in runs/science/$from/config.ini; do
            run=$(dirname "${run#runs/science/}")
            ln -s "../$run" "$grid/$(echo "$run" | tr / -)"
        done
    done
}

# A claim: fails the script, at its end, where it does not hold.
claim() { # WORDS EXPRESSION
    expect "$1" "$2" || status=1
}

# The same: a figure is no further than a tolerance, which is no interval, from what is expected.
near() { # WORDS FIGURE EXPECTED TOLERANCE
    awk -v words="$1" -v x="$2" -v y="$3" -v d="$4" 'BEGIN {
        ok = x + 0 == x && x - y <= d && y - x <= d
        printf "%-7s %s (%.4g, expected %.4g, tolerance %.2g)\n", ok ? "ok" : "FAILED", words, x, y, d
        exit !ok }' || status=1
}

# ---- results of $grid ----------------------------------------------------------------------------
# OPTION=VALUE...: only of the runs that have these; a value as results.csv spells it.

# The values of a column of results.csv, one a line; empty ones (a run that diverged) left out.
values() { # COLUMN [OPTION=VALUE]...
    awk -F, -v wanted="$*" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = split(wanted, want, " ")
                  for (i = 1; i <= n; i++) {
                      split(want[i], is, "=")
                      if (!(is[1] in at)) { print "no column " is[1] > "/dev/stderr"; exit 1 } }
                  next }
        { for (i = 2; i <= n; i++) { split(want[i], is, "="); if ($at[is[1]] != is[2]) next }
          if ($at[want[1]] != "") print $at[want[1]] }' "$grid/results.csv"
}

# Of the table of learning rates in results.md, where the scaling alone is varied beside rate and
# seed: the mean over seeds of the loss at the best rate, and of the sensitivity with each l0.
rated() { # loss|chance|start SCALE
    awk -F'|' -v what="$1" -v scale="$2" '
        BEGIN { c["loss"] = 4; c["chance"] = 5; c["start"] = 6 }
        /^Learning rates/ { on = 1 }
        on { split($2, name, " "); split($c[what], value, " "); if (name[1] == scale) print value[1] }
        ' "$grid/results.md"
}

# A column of a file of each such run at one step, one row a line: attention.csv by layer and head,
# gradients.csv by tensor, metrics.csv by split (of $tensor alone, or that split, where it is set).
at_step() { # STEP FILE COLUMN [OPTION=VALUE]...
    step=$1 file=$2 column=$3
    shift 3
    for point in $(values point "$@"); do
        awk -F, -v step="$step" -v name="$column" -v tensor="${tensor:-}" '
            NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next }
            $1 == step && (tensor == "" || $2 ~ tensor) { print $c }' "$grid/$point/$file"
    done
}
at_start() { # FILE COLUMN [OPTION=VALUE]...
    at_step 0 "$@"
}

# The variance of the scores at the start, as a share of what theory predicts for it; by seed, as
# the heads of one seed read the same tokens.
variance_share() { # [OPTION=VALUE]...
    values seed "$@" | while read -r drawn; do
        for column in score_std score_std_theory; do
            at_start attention.csv $column "$@" "seed=$drawn" | awk '{ s += $1 * $1 } END { print s }'
        done | awk 'NR == 1 { x = $1 } END { print x / $1 }'
    done
}

# ---- of numbers, one a line ----------------------------------------------------------------------

# Of no numbers each is the word "none", with which no claim holds.

mean() {
    awk '{ s += $1; n++ } END { if (n) printf "%.6g\n", s / n; else print "none" }'
}

geometric_mean() {
    awk '{ s += log($1); n++ } END { if (n) printf "%.6g\n", exp(s / n); else print "none" }'
}

largest() {
    awk 'NR == 1 || $1 > m { m = $1 } END { if (NR) printf "%.6g\n", m; else print "none" }'
}

smallest() {
    awk 'NR == 1 || $1 < m { m = $1 } END { if (NR) printf "%.6g\n", m; else print "none" }'
}

# "MEAN HALF-WIDTH" of the 95 % t-interval of 2 to 12 numbers, one for each seed.
interval() {
    awk '{ x[++n] = $1; s += $1 }
         END {
             split("12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201", t, " ")
             if (n < 2 || n > 12) { print "none none"; exit }
             for (i = 1; i <= n; i++) v += (x[i] - s / n) ^ 2
             printf "%.6g %.6g\n", s / n, t[n - 1] * sqrt(v / (n - 1) / n) }'
}
# The same in words.
in_words() {
    interval | awk '{ printf "%.4g +- %.2g\n", $1, $2 }'
}

# How the interval of such numbers stands to that of others: above, below, or overlaps.
stands() { # NUMBERS OTHERS
    printf '%s\n' "$(echo "$1" | interval)" "$(echo "$2" | interval)" | awk '
        NR == 1 { low = $1 - $2; high = $1 + $2 }
        NR == 2 { print (low > $1 + $2 ? "above" : high < $1 - $2 ? "below" : "overlaps") }'
}
# The same as a comparison, for a claim: holds where it stands as expected.
is_that() { # EXPECTED NUMBERS OTHERS
    if [ "$(stands "$2" "$3")" = "$1" ]; then echo "1 == 1"; else echo "0 == 1"; fi
}

# The slope of ln y against ln x by least squares; lines "x y".
slope() {
    awk '{ x = log($1); y = log($2); n++; a += x; b += y; c += x * x; d += x * y }
         END { printf "%.4f\n", (n * d - a * b) / (n * c - a * a) }'
}
