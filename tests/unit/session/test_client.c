/* session/client_link.c: a client whose server sends what it should not. */
#include "session/client.h"

#include "common/base/minmax.h"
#include "tanist/session.h"
#include "tests/unit/session/plan_fixture.h"

enum { CHUNK = 16, RESULT_BYTES = EXAMPLES * WIDTH * sizeof(float) };

static const conn_id server = {7};

struct scene {
    struct tn_session *session;
    uint32_t result; /* The edge of the result. */
    conn_id closed;
    void (*on_run)(struct scene *scene, const struct message *run);
};

static void put(struct scene *scene, struct message message, uint64_t offset, const void *data,
                size_t size)
{
    struct buffer *body = size > 0 ? buffer_acquire(scene->session->pool, size) : NULL;
    if (body != NULL) {
        memcpy(body->data, data, size);
        body->size = size;
    }
    const struct transport_event event = {.type = TRANSPORT_FRAME,
                                          .conn = server,
                                          .body = body,
                                          .header = {.type = FRAME_SESSION,
                                                     .generation = scene->session->id,
                                                     .sequence = message.run,
                                                     .epoch = message.plan,
                                                     .first = message.kind,
                                                     .count = message.edge,
                                                     .step = message.bytes,
                                                     .offset = offset,
                                                     .body_bytes = (uint32_t)size}};
    assert_true(mailbox_put(scene->session->mailbox, &event));
}

/* The server is ready for each plan; what it does in a run is the test's. */
static void send(void *ctx, conn_id conn, const struct frame_header *header, struct buffer *body)
{
    struct scene *scene = ctx;
    struct message message;
    buffer_release(body);
    assert_int_equal(conn.v, server.v);
    assert_true(message_read(header, &message));
    if (message.kind == MESSAGE_PLAN) {
        put(scene, (struct message){.kind = MESSAGE_READY, .plan = message.plan}, 0, NULL, 0);
    }
    if (message.kind == MESSAGE_RUN) { scene->on_run(scene, &message); }
}

static conn_id dial(void *ctx, const char *address)
{
    (void)ctx, (void)address;
    return server;
}

static void close_conn(void *ctx, conn_id conn)
{
    struct scene *scene = ctx;
    scene->closed = conn;
}

static void open_scene(struct scene *scene,
                       void (*on_run)(struct scene *scene, const struct message *run))
{
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, WIDTH));
    tn_output(graph, "y", tn_exp(graph, x));
    *scene = (struct scene){.on_run = on_run, .result = EDGE_BETWEEN};
    assert_int_equal(tn_session_open(&scene->session, "h1:1", graph, NULL, NULL), TN_OK);
    tn_graph_destroy(graph);
    scene->session->port = (struct transport_port){
        .ctx = scene, .dial = dial, .send = send, .close = close_conn, .chunk_bytes = CHUNK};
}

/* `count` feeds, which are all the same. */
static enum tn_status run_with(struct scene *scene, uint32_t count, struct tn_fetch *fetch,
                               struct tn_error *error)
{
    float x[EXAMPLES * WIDTH] = {0};
    const struct tn_feed feed = {
        .field = "x",
        .values = {.type = TN_FLOAT32, .shape = TN_SHAPE(EXAMPLES, WIDTH), .data = x}};
    const struct tn_feed feeds[] = {feed, feed};
    assert_true(count <= sizeof feeds / sizeof feeds[0]);
    *fetch = (struct tn_fetch){.name = "y"};
    return tn_session_run(scene->session, feeds, count, fetch, 1, error);
}

static enum tn_status run(struct scene *scene, struct tn_fetch *fetch, struct tn_error *error)
{
    return run_with(scene, 1, fetch, error);
}

static void is_refused(void (*on_run)(struct scene *scene, const struct message *run))
{
    struct scene scene;
    struct tn_fetch fetch;
    struct tn_error error = {.text = ""};
    open_scene(&scene, on_run);
    assert_int_equal(run(&scene, &fetch, &error), TN_EPROTO);
    assert_non_null(strstr(error.text, "server h1:1 (/job:worker/task:0) is not a `tanist serve`"));
    assert_int_equal(scene.closed.v, server.v);
    tn_session_close(scene.session);
}

static void send_no_edge(struct scene *scene, const struct message *begun)
{
    put(scene,
        (struct message){
            .kind = MESSAGE_TENSOR, .run = begun->run, .plan = begun->plan, .edge = 1000000},
        0, NULL, 0);
}

static void send_a_field(struct scene *scene, const struct message *begun)
{
    put(scene,
        (struct message){
            .kind = MESSAGE_TENSOR, .run = begun->run, .plan = begun->plan, .edge = EDGE_X},
        0, NULL, 0);
}

static void send_done(struct scene *scene, const struct message *begun)
{
    put(scene, (struct message){.kind = MESSAGE_DONE, .run = begun->run, .plan = begun->plan}, 0,
        NULL, 0);
}

/* Tensors that are not results, and an end without results. */
static void wrong_answers_close_the_connection(void **state)
{
    (void)state;
    is_refused(send_no_edge);
    is_refused(send_a_field);
    is_refused(send_done);
}

/* The chunk of the result at `offset`, of run `run`. */
static void send_chunk(struct scene *scene, const struct message *begun, uint64_t number,
                       uint64_t offset)
{
    const float y[EXAMPLES * WIDTH] = {1, 2, 3, 4, 5, 6};
    put(scene,
        (struct message){.kind = MESSAGE_TENSOR,
                         .run = number,
                         .plan = begun->plan,
                         .edge = scene->result,
                         .bytes = RESULT_BYTES},
        offset, (const uint8_t *)y + offset, size_min(sizeof y - (size_t)offset, CHUNK));
}

/* The first run ends in the middle of its result; the other half arrives in the second one. */
static void stop_in_the_middle(struct scene *scene, const struct message *begun)
{
    if (begun->run == 1) {
        send_chunk(scene, begun, 1, 0);
        return;
    }
    send_chunk(scene, begun, 1, CHUNK);
    send_chunk(scene, begun, 2, 0);
    send_chunk(scene, begun, 2, CHUNK);
    send_done(scene, begun);
}

/* The rest of a result whose run is over does not disturb the next run. */
static void a_late_result_is_ignored(void **state)
{
    (void)state;
    struct scene scene;
    struct tn_fetch fetch;
    struct tn_error error = {.text = ""};
    open_scene(&scene, stop_in_the_middle);
    scene.session->timeout_ms = 1; /* Messages that have arrived are handled nevertheless. */
    assert_int_equal(run(&scene, &fetch, &error), TN_ETIMEDOUT);
    assert_int_equal(run(&scene, &fetch, &error), TN_OK);
    assert_int_equal(scene.closed.v, 0);
    assert_true(((const float *)fetch.value.data)[5] == 6.0F);
    tn_session_close(scene.session);
}

/* The client does not choose between two values for one field. */
static void a_field_that_is_fed_twice_is_refused(void **state)
{
    (void)state;
    struct scene scene;
    struct tn_fetch fetch;
    struct tn_error error = {.text = ""};
    open_scene(&scene, send_done);
    assert_int_equal(run_with(&scene, 2, &fetch, &error), TN_EINVAL);
    assert_string_equal(error.text, "field 'x' is fed twice: feed it once");
    tn_session_close(scene.session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_answers_close_the_connection),
        cmocka_unit_test(a_late_result_is_ignored),
        cmocka_unit_test(a_field_that_is_fed_twice_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
