/* SPDX-License-Identifier: MIT
 * The verb show: curves and summary of runs in the terminal. */
#include "cli.h"

const rdk_grammar rdk_show_grammar = {.operand = "a run's directory"};

int rdk_cli_show(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return 1;
}
