/*
 * Wide & deep (Cheng et al. 2016), the model of ../../ctr/wide-deep.json in C: a linear part over
 * categories, pairs of them and numbers, and a network over rows and numbers.
 *
 *     ./wide-deep                       trains it in this process
 *     ./wide-deep run --dir /tmp/wide   on a cluster on this machine
 */
#include "columns.h"

enum { CROSSES = 4, ROW = 4, WIDE = CATEGORIES + CROSSES + NUMBERS };

static void build(struct tn_graph *g, const struct tn_build *b, void *user)
{
    static const char *const crosses[CROSSES] = {"wide1x2", "wide3x4", "wide5x6", "wide7x8"};
    struct columns columns = columns_begin(g, b, 2 * CATEGORIES + CROSSES);
    (void)user;
    add_categories(&columns, "wide", 1);
    for (int i = 0; i < CROSSES; i++) { add_row(&columns, crosses[i], 1); }
    add_numbers(&columns);
    add_categories(&columns, "C", ROW);
    tn_tensor x = columns_end(&columns);

    tn_tensor wide = tn_dense(g, "wide", tn_slice(g, x, 1, 0, WIDE), 1, TN_LINEAR);
    tn_tensor deep = tn_slice(g, x, 1, WIDE - NUMBERS, NUMBERS + CATEGORIES * ROW);
    deep = tn_dense(g, "hidden1", deep, 64, TN_RELU);
    deep = tn_dense(g, "hidden2", deep, 32, TN_RELU);
    deep = tn_dense(g, "deep", deep, 1, TN_LINEAR);
    learn_clicks(g, tn_add(g, wide, deep));
}

#define CROSS(name, a, b)                                                                          \
    "\"" name "\": {\"as\": \"cross\", \"of\": [\"" a "\", \"" b "\"], \"table\": true}, "

TN_MODEL_WITH("wide-deep", build,
              CTR_JOB("sigmoid_cross_entropy",
                      WIDE_CATEGORIES CROSS("wide1x2", "C1", "C2") CROSS("wide3x4", "C3", "C4")
                          CROSS("wide5x6", "C5", "C6") CROSS("wide7x8", "C7", "C8"),
                      "0.003"),
              NULL)

int main(int argc, char **argv)
{
    return tn_main(argc, argv, &tanist_model);
}
