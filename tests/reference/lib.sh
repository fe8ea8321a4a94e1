# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Shared by the reference checks: sourced with the project's root as the working directory.
# Each check trains a published configuration, prints what came out, and fails where it is not met.

# A figure of DIR/run.json.
figure() { # DIR KEY
    sed -n "s/^  \"$2\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" "$1/run.json"
}

# Succeeds where the comparison in awk's language holds, and says it either way. A word in it (nan, or
# that of a figure which is not there) would be a variable to awk, with the value 0: it does not hold.
expect() { # WORDS EXPRESSION
    if awk -v text="$2" "BEGIN { gsub(/(log|exp)[(]/, \"(\", text)
            exit text ~ /[A-DF-Za-df-z]/ || !($2) }" 2>/dev/null; then
        echo "ok      $1 ($2)"
    else
        echo "FAILED  $1 ($2)"
        return 1
    fi
}
