/* SPDX-License-Identifier: MIT
 * Which of the tables that isa.c was compiled into is used: the best that the processor can run, or
 * the one that RDK_ISA names in the environment, if it can run that. The program refuses other
 * names before it begins (rdk_isa_check); a library takes no offence at its host's environment.
 *
 * Invariant: the choice is made once and holds for the whole process.
 * Read next: isa.c. */
#include "kernels.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "attention_scratch.h"
#include "pair_scratch.h"

#ifdef RDK_HAS_neon
extern const rdk_kernels rdk_kernels_neon;
#else
extern const rdk_kernels rdk_kernels_base;
#endif
#ifdef RDK_HAS_avx2
extern const rdk_kernels rdk_kernels_avx2;
#endif
#ifdef RDK_HAS_avx512
extern const rdk_kernels rdk_kernels_avx512;
#endif
#ifdef RDK_HAS_avx512bf16
extern const rdk_kernels rdk_kernels_avx512bf16;
#endif

enum { TABLES_MAX = 4 };

#ifdef RDK_HAS_avx512
static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

/* What this processor can run, best first; returns how many. */
static int runnable(const rdk_kernels *table[TABLES_MAX])
{
    int n = 0;
#ifdef RDK_HAS_avx512bf16
    if (has_avx512() && __builtin_cpu_supports("avx512bf16")) table[n++] = &rdk_kernels_avx512bf16;
#endif
#ifdef RDK_HAS_avx512
    if (has_avx512()) table[n++] = &rdk_kernels_avx512;
#endif
#ifdef RDK_HAS_avx2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        table[n++] = &rdk_kernels_avx2;
#endif
#ifdef RDK_HAS_neon /* every aarch64 has it */
    table[n++] = &rdk_kernels_neon;
#else
    table[n++] = &rdk_kernels_base;
#endif
    return n;
}

const rdk_kernels *rdk_kernels_at(int i)
{
    const rdk_kernels *table[TABLES_MAX];
    int n = runnable(table);
    return i >= 0 && i < n ? table[i] : NULL;
}

static const rdk_kernels *chosen(void)
{
    const rdk_kernels *table[TABLES_MAX];
    int n = runnable(table);
    const char *name = getenv("RDK_ISA");
    for (int i = 0; name && i < n; i++)
        if (strcmp(name, table[i]->isa) == 0) return table[i];
    return table[0];
}

bool rdk_isa_check(rdk_status *s)
{
    enum { NAMES = 64, SHOWN = 20 };
    const rdk_kernels *table[TABLES_MAX];
    int n = runnable(table);
    const char *name = getenv("RDK_ISA");
    char names[NAMES] = "";
    if (!name || !*name) return true;
    for (int i = 0; i < n; i++) {
        if (strcmp(name, table[i]->isa) == 0) return true;
        if (i) strcat(names, ", ");
        strcat(names, table[i]->isa);
    }
    return rdk_fail(s, RDK_EVALUE, "RDK_ISA=%.*s in the environment is none of %s (unset it)",
                    SHOWN, name, names);
}

const rdk_kernels *rdk_kernels_get(void)
{
    /* Remembered, so that a change of the environment changes nothing; threads that come here at
     * once find the same. */
    static _Atomic(const rdk_kernels *) remembered;
    const rdk_kernels *k = atomic_load_explicit(&remembered, memory_order_acquire);
    if (k) return k;
    const rdk_kernels *none = NULL, *mine = chosen();
    return atomic_compare_exchange_strong(&remembered, &none, mine) ? mine : none;
}

const char *rdk_isa(void)
{
    return rdk_kernels_get()->isa;
}

size_t rdk_panels_size(size_t n, size_t k)
{
    return rounded_up(n, WIDEST_PANEL) * k;
}

size_t rdk_panels_bf16_size(size_t n, size_t k)
{
    return right_size(n, k);
}

size_t rdk_product_bf16_scratch(const rdk_product *p)
{
    return left_size(p->ta, p->m, p->k) + (p->panels ? 0 : right_size(p->n, p->k));
}

size_t rdk_attention_scratch(size_t len, size_t d_k, size_t d_v)
{
    return attention_scratch_size(len, d_k, d_v);
}
