/*
 * DeepFM (Guo et al. 2017), the model of ../../ctr/deepfm.json in C: a linear part, a factorization
 * machine over the rows of all categories, and a network over the same rows.
 *
 *     ./deepfm                         trains it in this process
 *     ./deepfm run --dir /tmp/deepfm   on a cluster on this machine
 */
#include "columns.h"

enum { ROW = 8, LINEAR = CATEGORIES + NUMBERS };

static void build(struct tn_graph *g, const struct tn_build *b, void *user)
{
    struct columns columns = columns_begin(g, b, 2 * CATEGORIES);
    (void)user;
    add_categories(&columns, "wide", 1);
    add_numbers(&columns);
    add_categories(&columns, "C", ROW);
    tn_tensor x = columns_end(&columns);

    tn_tensor linear = tn_dense(g, "linear", tn_slice(g, x, 1, 0, LINEAR), 1, TN_LINEAR);
    tn_tensor rows = tn_slice(g, x, 1, LINEAR, CATEGORIES * ROW);
    rows = tn_reshape(g, rows, TN_SHAPE(TN_BATCH, CATEGORIES, ROW));
    tn_tensor pairs = tn_factorization_machine(g, rows);
    tn_tensor deep = tn_slice(g, x, 1, LINEAR - NUMBERS, NUMBERS + CATEGORIES * ROW);
    deep = tn_dense(g, "hidden1", deep, 64, TN_RELU);
    deep = tn_dense(g, "hidden2", deep, 32, TN_RELU);
    deep = tn_dense(g, "deep", deep, 1, TN_LINEAR);
    learn_clicks(g, tn_add(g, tn_add(g, linear, pairs), deep));
}

TN_MODEL_WITH("deepfm", build, CTR_JOB("sigmoid_cross_entropy", WIDE_CATEGORIES, "0.002"), NULL)

int main(int argc, char **argv)
{
    return tn_main(argc, argv, &tanist_model);
}
