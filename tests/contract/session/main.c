/* A client of a session, for tests/contract/test_session.py.
 *
 *   session SERVERS [TIMEOUT_MS [linear]]
 *
 * The graph has a layer on each of two servers and a way back to the first; or it is the model
 * "linear" of jobs, cut in two. Each line of the standard input is a command, each answer one line:
 *
 *   run FETCH EXAMPLES [TIMES]  "ok DIGEST", the last run's, if all have the bits of this process
 *   print FETCH EXAMPLES        "ok" and the numbers
 *   restore DIR                 "ok"
 *   values                      "ok": other values of the variables
 *
 * An error is answered as "error STATUS TEXT". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "tanist/tanist.h"

enum { INPUTS = 16, WIDTH = 64, EXAMPLES_MAX = 1 << 14, LINE_MAX_BYTES = 1024 };

struct client {
    struct tn_graph *graph;
    struct tn_session *session;
    float *values, *inputs;
};

static void build(struct tn_graph *g)
{
    tn_tensor x = tn_placeholder(g, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, INPUTS));
    tn_device_begin(g, "/job:worker/task:0");
    tn_tensor first = tn_dense(g, "first", x, WIDTH, TN_RELU);
    tn_device_end(g);
    tn_device_begin(g, "/job:worker/task:1");
    tn_tensor second = tn_dense(g, "second", first, WIDTH, TN_TANH);
    tn_tensor lone = tn_dense(g, "lone", x, WIDTH, TN_GELU);
    tn_device_end(g);
    tn_device_begin(g, "/job:worker/task:0");
    tn_tensor third = tn_dense(g, "third", tn_add(g, first, second), 5, TN_LINEAR);
    tn_device_end(g);
    tn_output(g, "first", first);
    tn_output(g, "lone", lone);
    tn_output(g, "third", tn_softmax(g, third));
}

static void build_linear(struct tn_graph *g)
{
    tn_tensor x = tn_placeholder(g, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, INPUTS));
    tn_device_begin(g, "/job:worker/task:1");
    tn_tensor product =
        tn_matmul(g, x, tn_variable(g, "weights", TN_SHAPE(INPUTS, 1), NULL), false, false);
    tn_device_end(g);
    tn_device_begin(g, "/job:worker/task:0");
    tn_tensor sum = tn_add(g, product, tn_variable(g, "bias", TN_SHAPE(1), NULL));
    tn_device_end(g);
    tn_output(g, "outputs", sum);
}

static size_t bytes_of(const struct tn_view *view)
{
    size_t bytes = sizeof(float);
    for (uint32_t i = 0; i < view->shape.rank; i++) { bytes *= (size_t)view->shape.dims[i]; }
    return bytes;
}

static void answer_error(enum tn_status status, const char *text)
{
    printf("error %d %s\n", (int)status, text);
}

/* Whether `value` has the bits of a run in this process. */
static bool has_the_bits(const struct client *client, const char *fetch, uint32_t examples,
                         const struct tn_view *value)
{
    struct tn_program *program = NULL;
    const struct tn_program_options options = {
        .struct_size = sizeof options, .mode = TN_EVALUATE, .examples = examples};
    if (tn_program_create(client->graph, &options, &program, NULL) != TN_OK) { return false; }
    struct tn_run run = {.struct_size = sizeof run, .values = client->values, .scale = 1};
    struct tn_view field = tn_program_field(program, "inputs");
    memcpy(field.data, client->inputs, bytes_of(&field));
    bool equal = tn_program_run(program, &run, NULL) == TN_OK;
    const struct tn_view here = tn_program_output(program, fetch);
    equal = equal && bytes_of(&here) == bytes_of(value) &&
            memcmp(here.data, value->data, bytes_of(value)) == 0;
    tn_program_destroy(program);
    return equal;
}

static void run(struct client *client, const char *name, uint32_t examples, uint32_t times)
{
    struct tn_error error = {.text = ""};
    struct tn_feed feed = {"inputs",
                           {TN_FLOAT32, TN_SHAPE((int64_t)examples, INPUTS), client->inputs}};
    struct tn_fetch fetch = {.name = name};
    for (uint32_t i = 0; i < times; i++) {
        const enum tn_status status = tn_session_run(client->session, &feed, 1, &fetch, 1, &error);
        if (status != TN_OK) {
            answer_error(status, error.text);
            return;
        }
        const bool checked = i == 0 || i + 1 == times;
        if (checked && !has_the_bits(client, name, examples, &fetch.value)) {
            answer_error(TN_EINTERNAL, "other bits than in this process");
            return;
        }
    }
    printf("ok %016" PRIx64 "\n", XXH3_64bits(fetch.value.data, bytes_of(&fetch.value)));
}

static void print(struct client *client, const char *name, uint32_t examples)
{
    struct tn_error error = {.text = ""};
    struct tn_feed feed = {"inputs",
                           {TN_FLOAT32, TN_SHAPE((int64_t)examples, INPUTS), client->inputs}};
    struct tn_fetch fetch = {.name = name};
    const enum tn_status status = tn_session_run(client->session, &feed, 1, &fetch, 1, &error);
    if (status != TN_OK) {
        answer_error(status, error.text);
        return;
    }
    printf("ok");
    for (size_t i = 0; i < bytes_of(&fetch.value) / sizeof(float); i++) {
        printf(" %.9g", (double)((const float *)fetch.value.data)[i]);
    }
    printf("\n");
}

static void obey(struct client *client, char *line)
{
    char word[LINE_MAX_BYTES], name[LINE_MAX_BYTES];
    unsigned examples = 0, times = 1;
    struct tn_error error = {.text = ""};
    const int count = sscanf(line, "%1023s %1023s %u %u", word, name, &examples, &times);
    if (count >= 3 && strcmp(word, "run") == 0 && examples <= EXAMPLES_MAX) {
        run(client, name, examples, times);
    } else if (count == 3 && strcmp(word, "print") == 0 && examples <= EXAMPLES_MAX) {
        print(client, name, examples);
    } else if (count == 2 && strcmp(word, "restore") == 0) {
        const enum tn_status status = tn_session_restore(client->session, name, NULL, &error);
        if (status == TN_OK) {
            puts("ok");
        } else {
            answer_error(status, error.text);
        }
    } else if (count == 1 && strcmp(word, "values") == 0) {
        const uint64_t parameters = tn_session_parameters(client->session);
        for (uint64_t i = 0; i < parameters; i++) { client->values[i] *= -1.5F; }
        tn_session_set_values(client->session, client->values);
        puts("ok");
    } else {
        answer_error(TN_EINVAL, "unknown command");
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct tn_error error = {.text = ""};
    struct client client = {.graph = NULL};
    struct tn_program *program = NULL;
    char line[LINE_MAX_BYTES];
    const struct tn_program_options options = {
        .struct_size = sizeof options, .mode = TN_EVALUATE, .examples = 1};
    if (argc < 2 || tn_graph_create(&client.graph, NULL) != TN_OK) { return 1; }
    (argc > 3 ? build_linear : build)(client.graph);
    struct tn_session_options given = {.struct_size = sizeof given, .seed = 3};
    if (argc > 2) { given.timeout_ms = strtoull(argv[2], NULL, 10); }
    if (tn_program_create(client.graph, &options, &program, &error) != TN_OK ||
        tn_session_open(&client.session, argv[1], client.graph, &given, &error) != TN_OK) {
        answer_error(error.status, error.text);
        tn_program_destroy(program);
        tn_graph_destroy(client.graph);
        return 1;
    }
    client.values = calloc((size_t)tn_program_parameters(program) + 1, sizeof(float));
    client.inputs = calloc((size_t)EXAMPLES_MAX * INPUTS, sizeof(float));
    if (client.values == NULL || client.inputs == NULL) { return 1; }
    tn_program_initialize(program, given.seed, client.values);
    tn_program_destroy(program);
    for (int i = 0; i < EXAMPLES_MAX * INPUTS; i++) {
        client.inputs[i] = (float)(i * 37 % 101) / 101 - 0.5F;
    }
    while (fgets(line, sizeof line, stdin) != NULL) { obey(&client, line); }
    tn_session_close(client.session);
    tn_graph_destroy(client.graph);
    free(client.values);
    free(client.inputs);
    return 0;
}
