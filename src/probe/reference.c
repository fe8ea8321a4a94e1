/* SPDX-License-Identifier: MIT
 * Reference figures: a Monte Carlo by another program, with other random numbers.
 *
 * numpy 64-bit floats, default_rng(12345); the softmax written out as p and p p^T. Figures have the
 * digits that were printed, so each is good to half a unit of its last one beside its own standard
 * error. Invariant: these are data, never changed to fit a measurement.
 * Read next: docs/theory.md. */
#include <math.h>
#include <string.h>

#include <rootdk/probe.h>

/* n, sigma2, rows; entropy, entropy_norm, p_max, trace, trace_median, frob, sat90, sat99 */
static const rdk_reference rows[] = {
    {8, 1. / 64, 200000, 2.0726, .9967, .1486, .8733, .873, .3320, 0, 0},
    {8, 1. / 16, 200000, 2.0524, .9870, .1747, .8681, .869, .3356, 0, 0},
    {8, 1, 200000, 1.7223, .8282, .3609, .7679, .79, .3668, 0, 0},
    {8, 16, 200000, .6448, .3101, .7579, .3360, .344, .2982, .342, .097},
    {8, 64, 200000, .3147, .1514, .8763, .1757, .0681, .2277, .632, .377},
    {8, 256, 200000, .1525, .0733, .9381, .0887, .0019, .1667, .809, .640},
    {32, 1. / 64, 125000, 3.4582, .9978, .0402, .9683, .968, .1752, 0, 0},
    {32, 1. / 16, 125000, 3.4355, .9913, .0512, .9668, .967, .1788, 0, 0},
    {32, 1, 125000, 3.0133, .8695, .1644, .9272, .935, .2422, 0, 0},
    {32, 16, 125000, 1.0799, .3116, .6432, .4820, .534, .3174, .176, .030},
    {32, 64, 125000, .4919, .1419, .8182, .2549, .189, .2605, .495, .236},
    {32, 256, 125000, .2299, .0663, .9093, .1291, .0151, .1964, .729, .521},
    {64, 1. / 64, 62500, 4.1512, .9981, .0208, .9841, .984, .1249, 0, 0},
    {64, 1. / 16, 62500, 4.1281, .9926, .0274, .9834, .983, .1277, 0, 0},
    {64, 1, 62500, 3.6845, .8859, .1073, .9612, .965, .1846, 0, 0},
    {64, 16, 62500, 1.3101, .3150, .5930, .5423, .605, .3174, .130, .018},
    {64, 64, 62500, .5775, .1389, .7929, .2891, .249, .2708, .440, .195},
    {64, 256, 62500, .2647, .0637, .8973, .1463, .027, .2067, .695, .475},
    {128, 1. / 64, 31250, 4.8443, .9984, .0107, .9921, .992, .0887, 0, 0},
    {128, 1. / 16, 31250, 4.8210, .9936, .0146, .9917, .992, .0907, 0, 0},
    {128, 1, 31250, 4.3645, .8995, .0687, .9798, .981, .1371, 0, 0},
    {128, 16, 31250, 1.5428, .3180, .5483, .5946, .663, .3144, .095, .012},
    {128, 64, 31250, .6556, .1351, .7707, .3183, .298, .2783, .399, .162},
    {128, 256, 31250, .2963, .0611, .8859, .1618, .0399, .2156, .665, .440},
    {256, 1. / 64, 20000, 5.5374, .9986, .0055, .9960, .996, .0629, 0, 0},
    {256, 1. / 16, 20000, 5.5141, .9944, .0077, .9958, .996, .0643, 0, 0},
    {256, 1, 20000, 5.0523, .9111, .0430, .9897, .99, .0996, 0, 0},
    {256, 16, 20000, 1.7983, .3243, .5036, .6445, .718, .3085, .070, .007},
    {256, 64, 20000, .7402, .1335, .7477, .3482, .35, .2846, .362, .135},
    {256, 256, 20000, .3298, .0595, .8743, .1775, .0563, .2239, .636, .407},
};

/* Causal sequences of n tokens, 6000 of them: the mean over their rows 1 .. n. */
#define CAUSAL(n, sigma2, h, h_norm, trace, p_max)                                                 \
    {                                                                                              \
        n, sigma2, 6000, h, h_norm, p_max, trace, NAN, NAN, NAN, NAN                               \
    }
static const rdk_reference causal[] = {
    CAUSAL(64, 1. / 64, 3.1985, .9976, .9251, .0858),
    CAUSAL(128, 1. / 64, 3.8707, .9979, .9571, .0502),
    CAUSAL(256, 1. / 64, 4.5520, .9982, .9758, .0289),
    CAUSAL(64, 1. / 16, 3.1770, .9904, .9228, .0994),
    CAUSAL(32, 1, 2.1652, .8432, .7970, .3107),
    CAUSAL(64, 1, 2.7808, .8614, .8726, .2203),
    CAUSAL(128, 1, 3.4256, .8780, .9227, .1520),
    CAUSAL(256, 1, 4.0888, .8923, .9543, .1026),
    CAUSAL(64, 16, .9993, .3115, .4480, .6686),
    CAUSAL(64, 64, .4579, .1446, .2380, .8301),
    CAUSAL(128, 64, .5361, .1398, .2704, .8063),
    CAUSAL(256, 64, .6176, .1366, .3024, .7825),
    CAUSAL(64, 256, .2125, .0673, .1192, .9164),
};

/* 64 keys, q and k ~ N(0, I), 3000 queries. sigma2 stands for d_k here. */
typedef struct dot_reference {
    const char *scale;
    rdk_reference figures;
} dot_reference;
#define DOT(d_k, h_norm, trace, p_max)                                                             \
    {                                                                                              \
        64, d_k, 3000, NAN, h_norm, p_max, trace, NAN, NAN, NAN, NAN                               \
    }
static const dot_reference dots[] = {
    {"none", DOT(4, .671, .847, .277)},   {"sqrt", DOT(4, .888, .958, .106)},
    {"dk", DOT(4, .970, .980, .045)},     {"l2", DOT(4, .422, .737, .404)},
    {"rms", DOT(4, .905, .970, .063)},    {"none", DOT(16, .334, .558, .577)},
    {"sqrt", DOT(16, .888, .960, .107)},  {"dk", DOT(16, .993, .983, .027)},
    {"l2", DOT(16, .487, .741, .412)},    {"rms", DOT(16, .893, .965, .093)},
    {"none", DOT(64, .139, .288, .794)},  {"sqrt", DOT(64, .886, .961, .107)},
    {"dk", DOT(64, .998, .984, .021)},    {"l2", DOT(64, .770, .920, .190)},
    {"rms", DOT(64, .888, .962, .103)},   {"none", DOT(256, .063, .146, .898)},
    {"sqrt", DOT(256, .887, .961, .106)}, {"dk", DOT(256, .9995, .984, .018)},
    {"l2", DOT(256, .935, .974, .071)},   {"rms", DOT(256, .887, .962, .106)},
};

static const rdk_reference *find(const rdk_reference *r, size_t count, size_t n, double sigma2)
{
    for (size_t i = 0; i < count; i++)
        if (r[i].n == n && r[i].sigma2 == sigma2) return &r[i];
    return NULL;
}

const rdk_reference *rdk_reference_rows(size_t n, double sigma2)
{
    return find(rows, sizeof rows / sizeof *rows, n, sigma2);
}

const rdk_reference *rdk_reference_causal(size_t n, double sigma2)
{
    return find(causal, sizeof causal / sizeof *causal, n, sigma2);
}

const rdk_reference *rdk_reference_dot(size_t d_k, size_t n, const char *scale)
{
    for (size_t i = 0; i < sizeof dots / sizeof *dots; i++) {
        const rdk_reference *r = &dots[i].figures;
        if (r->n == n && r->sigma2 == (double)d_k && !strcmp(dots[i].scale, scale)) return r;
    }
    return NULL;
}
