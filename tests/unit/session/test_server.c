/* session/server.c: a server without a network: its answers, its refusals, and its memory. */
#include "session/server.h"

#include "common/base/minmax.h"
#include "tests/unit/session/plan_fixture.h"

enum { SENT_MAX = 64 };

#define SESSION UINT64_C(99)

struct sent {
    conn_id conn;
    struct message message;
    uint8_t body[256];
};

struct scene {
    struct buffer_pool *pool;
    struct server *server;
    struct sent sent[SENT_MAX];
    uint32_t count;
    char dialed[TRANSPORT_ADDRESS_MAX];
    conn_id closed;
    uint32_t chunk_bytes;
};

static const conn_id client = {1}, unknown_peer = {2}, peer = {50};

static conn_id dial(void *ctx, const char *address)
{
    struct scene *scene = ctx;
    memcpy(scene->dialed, address, strlen(address) + 1);
    return peer;
}

static void send(void *ctx, conn_id conn, const struct frame_header *header, struct buffer *body)
{
    struct scene *scene = ctx;
    assert_true(scene->count < SENT_MAX);
    struct sent *sent = &scene->sent[scene->count++];
    sent->conn = conn;
    assert_true(message_read(header, &sent->message));
    if (body != NULL) {
        assert_true(body->size <= sizeof sent->body);
        memcpy(sent->body, body->data, body->size);
    }
    buffer_release(body);
}

static void close_conn(void *ctx, conn_id conn)
{
    struct scene *scene = ctx;
    scene->closed = conn;
}

static void open_conn(struct scene *scene, conn_id conn)
{
    server_handle(scene->server, &(struct transport_event){
                                     .type = TRANSPORT_OPENED, .conn = conn, .accepted = true});
}

static struct scene *new_scene_of(uint64_t memory, uint32_t chunk_bytes)
{
    struct scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    scene->pool = buffer_pool_create(0);
    scene->chunk_bytes = chunk_bytes;
    const struct server_config config = {
        .transport = {.ctx = scene,
                      .dial = dial,
                      .send = send,
                      .close = close_conn,
                      .chunk_bytes = chunk_bytes},
        .received = scene->pool,
        .sent = scene->pool,
        .memory_max = memory,
    };
    scene->server = server_create(&config);
    assert_non_null(scene->server);
    open_conn(scene, client);
    open_conn(scene, unknown_peer);
    return scene;
}

static struct scene *new_scene(uint64_t memory)
{
    return new_scene_of(memory, WIRE_CHUNK_BYTES);
}

static void free_scene(struct scene *scene)
{
    server_destroy(scene->server);
    buffer_pool_destroy(scene->pool); /* Asserts that no buffer is left. */
    free(scene);
}

/* A chunk of a message of `message.bytes` arrives. Takes the body. */
static void arrive_chunk(struct scene *scene, conn_id conn, struct message message, uint64_t offset,
                         struct buffer *body)
{
    const struct frame_header header = {.type = FRAME_SESSION,
                                        .generation = SESSION,
                                        .sequence = message.run,
                                        .epoch = message.plan,
                                        .first = message.kind,
                                        .count = message.edge,
                                        .step = message.bytes,
                                        .offset = offset,
                                        .body_bytes = body != NULL ? (uint32_t)body->size : 0};
    server_handle(scene->server,
                  &(struct transport_event){
                      .type = TRANSPORT_FRAME, .conn = conn, .header = header, .body = body});
}

static struct buffer *body_of(struct scene *scene, const void *data, size_t size)
{
    struct buffer *body = buffer_acquire(scene->pool, size);
    assert_non_null(body);
    memcpy(body->data, data, size);
    body->size = size;
    return body;
}

/* A message arrives. Takes the body. */
static void arrive(struct scene *scene, conn_id conn, struct message message, struct buffer *body)
{
    message.bytes = body != NULL ? body->size : 0;
    if (message.bytes <= scene->chunk_bytes) {
        arrive_chunk(scene, conn, message, 0, body);
        return;
    }
    for (uint64_t at = 0; at < message.bytes; at += scene->chunk_bytes) {
        const uint64_t size = u64_min(message.bytes - at, scene->chunk_bytes);
        arrive_chunk(scene, conn, message, at,
                     body_of(scene, (const uint8_t *)body->data + at, (size_t)size));
    }
    buffer_release(body);
}

static void close_event(struct scene *scene, conn_id conn)
{
    server_handle(scene->server, &(struct transport_event){
                                     .type = TRANSPORT_CLOSED, .conn = conn, .status = TN_ECLOSED});
}

static void open_as(struct scene *scene, conn_id conn, uint32_t self)
{
    struct message_open open = {.self = self, .count = 2, .floats = self == 1 ? WIDTH : 0};
    memcpy(open.servers[0], "tcp://h1:1", 11);
    memcpy(open.servers[1], "tcp://h2:2", 11);
    arrive(scene, conn, (struct message){.kind = MESSAGE_OPEN},
           message_encode_open(scene->pool, &open));
}

static void plan_as(struct scene *scene, uint32_t self)
{
    size_t size;
    uint8_t *bytes = encoded_server_plan(self, &size);
    arrive(scene, client, (struct message){.kind = MESSAGE_PLAN, .plan = 1},
           body_of(scene, bytes, size));
    free(bytes);
}

static void tensor(struct scene *scene, conn_id conn, uint32_t edge, uint64_t run)
{
    const float x[EXAMPLES * WIDTH] = {0, 1, 2, 3, 4, 5};
    arrive(scene, conn,
           (struct message){.kind = MESSAGE_TENSOR, .plan = 1, .run = run, .edge = edge},
           body_of(scene, x, sizeof x));
}

static void begin_run(struct scene *scene, uint64_t run)
{
    arrive(scene, client, (struct message){.kind = MESSAGE_RUN, .plan = 1, .run = run}, NULL);
}

/* The next answer is of this kind. */
static const struct sent *answer(const struct scene *scene, uint32_t number, enum message_kind kind)
{
    if (number >= scene->count) { fail_msg("answer %u was not sent", number); }
    assert_int_equal(scene->sent[number].message.kind, kind);
    return &scene->sent[number];
}

/* The first server computes, sends to the second one, and is done; so in each run. */
static void a_run_goes_on_to_the_next_server(void **state)
{
    (void)state;
    struct scene *scene = new_scene(MEMORY);
    open_as(scene, client, 0);
    plan_as(scene, 0);
    answer(scene, 0, MESSAGE_READY);
    for (uint64_t run = 1; run <= 2; run++) {
        begin_run(scene, run);
        tensor(scene, client, EDGE_X, run);
    }
    assert_string_equal(scene->dialed, "tcp://h2:2");
    const struct sent *value = answer(scene, 1, MESSAGE_TENSOR);
    assert_int_equal(value->conn.v, peer.v);
    assert_int_equal(value->message.edge, EDGE_BETWEEN);
    float first;
    memcpy(&first, value->body, sizeof first);
    assert_true(first == 1.0F); /* exp(0) */
    assert_int_equal(answer(scene, 2, MESSAGE_DONE)->message.run, 1);
    assert_int_equal(answer(scene, 4, MESSAGE_DONE)->message.run, 2);
    free_scene(scene);
}

/* A tensor of another server may arrive before the run begins, and from any connection. */
static void tensors_may_come_first(void **state)
{
    (void)state;
    const float values[WIDTH] = {1, 2, 3};
    struct scene *scene = new_scene(MEMORY);
    open_as(scene, client, 1);
    arrive(scene, client, (struct message){.kind = MESSAGE_VALUES},
           body_of(scene, values, sizeof values));
    plan_as(scene, 1);
    tensor(scene, unknown_peer, EDGE_BETWEEN, 7);
    assert_int_equal(scene->count, 1);
    begin_run(scene, 7);
    const struct sent *result = answer(scene, 1, MESSAGE_TENSOR);
    assert_int_equal(result->conn.v, client.v);
    float second;
    memcpy(&second, result->body + sizeof second, sizeof second);
    assert_true(second == 2.0F);
    answer(scene, 2, MESSAGE_DONE);
    free_scene(scene);
}

/* A session ends with its connection: nothing is left, and connections to other servers close. */
static void a_lost_client_leaves_nothing(void **state)
{
    (void)state;
    struct scene *scene = new_scene(MEMORY);
    open_as(scene, client, 0);
    plan_as(scene, 0);
    begin_run(scene, 1);
    tensor(scene, client, EDGE_X, 1);
    assert_int_equal(server_facts(scene->server).sessions, 1);
    assert_true(server_facts(scene->server).bytes > 0);
    close_event(scene, client);
    const struct server_facts facts = server_facts(scene->server);
    assert_int_equal(facts.sessions, 0);
    assert_int_equal(facts.plans, 0);
    assert_int_equal(facts.bytes, 0);
    assert_int_equal(scene->closed.v, peer.v);
    free_scene(scene);
}

/* The client hears which other server was lost. */
static void a_lost_server_is_reported(void **state)
{
    (void)state;
    struct error error;
    struct scene *scene = new_scene(MEMORY);
    open_as(scene, client, 0);
    plan_as(scene, 0);
    begin_run(scene, 1);
    tensor(scene, client, EDGE_X, 1);
    close_event(scene, peer);
    const struct sent *failed = answer(scene, 3, MESSAGE_FAILED);
    assert_int_equal(failed->message.run, 1);
    struct buffer *body = body_of(scene, failed->body, (size_t)failed->message.bytes);
    message_decode_error(body, &error);
    buffer_release(body);
    assert_non_null(strstr(error.text, "server h2:2 (/job:worker/task:1) failed"));
    free_scene(scene);
}

/* Only the connection that opened a session may give it orders. */
static void other_connections_give_no_orders(void **state)
{
    (void)state;
    struct scene *scene = new_scene(MEMORY);
    open_as(scene, client, 0);
    plan_as(scene, 0);
    arrive(scene, unknown_peer, (struct message){.kind = MESSAGE_DROP, .plan = 1}, NULL);
    arrive(scene, unknown_peer, (struct message){.kind = MESSAGE_RUN, .plan = 1, .run = 1}, NULL);
    assert_int_equal(scene->count, 1);
    assert_int_equal(server_facts(scene->server).plans, 1);
    free_scene(scene);
}

/* Messages that are out of place or of a wrong size close their connection. */
static void wrong_messages_close_the_connection(void **state)
{
    (void)state;
    const struct message wrong[] = {
        {.kind = MESSAGE_READY},
        {.kind = MESSAGE_VALUES},
        {.kind = MESSAGE_RUN, .plan = 1, .run = 1},
        {.kind = MESSAGE_TENSOR, .plan = 1, .run = 1, .edge = EDGE_X},
        {.kind = MESSAGE_TENSOR, .plan = 1, .run = 1, .edge = EDGE_BETWEEN},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct scene *scene = new_scene(MEMORY);
        open_as(scene, client, 0);
        plan_as(scene, 0);
        arrive(scene, client, wrong[i], body_of(scene, "12345678", 8));
        assert_int_equal(scene->closed.v, client.v);
        free_scene(scene);
    }
}

/* Orders that fit no plan or run are answered with an error. */
static void wrong_orders_fail(void **state)
{
    (void)state;
    struct scene *scene = new_scene(MEMORY);
    open_as(scene, client, 1);
    arrive(scene, client, (struct message){.kind = MESSAGE_PLAN, .plan = 1},
           body_of(scene, "garbage", 7));
    answer(scene, 0, MESSAGE_FAILED);
    begin_run(scene, 1);
    answer(scene, 1, MESSAGE_FAILED);
    plan_as(scene, 1);
    answer(scene, 2, MESSAGE_READY);
    begin_run(scene, 2); /* Its values are missing. */
    answer(scene, 3, MESSAGE_FAILED);
    open_as(scene, unknown_peer, 0);
    answer(scene, 4, MESSAGE_FAILED); /* One server, twice in the session. */
    free_scene(scene);
}

/* The session that has the number stays as it is. */
static void wrong_open_frees_no_session(void **state)
{
    (void)state;
    struct scene *scene = new_scene(MEMORY);
    open_as(scene, client, 0);
    plan_as(scene, 0);
    arrive(scene, unknown_peer, (struct message){.kind = MESSAGE_OPEN}, body_of(scene, "no", 2));
    answer(scene, 1, MESSAGE_FAILED);
    open_as(scene, unknown_peer, 1);
    answer(scene, 2, MESSAGE_FAILED);
    assert_int_equal(server_facts(scene->server).plans, 1);
    free_scene(scene);
}

/* A plan that does not fit into the memory is refused; one that is dropped frees its own. */
static void memory_is_limited(void **state)
{
    (void)state;
    struct scene *scene = new_scene(MEMORY);
    struct message_open open = {.self = 0, .count = 2, .floats = MEMORY / sizeof(float)};
    memcpy(open.servers[0], "tcp://h1:1", 11);
    memcpy(open.servers[1], "tcp://h2:2", 11);
    arrive(scene, client, (struct message){.kind = MESSAGE_OPEN},
           message_encode_open(scene->pool, &open));
    plan_as(scene, 0);
    answer(scene, 0, MESSAGE_FAILED);
    assert_int_equal(server_facts(scene->server).bytes, MEMORY);
    open.floats++;
    arrive(scene, client, (struct message){.kind = MESSAGE_OPEN},
           message_encode_open(scene->pool, &open));
    answer(scene, 1, MESSAGE_FAILED);
    free_scene(scene);
    scene = new_scene(MEMORY);
    open_as(scene, client, 0);
    plan_as(scene, 0);
    arrive(scene, client, (struct message){.kind = MESSAGE_DROP, .plan = 1}, NULL);
    assert_int_equal(server_facts(scene->server).bytes, 0);
    for (uint32_t plan = 2; plan < 2 + SESSION_PLANS_MAX + 1; plan++) {
        size_t size;
        uint8_t *bytes = encoded_server_plan(0, &size);
        arrive(scene, client, (struct message){.kind = MESSAGE_PLAN, .plan = plan},
               body_of(scene, bytes, size));
        free(bytes);
    }
    answer(scene, SESSION_PLANS_MAX, MESSAGE_READY);
    answer(scene, SESSION_PLANS_MAX + 1, MESSAGE_FAILED);
    free_scene(scene);
}

/* A plan that is larger than all memory is refused once, and the connection is as it was. */
static void a_plan_beyond_the_memory_is_refused(void **state)
{
    (void)state;
    enum { CHUNK = 1024 };
    const uint8_t plan[3 * CHUNK] = {0};
    struct error error;
    struct scene *scene = new_scene_of(CHUNK, CHUNK);
    open_as(scene, client, 0);
    arrive(scene, client, (struct message){.kind = MESSAGE_PLAN, .plan = 1},
           body_of(scene, plan, sizeof plan));
    assert_int_equal(scene->count, 1);
    const struct sent *failed = answer(scene, 0, MESSAGE_FAILED);
    assert_int_equal(failed->message.plan, 1);
    struct buffer *body = body_of(scene, failed->body, (size_t)failed->message.bytes);
    message_decode_error(body, &error);
    buffer_release(body);
    assert_int_equal(error.status, TN_ENOMEM);
    assert_non_null(strstr(error.text, "of 3072 bytes"));
    assert_non_null(strstr(error.text, "limit is 1024 bytes: raise its --memory"));
    begin_run(scene, 1);
    answer(scene, 1, MESSAGE_FAILED);
    assert_int_equal(scene->closed.v, 0);
    free_scene(scene);
}

/* The rest of a tensor whose run was given up does not end the connection. */
static void a_tensor_that_is_not_wanted_any_more_is_ignored(void **state)
{
    (void)state;
    enum { CHUNK = 16 };
    const float x[EXAMPLES * WIDTH] = {0};
    const uint8_t *bytes = (const uint8_t *)x;
    struct scene *scene = new_scene_of(MEMORY, CHUNK);
    struct message message = {
        .kind = MESSAGE_TENSOR, .plan = 1, .run = 1, .edge = EDGE_X, .bytes = sizeof x};
    open_as(scene, client, 0);
    plan_as(scene, 0);
    answer(scene, 0, MESSAGE_READY);
    begin_run(scene, 1);
    arrive_chunk(scene, unknown_peer, message, 0, body_of(scene, bytes, CHUNK));
    begin_run(scene, 2);
    arrive_chunk(scene, unknown_peer, message, CHUNK,
                 body_of(scene, bytes + CHUNK, sizeof x - CHUNK));
    message.run = 2;
    arrive(scene, unknown_peer, message, body_of(scene, x, sizeof x));
    assert_int_equal(scene->closed.v, 0);
    answer(scene, 1, MESSAGE_TENSOR);
    assert_int_equal(answer(scene, 2, MESSAGE_DONE)->message.run, 2);
    free_scene(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_goes_on_to_the_next_server),
        cmocka_unit_test(tensors_may_come_first),
        cmocka_unit_test(a_lost_client_leaves_nothing),
        cmocka_unit_test(a_lost_server_is_reported),
        cmocka_unit_test(other_connections_give_no_orders),
        cmocka_unit_test(wrong_messages_close_the_connection),
        cmocka_unit_test(wrong_orders_fail),
        cmocka_unit_test(wrong_open_frees_no_session),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(a_plan_beyond_the_memory_is_refused),
        cmocka_unit_test(a_tensor_that_is_not_wanted_any_more_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
