/*
 * DeepFM (Guo et al. 2017) with tables: whether a user clicks, of 26 categories and 13 numbers.
 * Each value of a category has a row of its own, without a vocabulary and without a number of
 * buckets:
 * `./deepfm` trains it in this process.
 */
#include <tanist/tanist.h>

enum { KEYS = 26, WIDTH = 8, HIDDEN = 64 };

/* The sum over all pairs of features of the products of their factors, from factors[batch][KEYS]
 * [WIDTH]: half of the square of the sum less the sum of the squares. */
static tn_tensor pairs(struct tn_graph *g, tn_tensor factors)
{
    tn_tensor sum = tn_sum(g, factors, (uint32_t[]){1}, 1);
    tn_tensor squares = tn_sum(g, tn_multiply(g, factors, factors), (uint32_t[]){1}, 1);
    tn_tensor twice = tn_subtract(g, tn_multiply(g, sum, sum), squares);
    tn_tensor total = tn_sum(g, twice, (uint32_t[]){1}, 1);
    return tn_scale(g, tn_reshape(g, total, TN_SHAPE(TN_BATCH, 1)), 0.5F);
}

static void build(struct tn_graph *g, const struct tn_build *b, void *user)
{
    (void)user;
    tn_tensor inputs = tn_placeholder(g, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, b->inputs));
    tn_tensor keys = tn_placeholder(g, "keys", TN_INT64, TN_SHAPE(TN_BATCH, KEYS));
    tn_tensor labels = tn_placeholder(g, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
    /* The columns of numbers come first; those of keys are inputs of 0. */
    tn_tensor numbers = tn_slice(g, inputs, 1, 0, b->inputs - KEYS);
    const struct tn_table_options small = {.scale = 0.01F};
    tn_table weights = tn_table_create(g, "weights", 1, &small);
    tn_table rows = tn_table_create(g, "factors", WIDTH, &small);
    tn_tensor factors = tn_lookup(g, rows, keys, 0, KEYS, TN_POOL_NONE);
    tn_tensor parts[] = {numbers, tn_reshape(g, factors, TN_SHAPE(TN_BATCH, KEYS * WIDTH))};
    tn_tensor x = tn_concat(g, parts, 2, 1);
    x = tn_dense(g, "hidden1", x, HIDDEN, TN_RELU);
    x = tn_dense(g, "hidden2", x, HIDDEN / 2, TN_RELU);
    tn_tensor logit = tn_dense(g, "deep", x, 1, TN_LINEAR);
    logit = tn_add(g, logit, tn_dense(g, "linear", numbers, 1, TN_LINEAR));
    logit = tn_add(g, logit, tn_lookup(g, weights, keys, 0, KEYS, TN_POOL_SUM));
    logit = tn_add(g, logit, pairs(g, factors));
    tn_tensor clicks = tn_reshape(g, tn_cast(g, labels, TN_FLOAT32, 1), TN_SHAPE(TN_BATCH, 1));
    tn_loss(g, tn_sigmoid_cross_entropy(g, logit, clicks), 1);
    tn_metric(g, "accuracy", tn_is_correct(g, tn_pad(g, logit, 1, 1, 0, 0), labels));
    tn_output(g, "logits", logit);
}

#define NUMBER(name)   "\"" name "\": \"number\", "
#define CATEGORY(name) "\"" name "\": {\"as\": \"category\", \"table\": true}, "
#define NUMBERS                                                                                    \
    NUMBER("I1")                                                                                   \
    NUMBER("I2")                                                                                   \
    NUMBER("I3")                                                                                   \
    NUMBER("I4")                                                                                   \
    NUMBER("I5")                                                                                   \
    NUMBER("I6")                                                                                   \
    NUMBER("I7") NUMBER("I8") NUMBER("I9") NUMBER("I10") NUMBER("I11") NUMBER("I12") NUMBER("I13")
#define CATEGORIES                                                                                 \
    CATEGORY("C1")                                                                                 \
    CATEGORY("C2")                                                                                 \
    CATEGORY("C3")                                                                                 \
    CATEGORY("C4")                                                                                 \
    CATEGORY("C5")                                                                                 \
    CATEGORY("C6")                                                                                 \
    CATEGORY("C7")                                                                                 \
    CATEGORY("C8")                                                                                 \
    CATEGORY("C9")                                                                                 \
    CATEGORY("C10")                                                                                \
    CATEGORY("C11")                                                                                \
    CATEGORY("C12")                                                                                \
    CATEGORY("C13")                                                                                \
    CATEGORY("C14")                                                                                \
    CATEGORY("C15")                                                                                \
    CATEGORY("C16")                                                                                \
    CATEGORY("C17")                                                                                \
    CATEGORY("C18")                                                                                \
    CATEGORY("C19")                                                                                \
    CATEGORY("C20")                                                                                \
    CATEGORY("C21")                                                                                \
    CATEGORY("C22")                                                                                \
    CATEGORY("C23")                                                                                \
    CATEGORY("C24") CATEGORY("C25") "\"C26\": {\"as\": \"category\", \"table\": true}"

static const char job[] =
    "{\"model\": {\"outputs\": 1, \"loss\": \"sigmoid_cross_entropy\"},"
    " \"data\": {\"type\": \"criteo-like\", \"examples\": 1000000, \"test_examples\": 50000,"
    " \"options\": {\"values\": 30}, \"columns\": {" NUMBERS CATEGORIES "}},"
    " \"train\": {\"steps\": 4000, \"batch\": 256, \"slices\": 4, \"optimizer\": \"adam\","
    " \"learning_rate\": 0.002, \"decay_steps\": 4000},"
    " \"evaluate\": {\"every_steps\": 1000}, \"checkpoint\": {\"every_steps\": 1000},"
    " \"strategy\": {\"type\": \"local\"}}";

TN_MODEL_WITH("deepfm", build, job, NULL)

int main(int argc, char **argv)
{
    return tn_main(argc, argv, &tanist_model);
}
