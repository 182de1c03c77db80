/* Cases of graph/ops/lookup.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_LOOKUP_H
#define TESTS_UNIT_GRAPH_OPS_CASES_LOOKUP_H

#include "tests/unit/support/op_cases.h"

static tn_tensor keys_of(struct tn_graph *g)
{
    return tn_placeholder(g, "keys", TN_INT64, TN_SHAPE(TN_BATCH, 5));
}

static tn_table table_of(struct tn_graph *g)
{
    return tn_table_create(g, "rows", 4, NULL);
}

static tn_tensor look_up(struct tn_graph *g)
{
    tn_tensor rows = tn_lookup(g, table_of(g), keys_of(g), 1, 3, TN_POOL_NONE);
    return tn_multiply(g, rows, variable(g, "w", TN_SHAPE(4)));
}

static tn_tensor look_up_a_sum(struct tn_graph *g)
{
    tn_tensor rows = tn_lookup(g, table_of(g), keys_of(g), 0, 2, TN_POOL_SUM);
    return tn_multiply(g, rows, variable(g, "w", TN_SHAPE(4)));
}

/* Two lookups share a table, and their rows meet in a product. */
static tn_tensor look_up_a_mean(struct tn_graph *g)
{
    tn_tensor mean = tn_lookup(g, table_of(g), keys_of(g), 0, 4, TN_POOL_MEAN);
    tn_tensor one = tn_lookup(g, table_of(g), keys_of(g), 4, 1, TN_POOL_SUM);
    return tn_add(g, tn_multiply(g, mean, one), variable(g, "w", TN_SHAPE(4)));
}

static tn_tensor look_up_nothing(struct tn_graph *g)
{
    return tn_lookup(g, table_of(g), keys_of(g), 2, 0, TN_POOL_SUM);
}

static tn_tensor look_up_beyond(struct tn_graph *g)
{
    return tn_lookup(g, table_of(g), keys_of(g), 3, 3, TN_POOL_SUM);
}

static tn_tensor look_up_floats(struct tn_graph *g)
{
    tn_tensor keys = tn_placeholder(g, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 5));
    return tn_lookup(g, table_of(g), keys, 0, 1, TN_POOL_SUM);
}

static tn_tensor look_up_in_two_widths(struct tn_graph *g)
{
    (void)table_of(g);
    const tn_table table = tn_table_create(g, "rows", 8, NULL);
    return tn_lookup(g, table, keys_of(g), 0, 1, TN_POOL_SUM);
}

static tn_tensor look_up_in_a_wide_table(struct tn_graph *g)
{
    const tn_table table = tn_table_create(g, "rows", TN_TABLE_WIDTH_MAX + 1, NULL);
    return tn_lookup(g, table, keys_of(g), 0, 1, TN_POOL_SUM);
}

static tn_tensor look_up_in_a_negative_scale(struct tn_graph *g)
{
    const struct tn_table_options options = {.scale = -1};
    const tn_table table = tn_table_create(g, "rows", 4, &options);
    return tn_lookup(g, table, keys_of(g), 0, 1, TN_POOL_SUM);
}

static const struct op_case cases_lookup[] = {
    {"lookup", "lookup", look_up, .shape = "float32 [batch, 3, 4]"},
    {"lookup of a sum", "table", look_up_a_sum, .shape = "float32 [batch, 4]"},
    {"lookup of a mean", "key_share", look_up_a_mean, .shape = "float32 [batch, 4]"},
    {"lookup refuses no columns", "lookup", look_up_nothing, .error = "at least one"},
    {"lookup refuses missing columns", "lookup", look_up_beyond, .error = "which have 5"},
    {"lookup refuses floats", "lookup", look_up_floats, .error = "of type int64"},
    {"a table has one width", "table", look_up_in_two_widths, .error = "use another name"},
    {"a table has a limit", "table", look_up_in_a_wide_table, .error = "give 1 to 4096"},
    {"a scale is not negative", "table", look_up_in_a_negative_scale, .error = "a scale of -1"},
};

#endif
