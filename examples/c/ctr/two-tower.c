/*
 * Two towers, the model of ../../ctr/two-tower.json in C: numbers and the first categories make the
 * vector of a user, the other categories that of an item. A softmax over the items of a slice
 * teaches users to find those on which they click.
 *
 *     ./two-tower                      trains it in this process
 *     ./two-tower run --dir /tmp/two   on a cluster on this machine
 */
#include "columns.h"

enum { ROW = 8, USER = NUMBERS + CATEGORIES / 2 * ROW, ITEM = CATEGORIES / 2 * ROW, VECTOR = 16 };

static tn_tensor tower(struct tn_graph *g, const char *name, tn_tensor x)
{
    tn_scope_begin(g, name);
    tn_tensor hidden = tn_dense(g, "hidden", x, 64, TN_RELU);
    tn_tensor vector = tn_dense(g, "vector", hidden, VECTOR, TN_LINEAR);
    tn_scope_end(g);
    return vector;
}

static void build(struct tn_graph *g, const struct tn_build *b, void *user)
{
    struct columns columns = columns_begin(g, b, CATEGORIES);
    (void)user;
    add_numbers(&columns);
    add_categories(&columns, "C", ROW);
    tn_tensor x = columns_end(&columns);

    tn_tensor users = tower(g, "user", tn_slice(g, x, 1, 0, USER));
    tn_tensor items = tower(g, "item", tn_slice(g, x, 1, USER, ITEM));
    tn_tensor clicks = tn_cast(g, click_labels(g), TN_FLOAT32, 1);
    tn_loss(g, tn_slice_softmax_cross_entropy(g, users, items, clicks), 1);
    tn_metric(g, "slice_recall", tn_slice_recall(g, users, items, clicks));
    const uint32_t last = 1;
    tn_tensor score = tn_sum(g, tn_multiply(g, users, items), &last, 1);
    report_logit(g, tn_reshape(g, score, TN_SHAPE(TN_BATCH, 1)));
}

TN_MODEL_WITH("two-tower", build, CTR_JOB("slice_softmax_cross_entropy", "", "0.002"), NULL)

int main(int argc, char **argv)
{
    return tn_main(argc, argv, &tanist_model);
}
