/* SPDX-License-Identifier: MIT
 * A pass through a model: what it sees (no future, no padding), that looking changes no bit, nor
 * what else is asked for, and what dropout drops, and when. */
#include "model_case.h"

/* logits [len, VOCAB] of one sequence, into out. */
static void logits_of(rdk_model *m, rdk_tape *t, size_t len, const int32_t *tokens,
                      const int32_t *lengths, rdk_real *out)
{
    rdk_tape_reset(t);
    rdk_tensor *y = rdk_model_logits(m, t, 1, len, tokens, lengths, NULL);
    ck_assert_msg(y != NULL, "%s", rdk_tape_status(t)->message);
    memcpy(out, y->data, rdk_size(y) * sizeof *out);
}

static const int32_t sequence[] = {3, 1, 4, 1, 5, 9, 2}, changed[] = {3, 1, 4, 1, 5, 9, 7};

START_TEST(the_future_is_hidden)
{
    rdk_tape *t = new_tape();
    rdk_real a[LEN * VOCAB], b[LEN * VOCAB];
    for (size_t i = 0; i < rdk_scaling_count(); i++) {
        rdk_model_config c = policy_config(i);
        rdk_model *m = new_model(&c);
        logits_of(m, t, LEN, sequence, NULL, a);
        logits_of(m, t, LEN, changed, NULL, b);
        ck_assert_mem_eq(a, b, (LEN - 1) * VOCAB * sizeof *a);
        ck_assert_mem_ne(a + (LEN - 1) * VOCAB, b + (LEN - 1) * VOCAB, VOCAB * sizeof *a);
        rdk_model_free(m);
        c.arch = RDK_ENCODER;
        m = new_model(&c);
        logits_of(m, t, LEN, sequence, NULL, a);
        logits_of(m, t, LEN, changed, NULL, b);
        for (int p = 0; p < LEN; p++)
            ck_assert_mem_ne(a + p * VOCAB, b + p * VOCAB, VOCAB * sizeof *a);
        rdk_model_free(m);
    }
    rdk_tape_free(t);
}
END_TEST

/* Every variant, with padding behind and without: the real tokens' logits are the same bits. */
START_TEST(padding_is_never_seen)
{
    enum { REAL = 5 };
    const int32_t padded[] = {3, 1, 4, 1, 5, 8, 8}, other[] = {3, 1, 4, 1, 5, 0, 10};
    const int32_t length = REAL;
    rdk_real a[LEN * VOCAB], b[LEN * VOCAB], d[LEN * VOCAB];
    rdk_tape *t = new_tape();
    rdk_model_config c = variant_config(_i);
    for (int arch = 0; arch < 2; arch++) {
        c.arch = (rdk_arch)arch;
        rdk_model *m = new_model(&c);
        logits_of(m, t, REAL, padded, NULL, a);
        logits_of(m, t, LEN, padded, &length, b);
        logits_of(m, t, LEN, other, &length, d);
        ck_assert_msg(memcmp(a, b, REAL * VOCAB * sizeof *a) == 0, "%s", variants[_i].name);
        ck_assert_msg(memcmp(b, d, REAL * VOCAB * sizeof *a) == 0, "%s", variants[_i].name);
        rdk_model_free(m);
    }
    rdk_tape_free(t);
}
END_TEST

START_TEST(a_probe_changes_no_bit)
{
    rdk_attention_row rows[2 * BATCH * 2 * LEN];
    rdk_tensor *q[2], *k[2];
    rdk_model_probe probe = {.rows = rows, .q = q, .k = k};
    const int32_t lengths[] = {LEN, 4, 0};
    rdk_tape *t = new_tape();
    rdk_model_config c = policy_config(3);
    rdk_model *m = new_model(&c);
    size_t bytes = rdk_model_size(m) * sizeof(rdk_real);
    rdk_real *grads = malloc(bytes);
    double loss = loss_of(m, t, lengths, NULL, true);
    memcpy(grads, rdk_model_grads(m), bytes);
    ck_assert(loss == loss_of(m, t, lengths, &probe, true));
    ck_assert_mem_eq(grads, rdk_model_grads(m), bytes);
    for (int layer = 0; layer < 2; layer++) {
        ck_assert_uint_eq(q[layer]->dim[0], BATCH);
        ck_assert_uint_eq(k[layer]->dim[2], 12);
        const rdk_attention_row *r = rows + layer * BATCH * 2 * LEN;
        ck_assert_int_eq(r[LEN - 1].n, LEN);         /* sequence 0, head 0, last query */
        ck_assert_int_eq(r[2 * LEN + 3].n, 4);       /* sequence 1, of 4 tokens */
        ck_assert_int_eq(r[2 * 2 * LEN + LEN].n, 0); /* sequence 2, of none */
        ck_assert(r[LEN - 1].ds_norm > 0 && r[LEN - 1].variance > 0);
    }
    free(grads);
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

/* The gradients of a training pass; with dropout or products of bf16 where asked for. */
static void gradients_of(rdk_model *m, rdk_tape *t, bool drops, bool bf16, rdk_real *grads)
{
    static const int32_t lengths[] = {LEN, 4, 0};
    rdk_tape_training(t, drops, (rdk_stream){.seed = 1, .purpose = RDK_FOR_DROPOUT}, 0);
    rdk_tape_products(t, bf16 ? RDK_BF16 : RDK_FLOAT);
    loss_of(m, t, lengths, NULL, true);
    memcpy(grads, rdk_model_grads(m), rdk_model_size(m) * sizeof *grads);
}

START_TEST(a_frugal_tape_changes_no_bit)
{
    rdk_model_config c = variant_config(_i / 4);
    const bool drops = _i % 2, bf16 = _i / 2 % 2;
    c.dropout = drops ? 0.2 : 0;
    rdk_tape *t = new_tape(), *frugal = new_tape();
    rdk_tape_frugal(frugal, true);
    rdk_model *m = new_model(&c);
    shake(m, 0.1);
    size_t bytes = rdk_model_size(m) * sizeof(rdk_real);
    rdk_real *want = malloc(bytes), *got = malloc(bytes);
    gradients_of(m, t, drops, bf16, want);
    for (int again = 0; again < 2; again++) {
        gradients_of(m, frugal, drops, bf16, got);
        ck_assert_msg(memcmp(want, got, bytes) == 0, "%s", variants[_i / 4].name);
    }
    rdk_tape_keep_gradients(frugal, true);
    gradients_of(m, frugal, drops, bf16, got);
    ck_assert_mem_eq(want, got, bytes);
    ck_assert_ptr_nonnull(rdk_tape_node(frugal, 0)->out->data);
    free(want), free(got);
    rdk_model_free(m);
    rdk_tape_free(t), rdk_tape_free(frugal);
}
END_TEST

static void expect_same(const rdk_tensor *a, const rdk_tensor *b)
{
    ck_assert_uint_eq(rdk_size(a), rdk_size(b));
    ck_assert_mem_eq(a->data, b->data, rdk_size(a) * sizeof *a->data);
}

/* The pass that ends at the last queries and keys has all of them as the whole pass has, and the
 * rows of the layers before. */
START_TEST(queries_and_keys_alone)
{
    enum { MOST = 4, ROWS = BATCH * 4 * LEN }; /* of a layer, at most */
    rdk_attention_row rows[2][MOST * ROWS] = {{{0}}};
    rdk_tensor *q[2][MOST], *k[2][MOST], *used[2][2 * MOST];
    int32_t tokens[BATCH * LEN], targets[BATCH * LEN];
    rdk_model_config c = variant_config(_i);
    ck_assert(c.layers <= MOST && c.heads <= 4);
    rdk_model *m = new_model(&c);
    rdk_tape *t[2] = {new_tape(), new_tape()};
    fixed_batch(BATCH * LEN, tokens, targets);
    for (int i = 0; i < 2; i++) {
        rdk_model_probe probe = {
            .rows = rows[i], .q = q[i], .k = k[i], .q_used = used[i], .k_used = used[i] + MOST};
        rdk_tape_recording(t[i], false);
        ck_assert_msg(i ? rdk_model_queries(m, t[i], BATCH, LEN, tokens, NULL, &probe)
                        : rdk_model_logits(m, t[i], BATCH, LEN, tokens, NULL, &probe) != NULL,
                      "%s", rdk_tape_status(t[i])->message);
    }
    const size_t of_layer = BATCH * c.heads * LEN;
    for (size_t l = 0; l < c.layers; l++) {
        bool last = l + 1 == c.layers;
        expect_same(q[0][l], q[1][l]);
        expect_same(k[0][l], k[1][l]);
        expect_same(used[0][l], used[1][l]);
        expect_same(used[0][MOST + l], used[1][MOST + l]);
        for (size_t r = l * of_layer; r < (l + 1) * of_layer; r++) {
            const rdk_attention_row *a = &rows[0][r], *b = &rows[1][r];
            ck_assert_int_eq(b->n, last ? 0 : a->n);
            ck_assert(last || (a->max == b->max && a->rest == b->rest));
        }
    }
    ck_assert(!rdk_model_queries(m, t[1], 1, LEN + 3, tokens, NULL, NULL));
    ck_assert_ptr_nonnull(strstr(rdk_tape_status(t[1])->message, "--seq-len"));
    rdk_model_free(m);
    rdk_tape_free(t[0]), rdk_tape_free(t[1]);
}
END_TEST

/* The gradient of the mean loss of these targets; only: of these tokens, which have them all. */
static void gradient_of(rdk_model *m, rdk_tape *t, const int32_t *targets,
                        const rdk_model_tokens *only, const rdk_model_probe *probe, rdk_real *grads)
{
    int32_t tokens[BATCH * LEN], ignored[BATCH * LEN], of_only[BATCH * LEN];
    double counted = 0;
    fixed_batch(BATCH * LEN, tokens, ignored);
    for (int i = 0; i < BATCH * LEN; i++) counted += targets[i] != RDK_IGNORE;
    for (size_t r = 0; only && r < only->n; r++) of_only[r] = targets[only->at[r]];
    rdk_tape_reset(t);
    rdk_model_zero_grad(m);
    rdk_tensor *y = rdk_model_logits_of(m, t, BATCH, LEN, tokens, NULL, only, probe);
    rdk_tensor *loss = rdk_cross_entropy(t, y, only ? of_only : targets, counted, NULL, NULL);
    ck_assert_msg(rdk_tape_backward(t, loss), "%s", rdk_tape_status(t)->message);
    memcpy(grads, rdk_model_grads(m), rdk_model_size(m) * sizeof *grads);
}

/* The logits of `only` beside `want`, those of all tokens; what is measured is the same too. */
static void check_asked(rdk_model *m, rdk_tape *t, const int32_t *lengths,
                        const rdk_model_tokens *only, const rdk_tensor *want,
                        const rdk_attention_row *want_rows)
{
    int32_t tokens[BATCH * LEN], targets[BATCH * LEN];
    const rdk_model_config *c = rdk_model_config_of(m);
    const size_t n_rows = c->layers * BATCH * c->heads * LEN;
    rdk_attention_row *rows = calloc(n_rows, sizeof *rows);
    const rdk_model_probe probe = {.rows = rows};
    fixed_batch(BATCH * LEN, tokens, targets);
    rdk_tape_reset(t);
    rdk_tensor *y = rdk_model_logits_of(m, t, BATCH, LEN, tokens, lengths, only, &probe);
    ck_assert_msg(y && y->n_dims == 2 && y->dim[0] == only->n && y->dim[1] == VOCAB, "%s",
                  rdk_tape_status(t)->message);
    for (size_t r = 0; r < only->n; r++)
        ck_assert_mem_eq(y->data + r * VOCAB, want->data + only->at[r] * VOCAB,
                         VOCAB * sizeof *y->data);
    ck_assert_mem_eq(rows, want_rows, n_rows * sizeof *rows);
    free(rows);
}

/* Asked for in any order, twice, all, none, or the end of each sequence, with and without padding,
 * of floats and of bfloat16: the logits are the bits of those of all. */
START_TEST(tokens_that_are_asked_for)
{
    static const int32_t some[] = {BATCH * LEN - 1, 2, 0, 2, 9};
    static const int32_t late[] = {BATCH * LEN - 1, LEN - 2, BATCH * LEN - 2, LEN - 1};
    int32_t tokens[BATCH * LEN], targets[BATCH * LEN], all[BATCH * LEN], lengths[BATCH];
    int32_t last[BATCH];
    enum { SOME = sizeof some / sizeof *some, LATE = sizeof late / sizeof *late, ASKED = 5 };
    const rdk_model_tokens asked[ASKED] = {
        {SOME, some}, {BATCH * LEN, all}, {0, NULL}, {LATE, late}, {BATCH, last}};
    rdk_tape *t = new_tape(), *whole = new_tape();
    rdk_model_config c = variant_config(_i / 4);
    rdk_model *m = new_model(&c);
    rdk_attention_row *rows = calloc(c.layers * BATCH * c.heads * LEN, sizeof *rows);
    const rdk_model_probe probe = {.rows = rows};
    for (int32_t i = 0; i < BATCH * LEN; i++) all[i] = i;
    for (int i = 0; i < BATCH; i++) lengths[i] = LEN - 2 * i, last[i] = LEN * (i + 1) - 1;
    fixed_batch(BATCH * LEN, tokens, targets);
    rdk_tape_products(t, _i & 1 ? RDK_BF16 : RDK_FLOAT);
    rdk_tape_products(whole, _i & 1 ? RDK_BF16 : RDK_FLOAT);
    const int32_t *real = _i & 2 ? lengths : NULL;
    rdk_tensor *want = rdk_model_logits(m, whole, BATCH, LEN, tokens, real, &probe);
    for (int a = 0; a < ASKED; a++) check_asked(m, t, real, &asked[a], want, rows);
    free(rows);
    rdk_model_free(m);
    rdk_tape_free(t), rdk_tape_free(whole);
}
END_TEST

static size_t those_that_count(const int32_t *targets, int32_t *at)
{
    size_t n = 0;
    for (int32_t i = 0; i < BATCH * LEN; i++)
        if (targets[i] != RDK_IGNORE) at[n++] = i;
    return n;
}

static void check_all_close(const rdk_real *got, const rdk_real *want, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++)
        ck_assert_close((double)got[i], (double)want[i], tolerance, norm_of(want, n));
}

/* Those that count give the gradient of all, where the others do not: some here and there, or the
 * end of each sequence (_i & 1), of floats or of bfloat16 (_i & 2). Measuring changes no bit of
 * it, and on a frugal tape none is changed. */
START_TEST(gradients_of_those_that_count)
{
    int32_t tokens[BATCH * LEN], targets[BATCH * LEN], at[BATCH * LEN];
    rdk_tape *t = new_tape(), *frugal = new_tape();
    rdk_model_config c = variant_config(_i / 4);
    rdk_model *m = new_model(&c);
    shake(m, 0.1);
    fixed_batch(BATCH * LEN, tokens, targets);
    for (size_t i = 0; _i & 1 && i < BATCH * LEN; i++)
        targets[i] = i % LEN < LEN - 3 ? RDK_IGNORE : tokens[i];
    const rdk_model_tokens that_count = {those_that_count(targets, at), at};
    const size_t size = rdk_model_size(m), n_rows = c.layers * BATCH * c.heads * LEN;
    rdk_attention_row *rows = calloc(2 * n_rows, sizeof *rows);
    rdk_model_probe of_all = {.rows = rows}, of_part = {.rows = rows + n_rows};
    rdk_real *full = malloc(size * sizeof *full), *part = malloc(size * sizeof *part),
             *again = malloc(size * sizeof *again);
    rdk_tape_frugal(frugal, true);
    rdk_tape_products(t, _i & 2 ? RDK_BF16 : RDK_FLOAT);
    rdk_tape_products(frugal, _i & 2 ? RDK_BF16 : RDK_FLOAT);
    gradient_of(m, t, targets, NULL, &of_all, full);
    gradient_of(m, t, targets, &that_count, NULL, part);
    check_all_close(part, full, size, _i & 2 ? 1e-3 : 1e-5);
    gradient_of(m, t, targets, &that_count, &of_part, again);
    ck_assert_mem_eq(again, part, size * sizeof *part);
    gradient_of(m, frugal, targets, &that_count, &of_part, again);
    ck_assert_mem_eq(again, part, size * sizeof *part);
    for (size_t i = 0; i < n_rows; i++) {
        ck_assert(rows[i].n == rows[n_rows + i].n && rows[i].max == rows[n_rows + i].max);
        ck_assert(rows[i].reached == rows[n_rows + i].reached);
        ck_assert_close((double)rows[n_rows + i].ds_norm, (double)rows[i].ds_norm,
                        _i & 2 ? 1e-2 : 1e-4, fmax((double)rows[i].ds_norm, 1e-6));
    }
    gradient_of(m, t, targets, &(rdk_model_tokens){0, NULL}, NULL, part);
    for (size_t i = 0; i < size; i++) ck_assert(part[i] == 0);
    free(full), free(part), free(again), free(rows);
    rdk_model_free(m);
    rdk_tape_free(t), rdk_tape_free(frugal);
}
END_TEST

/* Behind the last attention. The position of the last token alone is huge: its norm is not, but the
 * residual stream is, and a bias as huge makes it infinite. */
START_TEST(no_number_at_a_token_that_is_not_asked_for)
{
    enum { LAST = BATCH * LEN - 1 };
    int32_t first[LAST], tokens[BATCH * LEN] = {0};
    rdk_tape *t = new_tape();
    rdk_model_config c = small_config();
    c.bias = true;
    rdk_model *m = new_model(&c);
    size_t kept = 0;
    for (int32_t i = 0; i < LAST; i++)
        if (i % LEN != LEN - 1) first[kept++] = i;
    const rdk_model_tokens only = {kept, first};
    rdk_param *positions = rdk_model_role(m, RDK_ROLE_POSITIONS, -1);
    rdk_param *bias = rdk_model_find(m, "layers.1.attention.wo.bias");
    ck_assert(positions && bias);
    positions->tensor.data[(LEN - 1) * c.d_model] = (rdk_real)3.4e38;
    bias->tensor.data[0] = (rdk_real)1e37;
    for (int whole = 0; whole < 2; whole++) {
        rdk_tape_reset(t);
        rdk_model_zero_grad(m);
        rdk_tensor *y =
            rdk_model_logits_of(m, t, BATCH, LEN, tokens, NULL, whole ? NULL : &only, NULL);
        ck_assert_ptr_nonnull(y);
        size_t rows = rdk_rows(y), finite = 0;
        for (size_t i = 0; i < rdk_size(y); i++) finite += isfinite((double)y->data[i]) != 0;
        ck_assert(whole ? finite < rows * VOCAB : finite == rows * VOCAB);
        if (whole) continue;
        ck_assert(rdk_tape_backward(t, rdk_sum_all(t, y)));
        ck_assert(isfinite(norm_of(rdk_model_grads(m), rdk_model_size(m))));
    }
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

START_TEST(asked_for_beyond_the_batch)
{
    static const int32_t wrong[] = {-1, BATCH * LEN};
    int32_t tokens[BATCH * LEN] = {0};
    rdk_tape *t = new_tape();
    rdk_model_config c = small_config();
    rdk_model *m = new_model(&c);
    for (int i = 0; i < 2; i++) {
        char part[64];
        const int32_t asked[] = {3, wrong[i]};
        snprintf(part, sizeof part, "token %d, asked for at position 1", (int)wrong[i]);
        rdk_tape_reset(t);
        ck_assert_ptr_null(rdk_model_logits_of(m, t, BATCH, LEN, tokens, NULL,
                                               &(rdk_model_tokens){2, asked}, NULL));
        ck_assert_int_eq(rdk_tape_status(t)->code, RDK_EVALUE);
        ck_assert_ptr_nonnull(strstr(rdk_tape_status(t)->message, part));
    }
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

static void check_same_pass(rdk_model *m, rdk_tape *t, double loss, const rdk_real *grads)
{
    ck_assert(loss == loss_of(m, t, NULL, NULL, true));
    ck_assert_mem_eq(grads, rdk_model_grads(m), rdk_model_size(m) * sizeof *grads);
}

/* Weights laid out for products give the same bits, in a replica too, whatever the products are of;
 * once that has ended, what is changed is seen. */
START_TEST(packing_changes_no_bit)
{
    rdk_tape *t = new_tape();
    rdk_status s = {0};
    rdk_model_config c = variant_config(_i / 2);
    const rdk_precision precision = _i % 2 ? RDK_BF16 : RDK_FLOAT;
    rdk_model *m = new_model(&c), *replica = rdk_model_replica(m, &s);
    size_t bytes = rdk_model_size(m) * sizeof(rdk_real);
    rdk_real *grads = malloc(bytes);
    rdk_tape_products(t, precision);
    double loss = loss_of(m, t, NULL, NULL, true);
    memcpy(grads, rdk_model_grads(m), bytes);
    for (int twice = 0; twice < 2; twice++) {
        ck_assert_msg(rdk_model_pack(m, precision, &s), "%s", s.message);
        check_same_pass(m, t, loss, grads);
        check_same_pass(replica, t, loss, grads);
        rdk_model_unpack(m);
    }
    for (size_t i = 0; i < rdk_model_size(m); i++) rdk_model_values(m)[i] *= (rdk_real)1.25;
    double other = loss_of(m, t, NULL, NULL, true);
    memcpy(grads, rdk_model_grads(m), bytes);
    ck_assert(other != loss);
    /* laid out for the other kind of products, it is not read */
    ck_assert(rdk_model_pack(m, precision == RDK_BF16 ? RDK_FLOAT : RDK_BF16, &s));
    check_same_pass(m, t, other, grads);
    ck_assert(rdk_model_pack(m, precision, &s));
    check_same_pass(m, t, other, grads);
    /* and the panels are what is read */
    const rdk_tensor *wv = &rdk_model_role(m, RDK_ROLE_WV, 0)->tensor;
    if (!c.sigma_reparam) {
        if (precision == RDK_FLOAT)
            wv->packing->panels[0] += 1;
        else
            wv->packing->pairs_t[0] ^= 0x8000; /* the sign of an element */
        ck_assert(other != loss_of(m, t, NULL, NULL, true));
    }
    free(grads);
    rdk_model_free(replica), rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

START_TEST(dropout_drops_in_training_alone)
{
    rdk_tape *t = new_tape();
    rdk_model_config c = small_config();
    rdk_model *plain = new_model(&c);
    c.dropout = 0.3;
    rdk_model *m = new_model(&c);
    double eval = loss_of(m, t, NULL, NULL, false);
    ck_assert(eval == loss_of(plain, t, NULL, NULL, false));
    double loss[3];
    for (uint64_t step = 0; step < 3; step++) {
        rdk_tape_training(t, true, (rdk_stream){1, RDK_FOR_DROPOUT, step}, 0);
        loss[step] = loss_of(m, t, NULL, NULL, true);
        rdk_tape_training(t, true, (rdk_stream){1, RDK_FOR_DROPOUT, step}, 0);
        ck_assert(loss[step] == loss_of(m, t, NULL, NULL, true));
        ck_assert(fabs(loss[step] - eval) > 1e-5);
    }
    expect_distinct(loss, 3, "dropout step");
    rdk_model_free(plain);
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

/* The embedding sum, the attention probabilities and each branch drop, and nothing else does. The
 * first query of a decoder sees itself alone: its attention gives 0 or v / (1 - p), per head. */
START_TEST(dropout_stands_where_it_should)
{
    enum { HEADS = 8, INNER = HEADS * 6 };
    rdk_tape *t = new_tape();
    rdk_model_config c = small_config();
    c.dropout = 0.3, c.heads = HEADS;
    rdk_model *m = new_model(&c);
    rdk_tape_training(t, true, (rdk_stream){1, RDK_FOR_DROPOUT, 0}, 0);
    loss_of(m, t, NULL, NULL, true);
    int embedding = 0, attention = 0, mlp = 0, heads_dropped = 0, heads_seen = 0;
    for (size_t i = 0; i < rdk_tape_length(t); i++) {
        const rdk_node *n = rdk_tape_node(t, i);
        bool drops = strcmp(n->op->name, "dropout") == 0;
        embedding += drops && strcmp(n->scope, "embedding") == 0;
        attention += drops && strstr(n->scope, "attention");
        mlp += drops && strstr(n->scope, "mlp");
        if (strcmp(n->op->name, "attention") != 0) continue;
        for (size_t b = 0; b < BATCH; b++)
            for (size_t e = b * LEN * INNER; e < b * LEN * INNER + INNER; e += 6, heads_seen++) {
                double y = n->out->data[e], v = n->in[2]->data[e];
                ck_assert(y == 0 || fabs(y - v / 0.7) < 1e-5);
                heads_dropped += y == 0;
            }
    }
    ck_assert_int_eq(embedding, 1);
    ck_assert_int_eq(attention, 2);
    ck_assert_int_eq(mlp, 2);
    ck_assert_int_eq(heads_seen, 2 * BATCH * HEADS);
    ck_assert_msg(heads_dropped > 0 && heads_dropped < heads_seen, "%d of %d dropped",
                  heads_dropped, heads_seen);
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

RDK_TEST_MAIN("passes of a model", {
    ADD(the_future_is_hidden);
    ADD_LOOP(padding_is_never_seen, VARIANTS);
    ADD(a_probe_changes_no_bit);
    ADD_LOOP(a_frugal_tape_changes_no_bit, 4 * (VARIANTS));
    ADD_LOOP(queries_and_keys_alone, VARIANTS);
    ADD_LOOP(tokens_that_are_asked_for, 4 * (VARIANTS));
    ADD_LOOP(gradients_of_those_that_count, 4 * (VARIANTS));
    ADD(no_number_at_a_token_that_is_not_asked_for);
    ADD(asked_for_beyond_the_batch);
    ADD_LOOP(packing_changes_no_bit, 2 * VARIANTS);
    ADD(dropout_drops_in_training_alone);
    ADD(dropout_stands_where_it_should);
})
