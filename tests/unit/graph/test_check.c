/* graph/check.c: tn_check_gradients() accepts right gradients and finds wrong ones. */
#include "graph/core/build.h"
#include "graph/ops/ops.h"
#include "tests/unit/support/models.h"

static void expect_right(const char *name, struct tn_graph *graph)
{
    struct tn_error error = {.text = ""};
    double worst = 1;
    if (tn_check_gradients(graph, 3, 3, 24, &worst, &error) != TN_OK) {
        fail_msg("%s: %s", name, error.text);
    }
    print_message("%s: worst relative error of a gradient %.1e\n", name, worst);
    assert_true(worst < 1e-5);
    tn_graph_destroy(graph);
}

static void models_pass(void **state)
{
    (void)state;
    expect_right("layers", layered_graph(4));
    expect_right("cnn", cnn_graph(8, 3));
    expect_right("transformer", transformer_graph(5, 8, 2, 2, 7));
    expect_right("autoencoder", autoencoder_graph(9, 3));
}

static void twice(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy, tn_tensor *dx)
{
    (void)self;
    dx[0] = tn_add(graph, dy[0], dy[0]);
}

static void none(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy, tn_tensor *dx)
{
    (void)graph, (void)self, (void)dy;
    dx[0] = TN_NONE;
}

static void opposite(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy, tn_tensor *dx)
{
    (void)self;
    dx[0] = tn_scale(graph, dy[0], -1);
}

static void slightly_more(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                          tn_tensor *dx)
{
    (void)self;
    dx[0] = tn_scale(graph, dy[0], 1.0001F);
}

/* Columns in another order. */
static void rotated(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy, tn_tensor *dx)
{
    (void)self;
    tn_tensor parts[] = {tn_slice(graph, dy[0], 1, 1, 2), tn_slice(graph, dy[0], 1, 0, 1)};
    dx[0] = tn_concat(graph, parts, 2, 1);
}

static void through_exp(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy, tn_tensor *dx)
{
    dx[0] = tn_multiply(graph, dy[0], tn_exp(graph, self));
}

static void same(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy, tn_tensor *dx)
{
    (void)graph, (void)self;
    dx[0] = dy[0];
}

/* The worst error of a model with an identity in it that has this gradient. */
static double worst_with(void (*gradient)(struct tn_graph *, tn_tensor, const tn_tensor *,
                                          tn_tensor *))
{
    struct op_type identity = op_reshape; /* A view needs no kernel. */
    identity.build_gradient = gradient;
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 3));
    tn_tensor y = dense_layer(graph, "a", x, 3);
    struct attributes attributes = {.shape = tn_shape_of(graph, y)};
    y = graph_add(graph, &identity, &y, 1, &attributes);
    y = tn_exp(graph, dense_layer(graph, "b", y, 2));
    tn_loss(graph, tn_sum(graph, y, (uint32_t[]){1}, 1), 1);
    double worst = 0;
    assert_int_equal(tn_check_gradients(graph, 3, 5, 24, &worst, NULL), TN_OK);
    tn_graph_destroy(graph);
    return worst;
}

static void planted_errors_are_found(void **state)
{
    static const struct {
        void (*gradient)(struct tn_graph *, tn_tensor, const tn_tensor *, tn_tensor *);
        double at_least;
    } planted[] = {
        {twice, 0.1},          {none, 0.1},     {opposite, 0.1},
        {slightly_more, 1e-5}, {rotated, 0.01}, {through_exp, 0.01},
    };
    const size_t count = sizeof planted / sizeof planted[0];
    size_t found = 0;
    (void)state;
    assert_true(worst_with(same) < 1e-6);
    for (size_t i = 0; i < count; i++) {
        found += worst_with(planted[i].gradient) > planted[i].at_least;
    }
    print_message("%zu gradients planted, %zu found\n", count, found);
    assert_int_equal(found, count);
}

static void errors_of_the_graph_are_returned(void **state)
{
    (void)state;
    struct tn_error error = {.text = ""};
    struct tn_graph *graph = new_graph();
    double worst = 0;
    assert_int_equal(tn_check_gradients(graph, 3, 5, 24, &worst, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "no loss to train"));
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_pass),
        cmocka_unit_test(planted_errors_are_found),
        cmocka_unit_test(errors_of_the_graph_are_returned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
