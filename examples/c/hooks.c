/* The regression of linear.c with hooks: it reports its progress, and ends when it is good
 * enough. */
#include <inttypes.h>
#include <stdio.h>
#include <tanist/tanist.h>

static void build(struct tn_graph *g, const struct tn_build *b, void *user)
{
    (void)user;
    tn_tensor x = tn_placeholder(g, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, b->inputs));
    tn_tensor y = tn_placeholder(g, "targets", TN_FLOAT32, TN_SHAPE(TN_BATCH, b->outputs));
    tn_tensor outputs = tn_dense(g, "line", x, b->outputs, TN_LINEAR);
    tn_loss(g, tn_squared_error(g, outputs, y), 1);
    tn_output(g, "outputs", outputs);
}

static void started(const struct tn_progress *progress, void *user)
{
    (void)user;
    fprintf(stderr, "hook: started at step %" PRIu64 "\n", progress->step);
}

static void evaluated(const struct tn_progress *progress, void *user)
{
    (void)user;
    fprintf(stderr, "hook: step %" PRIu64 " has accuracy %.3f\n", progress->step,
            progress->accuracy);
}

static void saved(const struct tn_progress *progress, uint64_t checkpoint, void *user)
{
    (void)user;
    fprintf(stderr, "hook: checkpoint %" PRIu64 " is of step %" PRIu64 "\n", checkpoint,
            progress->step);
}

static bool is_good_enough(const struct tn_progress *progress, void *user)
{
    (void)user;
    return progress->accuracy >= 0.9; /* False while it is not known. */
}

static void ended(const struct tn_progress *progress, enum tn_status status, void *user)
{
    (void)user;
    fprintf(stderr, "hook: ended at step %" PRIu64 ": %s\n", progress->step,
            tanist_strerror(status));
}

static const struct tn_hooks hooks = {
    .struct_size = sizeof hooks,
    .started = started,
    .evaluated = evaluated,
    .saved = saved,
    .should_stop = is_good_enough,
    .ended = ended,
};

TN_MODEL_WITH("hooks", build,
              "{\"model\": {\"inputs\": 8, \"outputs\": 1, \"loss\": \"squared_error\"},"
              " \"data\": {\"type\": \"synthetic\", \"examples\": 1024, \"test_examples\": 256},"
              " \"train\": {\"steps\": 100000000, \"batch\": 32, \"learning_rate\": 0.05},"
              " \"evaluate\": {\"every_steps\": 20},"
              " \"cluster\": {\"ps\": 1}}",
              &hooks)

int main(int argc, char **argv)
{
    return tn_main(argc, argv, &tanist_model);
}
