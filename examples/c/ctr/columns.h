/*
 * examples/c/ctr/columns.h: the columns of Criteo's data for the models of this folder: 13 numbers
 * and 26 categories. Each column of a category has a table of its own, and each of its values a
 * row, without a vocabulary and without a number of buckets.
 */
#ifndef CTR_COLUMNS_H
#define CTR_COLUMNS_H

#include <stdio.h>
#include <tanist/tanist.h>

enum { NUMBERS = 13, CATEGORIES = 26, PARTS_MAX = 2 * CATEGORIES + 8 };

/* Add the columns in the order of data.columns, then join them. */
struct columns {
    struct tn_graph *graph;
    tn_tensor inputs, keys, parts[PARTS_MAX];
    uint32_t count, key_count;
};

/* `keys`: how many columns have "table": true. */
static inline struct columns columns_begin(struct tn_graph *g, const struct tn_build *b,
                                           uint32_t keys)
{
    tn_scope_begin(g, "columns");
    return (struct columns){
        .graph = g,
        .inputs = tn_placeholder(g, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, b->inputs)),
        .keys = tn_placeholder(g, "keys", TN_INT64, TN_SHAPE(TN_BATCH, keys)),
    };
}

/* The row of a value of the column: `width` numbers. */
static inline void add_row(struct columns *c, const char *name, uint32_t width)
{
    const struct tn_table_options small = {.scale = 0.0346F}; /* The deviation is 0.02. */
    tn_scope_begin(c->graph, name);
    tn_table table = tn_table_create(c->graph, "rows", width, &small);
    tn_tensor row = tn_lookup(c->graph, table, c->keys, c->key_count++, 1, TN_POOL_NONE);
    tn_scope_end(c->graph);
    c->parts[c->count++] = tn_reshape(c->graph, row, TN_SHAPE(TN_BATCH, width));
}

/* One for each category: the columns C1 to C26, or others with such names. */
static inline void add_categories(struct columns *c, const char *prefix, uint32_t width)
{
    for (int i = 1; i <= CATEGORIES; i++) {
        char name[16];
        snprintf(name, sizeof name, "%s%d", prefix, i);
        add_row(c, name, width);
    }
}

/* I1 to I13. A column of keys is an input, too, whose number has no meaning. */
static inline void add_numbers(struct columns *c)
{
    c->parts[c->count++] = tn_slice(c->graph, c->inputs, 1, c->key_count, NUMBERS);
}

static inline tn_tensor columns_end(struct columns *c)
{
    tn_tensor joined = tn_concat(c->graph, c->parts, c->count, 1);
    tn_scope_end(c->graph);
    return joined;
}

/* Whether a user clicks: the logit is above 0 for yes. */
static inline tn_tensor click_labels(struct tn_graph *g)
{
    return tn_placeholder(g, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
}

static inline void report_logit(struct tn_graph *g, tn_tensor logit)
{
    tn_tensor two = tn_pad(g, logit, 1, 1, 0, 0); /* The logit of "no" is 0. */
    tn_metric(g, "accuracy", tn_is_correct(g, two, click_labels(g)));
    tn_output(g, "logits", logit);
}

static inline void learn_clicks(struct tn_graph *g, tn_tensor logit)
{
    tn_tensor clicks = tn_cast(g, click_labels(g), TN_FLOAT32, 1);
    tn_tensor targets = tn_reshape(g, clicks, TN_SHAPE(TN_BATCH, 1));
    tn_loss(g, tn_sigmoid_cross_entropy(g, logit, targets), 1);
    report_logit(g, logit);
}

/* The job of a model: its loss, its columns before those of all models, and its learning rate. */
#define CTR_JOB(loss, more_columns, learning_rate)                                                 \
    "{\"model\": {\"outputs\": 1, \"loss\": \"" loss "\"},"                                        \
    " \"data\": {\"type\": \"criteo-like\", \"examples\": 1000000, \"test_examples\": 100000,"     \
    " \"options\": {\"values\": 30},"                                                              \
    " \"columns\": {" more_columns "\"I1..I13\": \"number\","                                      \
    " \"C1..C26\": {\"as\": \"category\", \"table\": true}}},"                                     \
    " \"train\": {\"steps\": 4000, \"batch\": 256, \"slices\": 4, \"optimizer\": \"adam\","        \
    " \"learning_rate\": " learning_rate ", \"decay_steps\": 4000},"                               \
    " \"evaluate\": {\"every_steps\": 1000}, \"checkpoint\": {\"every_steps\": 1000},"             \
    " \"cluster\": {\"coordinators\": 2, \"ps\": 2, \"workers\": 2}}"

#define WIDE_CATEGORIES                                                                            \
    "\"wide1..wide26\": {\"as\": \"category\", \"from\": \"C1..C26\", \"table\": true}, "

#endif
