/* Inference on two servers: the first layer of a network is on one, the second on the other. Start
 *
 *     tanist serve --listen 127.0.0.1:2222
 *     tanist serve --listen 127.0.0.1:2223
 *
 * and then `./session 127.0.0.1:2222,127.0.0.1:2223`. The results have the bits of this process. */
#include <stdio.h>
#include <string.h>
#include <tanist/tanist.h>

enum { EXAMPLES = 4, INPUTS = 8, HIDDEN = 16, CLASSES = 3 };

static void build(struct tn_graph *g)
{
    tn_tensor x = tn_placeholder(g, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, INPUTS));
    tn_device_begin(g, "/job:worker/task:0");
    tn_tensor hidden = tn_dense(g, "hidden", x, HIDDEN, TN_RELU);
    tn_device_end(g);
    tn_device_begin(g, "/job:worker/task:1");
    tn_tensor logits = tn_dense(g, "logits", hidden, CLASSES, TN_LINEAR);
    tn_device_end(g);
    tn_output(g, "hidden", hidden);
    tn_output(g, "probabilities", tn_softmax(g, logits));
}

static int failed(const struct tn_error *error)
{
    fprintf(stderr, "session: %s\n", error->text);
    return tanist_exit_code(error->status);
}

/* The same in this process, without servers. */
static enum tn_status compute_here(const struct tn_graph *g, const float *inputs, float *out,
                                   struct tn_error *error)
{
    struct tn_program *program = NULL;
    float values[INPUTS * HIDDEN + HIDDEN + HIDDEN * CLASSES + CLASSES];
    struct tn_program_options options = {
        .struct_size = sizeof options, .mode = TN_EVALUATE, .examples = EXAMPLES};
    enum tn_status status = tn_program_create(g, &options, &program, error);
    if (status != TN_OK) { return status; }
    struct tn_run run = {.struct_size = sizeof run, .values = values, .scale = 1};
    tn_program_initialize(program, 1, values);
    memcpy(tn_program_field(program, "inputs").data, inputs, sizeof(float[EXAMPLES][INPUTS]));
    status = tn_program_run(program, &run, error);
    if (status == TN_OK) {
        memcpy(out, tn_program_output(program, "probabilities").data,
               sizeof(float[EXAMPLES][CLASSES]));
    }
    tn_program_destroy(program);
    return status;
}

static void print(const float *probabilities)
{
    for (int i = 0; i < EXAMPLES; i++) {
        const float *row = probabilities + i * CLASSES;
        printf("example %d: %.4f %.4f %.4f\n", i, (double)row[0], (double)row[1], (double)row[2]);
    }
}

int main(int argc, char **argv)
{
    struct tn_error error;
    struct tn_graph *g = NULL;
    struct tn_session *session = NULL;
    float inputs[EXAMPLES * INPUTS], here[EXAMPLES * CLASSES];
    if (argc != 2) {
        fprintf(stderr, "session: give the servers: HOST:PORT,HOST:PORT\n");
        return TN_EXIT_ARGUMENTS;
    }
    for (int i = 0; i < EXAMPLES * INPUTS; i++) { inputs[i] = (float)(i * 7 % 11) / 11; }
    if (tn_graph_create(&g, &error) != TN_OK) { return failed(&error); }
    build(g);
    struct tn_session_options options = {.struct_size = sizeof options, .seed = 1};
    struct tn_feed feed = {"inputs", {TN_FLOAT32, TN_SHAPE(EXAMPLES, INPUTS), inputs}};
    struct tn_fetch fetch = {.name = "probabilities"};
    enum tn_status status = tn_session_open(&session, argv[1], g, &options, &error);
    if (status == TN_OK) { status = tn_session_run(session, &feed, 1, &fetch, 1, &error); }
    if (status == TN_OK) { status = compute_here(g, inputs, here, &error); }
    if (status == TN_OK) {
        print(fetch.value.data);
        const bool equal = memcmp(fetch.value.data, here, sizeof here) == 0;
        printf("%s\n", equal ? "the bits of one process" : "other bits than in one process");
        status = equal ? TN_OK : TN_EINTERNAL;
    } else {
        failed(&error);
    }
    tn_session_close(session);
    tn_graph_destroy(g);
    return tanist_exit_code(status);
}
