/* session/message.c: messages survive the way through frames; other frames are refused. */
#include "session/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct frame_header sent;

static void keep_header(void *ctx, conn_id conn, const struct frame_header *header,
                        struct buffer *body)
{
    (void)ctx, (void)conn;
    sent = *header;
    buffer_release(body);
}

/* Each field arrives, and the size of the body. */
static void messages_survive(void **state)
{
    (void)state;
    const struct transport_port port = {.send = keep_header};
    const struct message message = {
        .kind = MESSAGE_TENSOR, .session = 7, .run = 8, .plan = 9, .edge = 10};
    struct buffer_pool *pool = buffer_pool_create(0);
    struct buffer *body = buffer_acquire(pool, 12);
    struct message read;
    body->size = 12;
    message_send(&port, (conn_id){1}, &message, body);
    assert_true(message_read(&sent, &read));
    assert_int_equal(read.kind, MESSAGE_TENSOR);
    assert_int_equal(read.session, 7);
    assert_int_equal(read.run, 8);
    assert_int_equal(read.plan, 9);
    assert_int_equal(read.edge, 10);
    assert_int_equal(read.bytes, 12);
    buffer_pool_destroy(pool);
}

/* Other frames, unknown kinds and too large plans are not messages. */
static void other_frames_are_refused(void **state)
{
    (void)state;
    struct message read;
    struct frame_header header = {.type = FRAME_SESSION, .first = MESSAGE_RUN};
    assert_true(message_read(&header, &read));
    header.type = FRAME_PUSH;
    assert_false(message_read(&header, &read));
    header = (struct frame_header){.type = FRAME_SESSION};
    assert_false(message_read(&header, &read));
    header.first = MESSAGE_KINDS;
    assert_false(message_read(&header, &read));
    header = (struct frame_header){
        .type = FRAME_SESSION, .first = MESSAGE_RUN, .epoch = UINT64_C(1) << 32};
    assert_false(message_read(&header, &read));
}

static struct message_open three_servers(void)
{
    struct message_open open = {.self = 1, .count = 3, .floats = 77};
    for (uint32_t i = 0; i < open.count; i++) { memcpy(open.servers[i], "tcp://h1:1", 11); }
    return open;
}

/* No beginning of the body of OPEN is one. */
static void open_survives(void **state)
{
    (void)state;
    struct buffer_pool *pool = buffer_pool_create(0);
    const struct message_open open = three_servers();
    struct message_open read;
    struct buffer *body = message_encode_open(pool, &open);
    assert_int_equal(message_decode_open(body, &read, NULL), TN_OK);
    assert_int_equal(read.self, 1);
    assert_int_equal(read.count, 3);
    assert_int_equal(read.floats, 77);
    assert_string_equal(read.servers[2], "tcp://h1:1");
    const size_t size = body->size;
    for (body->size = 0; body->size < size; body->size++) {
        assert_int_equal(message_decode_open(body, &read, NULL), TN_EPROTO);
    }
    assert_int_equal(message_decode_open(NULL, &read, NULL), TN_EPROTO);
    buffer_release(body);
    buffer_pool_destroy(pool);
}

/* A server that is not among the servers, and another version. */
static void wrong_fields_are_refused(void **state)
{
    (void)state;
    struct error error = {.text = ""};
    struct buffer_pool *pool = buffer_pool_create(0);
    const struct message_open open = three_servers();
    struct message_open read;
    struct buffer *body = message_encode_open(pool, &open);
    ((uint8_t *)body->data)[4] = 3;
    assert_int_equal(message_decode_open(body, &read, &error), TN_EPROTO);
    assert_non_null(strstr(error.text, "own number"));
    ((uint8_t *)body->data)[21] = 'x'; /* The first address: xcp://h1:1. */
    assert_int_equal(message_decode_open(body, &read, &error), TN_EPROTO);
    assert_non_null(strstr(error.text, "does not begin with tcp://"));
    ((uint8_t *)body->data)[0] = 2;
    assert_int_equal(message_decode_open(body, &read, &error), TN_EPROTO);
    assert_non_null(strstr(error.text, "speaks version 2 of sessions"));
    buffer_release(body);
    buffer_pool_destroy(pool);
}

/* Errors arrive; other bytes become one, without control characters. */
static void errors_survive(void **state)
{
    (void)state;
    struct error error, read;
    struct buffer_pool *pool = buffer_pool_create(0);
    error_set(&error, TN_ENOMEM, "too\nlarge");
    struct buffer *body = message_encode_error(pool, &error);
    message_decode_error(body, &read);
    assert_int_equal(read.status, TN_ENOMEM);
    assert_string_equal(read.text, "too?large");
    ((uint8_t *)body->data)[0] = 0;
    message_decode_error(body, &read);
    assert_int_equal(read.status, TN_EPROTO);
    message_decode_error(NULL, &read);
    assert_int_equal(read.status, TN_EPROTO);
    buffer_release(body);
    buffer_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_survive), cmocka_unit_test(other_frames_are_refused),
        cmocka_unit_test(open_survives),    cmocka_unit_test(wrong_fields_are_refused),
        cmocka_unit_test(errors_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
