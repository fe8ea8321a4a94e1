/* SPDX-License-Identifier: MIT
 * The names that an option takes, for the files that read it and speak about it. */
#ifndef RDK_RUN_OPTION_NAMES_H
#define RDK_RUN_OPTION_NAMES_H

#include <rootdk/run.h>

#define RDK_AUTO "auto" /* the word for "left to rule" */

/* Neither a path nor a message holds one. */
static inline bool rdk_is_control(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f;
}

enum { RDK_MOST_NAMES = 64 };
/* Those of a CHOICE or NAME; 0 for other types. */
size_t rdk_option_names(const rdk_option *o, const char *names[RDK_MOST_NAMES]);
/* Which of them an unknown value may mean, or NULL. */
const char *rdk_option_nearest_value(const rdk_option *o, const char *value);

#endif
