/*
 * DLRM (Naumov et al. 2019), the model of ../../ctr/dlrm.json in C: a network makes a vector of the
 * numbers, as wide as the rows of categories; the dot products of all pairs, and the vector itself,
 * are the inputs of a second network.
 *
 *     ./dlrm                       trains it in this process
 *     ./dlrm run --dir /tmp/dlrm   on a cluster on this machine
 */
#include "columns.h"

enum { ROW = 8, VECTORS = 1 + CATEGORIES };

static void build(struct tn_graph *g, const struct tn_build *b, void *user)
{
    struct columns columns = columns_begin(g, b, CATEGORIES);
    (void)user;
    add_numbers(&columns);
    add_categories(&columns, "C", ROW);
    tn_tensor x = columns_end(&columns);

    tn_tensor bottom = tn_dense(g, "bottom1", tn_slice(g, x, 1, 0, NUMBERS), 32, TN_RELU);
    bottom = tn_dense(g, "bottom2", bottom, ROW, TN_RELU);
    tn_tensor rows = tn_slice(g, x, 1, NUMBERS, CATEGORIES * ROW);
    tn_tensor vectors = tn_concat(g, (const tn_tensor[]){bottom, rows}, 2, 1);
    tn_tensor pairs =
        tn_dot_interaction(g, tn_reshape(g, vectors, TN_SHAPE(TN_BATCH, VECTORS, ROW)));
    tn_tensor first = tn_slice(g, vectors, 1, 0, ROW);
    tn_tensor top = tn_concat(g, (const tn_tensor[]){first, pairs}, 2, 1);
    top = tn_dense(g, "top1", top, 64, TN_RELU);
    top = tn_dense(g, "top2", top, 32, TN_RELU);
    learn_clicks(g, tn_dense(g, "top3", top, 1, TN_LINEAR));
}

TN_MODEL_WITH("dlrm", build, CTR_JOB("sigmoid_cross_entropy", "", "0.002"), NULL)

int main(int argc, char **argv)
{
    return tn_main(argc, argv, &tanist_model);
}
