/* SPDX-License-Identifier: MIT
 * The runs whose columns test_columns.c looks at: what is done to a score, one by one and together.
 * Read next: test_columns.c, which has the options that they share. */
#ifndef RDK_TEST_COLUMNS_SETTINGS_H
#define RDK_TEST_COLUMNS_SETTINGS_H

#include <stdbool.h>

static const struct setting {
    const char *name;
    bool padded;
    const char *options[8][2];
} settings[] = {
    {"sqrt", false, {{"scale", "sqrt"}}},
    {"sqrt, padded", true, {{"scale", "sqrt"}}},
    {"dk, encoder", false, {{"scale", "dk"}, {"arch", "encoder"}, {"task", "copy"}}},
    {"none, encoder, padded", true, {{"scale", "none"}, {"arch", "encoder"}, {"task", "copy"}}},
    {"qknorm", false, {{"scale", "qknorm"}, {"qk-gain", "2"}}},
    {"rms and rope, padded", true, {{"qk-norm", "rms"}, {"positions", "rope"}}},
    {"l2", false, {{"scale", "none"}, {"qk-norm", "l2"}}},
    {"none, d_k 256", false, {{"scale", "none"}, {"d-k", "256"}, {"heads", "1"}}},
    {"1e6, padded", true, {{"scale", "1e6"}}},
    {"one token", false, {{"seq-len", "1"}}},
    {"post-norm", false, {{"norm-place", "post"}}},
    {"temperature", false, {{"head-temperature", "on"}}},
    {"ssmax, padded", true, {{"length-scale", "ssmax"}}},
    {"log, encoder, padded",
     true,
     {{"length-scale", "log"}, {"arch", "encoder"}, {"task", "copy"}, {"length-base", "5"}}},
    {"soft cap", false, {{"scale", "none"}, {"softcap", "2"}}},
    {"sink one, padded", true, {{"sink", "one"}}},
    {"sink learned", false, {{"scale", "none"}, {"sink", "learned"}}},
    {"by layer", false, {{"scale-layers", "1:none"}}},
    {"qk-clip", false, {{"scale", "none"}, {"qk-clip", "9"}}},
    {"sigma-reparam", false, {{"sigma-reparam", "on"}}},
    {"everything, padded",
     true,
     {{"scale-layers", "1:dk"},
      {"scale", "none"},
      {"length-scale", "ssmax"},
      {"softcap", "4"},
      {"sink", "learned"},
      {"bias", "on"}}},
    {"additive", false, {{"attention", "additive"}}},
    {"additive, everything, padded",
     true,
     {{"attention", "additive"},
      {"scale-layers", "1:30"},
      {"head-temperature", "on"},
      {"length-scale", "log"},
      {"softcap", "4"},
      {"sink", "learned"}}},
    {"additive, c 20, rms, encoder, padded",
     true,
     {{"attention", "additive"},
      {"scale", "20"},
      {"qk-norm", "rms"},
      {"arch", "encoder"},
      {"task", "copy"}}},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

#endif
