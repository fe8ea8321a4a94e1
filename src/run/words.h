/* SPDX-License-Identifier: MIT
 * Sentences about a run: what it is (header, --describe) and what came of it (verdict.c). */
#ifndef RDK_RUN_WORDS_H
#define RDK_RUN_WORDS_H

#include "trainer.h"

void rdk_words_task(rdk_text *t, const rdk_trainer *r);
void rdk_words_model(rdk_text *t, const rdk_trainer *r);
void rdk_words_scale(rdk_text *t, const rdk_trainer *r);
void rdk_words_training(rdk_text *t, const rdk_trainer *r);
void rdk_words_machine(rdk_text *t, const rdk_trainer *r);

/* An option's value as it stands in config.ini, from the table. */
void rdk_words_option(rdk_text *t, const rdk_config *c, const char *name);
/* 1234567 as "1,234,567". */
void rdk_words_count(rdk_text *t, uint64_t n);

/* How the user goes on with this run: the command, then OPTION and what is below its directory,
 * each a word that a shell takes as it is ("./train --config 'a b/config.ini'"). below: "" or
 * "/NAME". */
void rdk_words_command(rdk_text *t, const rdk_trainer *r, const char *option, const char *below);

#endif
