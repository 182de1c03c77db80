/* The inbox keeps order and copies; the session file keeps a session. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/node/inbox.h"
#include "common/zk/session_file.h"

/* Memory that the library lends for the call is copied. */
static void zk_event_is_copied(void **state)
{
    (void)state;
    struct inbox *inbox = inbox_create();
    char path[] = "/a", data[] = "abc", first[] = "x", second[] = "longer";
    const char *children[] = {first, second};
    inbox_put_zk(inbox, &(struct zk_event){.type = ZK_RESULT,
                                           .op = 7,
                                           .path = path,
                                           .data = data,
                                           .size = 3,
                                           .children = children,
                                           .child_count = 2});
    memset(path, '?', 2), memset(data, '?', 3), first[0] = second[0] = '?';
    struct inbox_item *item = inbox_take(inbox, 0);
    assert_true(item->type == NODE_ZK && item->zk.op == 7 && item->zk.child_count == 2);
    assert_string_equal(item->zk.path, "/a");
    assert_memory_equal(item->zk.data, "abc", 3);
    assert_string_equal(item->zk.children[0], "x");
    assert_string_equal(item->zk.children[1], "longer");
    inbox_release(item);
    assert_null(inbox_take(inbox, 0));
    inbox_destroy(inbox);
}

static int released;
static void release(void *event)
{
    released++;
    free(event);
}

/* Items of all kinds are taken first in, first out; the rest is freed. */
static void items_keep_their_order(void **state)
{
    (void)state;
    struct inbox *inbox = inbox_create();
    struct buffer_pool *pool = buffer_pool_create(0);
    const enum node_event_type order[] = {NODE_LEAVE, NODE_ROLE, NODE_TRANSPORT};
    for (int round = 0; round < 2; round++) {
        inbox_put_leave(inbox, true);
        inbox_put_role(inbox, malloc(1), release);
        assert_true(
            inbox_put_transport(inbox, &(struct transport_event){.type = TRANSPORT_FRAME,
                                                                 .body = buffer_acquire(pool, 1)}));
    }
    for (int i = 0; i < 3; i++) {
        struct inbox_item *item = inbox_take(inbox, UINT64_MAX);
        assert_int_equal(item->type, order[i]);
        buffer_release(item->transport.body);
        inbox_release(item);
    }
    assert_int_equal(released, 1);
    inbox_destroy(inbox);
    assert_int_equal(released, 2);
    buffer_pool_destroy(pool);
}

/* Too many frames are refused; the end of the connection is still delivered. */
static void frames_are_bounded(void **state)
{
    (void)state;
    struct inbox *inbox = inbox_create();
    const struct transport_event frame = {.type = TRANSPORT_FRAME};
    for (int i = 0; i < INBOX_FRAMES_MAX; i++) { assert_true(inbox_put_transport(inbox, &frame)); }
    assert_false(inbox_put_transport(inbox, &frame));
    assert_true(inbox_put_transport(inbox, &(struct transport_event){.type = TRANSPORT_CLOSED}));
    inbox_release(inbox_take(inbox, 0));
    assert_true(inbox_put_transport(inbox, &frame));
    inbox_destroy(inbox);
}

/* The owner is behind while large bodies wait for it. */
static void large_bodies_are_counted(void **state)
{
    (void)state;
    enum { BODIES = 2 };
    struct inbox *inbox = inbox_create();
    struct buffer_pool *pool = buffer_pool_create(0);
    for (int i = 0; i < BODIES; i++) {
        assert_false(inbox_is_behind(inbox));
        struct buffer *body = buffer_acquire(pool, INBOX_BEHIND_BYTES / BODIES);
        body->size = INBOX_BEHIND_BYTES / BODIES;
        const struct transport_event frame = {.type = TRANSPORT_FRAME, .body = body};
        assert_true(inbox_put_transport(inbox, &frame));
    }
    assert_true(inbox_is_behind(inbox));
    for (int i = 0; i < BODIES; i++) {
        struct inbox_item *item = inbox_take(inbox, 0);
        assert_false(inbox_is_behind(inbox));
        buffer_release(item->transport.body);
        inbox_release(item);
    }
    inbox_destroy(inbox);
    buffer_pool_destroy(pool);
}

/* A session is the same after a round trip through its file, which only the owner may read. */
static void session_file_comes_back(void **state)
{
    (void)state;
    char folder[] = "/tmp/tanist-session-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/session", folder);
    struct zk_session in = {.id = -81985529216486896, .password = "0123\xff\n89"}, out;
    assert_int_equal(session_file_read(path, &out, NULL), TN_ENOENT);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(session_file_write(path, &in, NULL), TN_OK);
        assert_int_equal(session_file_read(path, &out, NULL), TN_OK);
        assert_memory_equal(&in, &out, sizeof in);
    }
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(truncate(path, 20), 0);
    assert_int_equal(session_file_read(path, &out, NULL), TN_ECORRUPT);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zk_event_is_copied),      cmocka_unit_test(items_keep_their_order),
        cmocka_unit_test(frames_are_bounded),      cmocka_unit_test(large_bodies_are_counted),
        cmocka_unit_test(session_file_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
