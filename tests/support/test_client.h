/*
 * tests/support/test_client.h: a ZooKeeper client for tests, over common/zk/zk.h, that keeps its
 * events until the test reads them. Every wait is bounded; a timeout fails the test with a message.
 */
#ifndef TESTS_SUPPORT_TEST_CLIENT_H
#define TESTS_SUPPORT_TEST_CLIENT_H

#include <pthread.h>

#include "common/zk/zk.h"

enum {
    TEST_CLIENT_OPS = 8192,
    TEST_CLIENT_DATA = 64,
    TEST_CLIENT_NAMES = 256,
    TEST_CLIENT_CHANGES = 64
};

/* A ZK_RESULT; long values are cut. */
struct zk_answer {
    unsigned times; /* How often it arrived: 1, unless the adapter is wrong. */
    enum zk_outcome outcome;
    enum zk_reason reason;
    char path[ZK_PATH_MAX + 16];
    int32_t failed_write;
    char data[TEST_CLIENT_DATA]; /* The first bytes, as a string. */
    size_t size;
    uint64_t checksum; /* Sum of all bytes. */
    struct zk_stat stat;
    char names[TEST_CLIENT_NAMES]; /* "a,b,c", sorted; cut if too long. */
    size_t child_count;
};

struct test_client {
    struct zk *zk;
    struct zk_port port;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t last_op;
    struct zk_answer *answers;      /* By op. */
    unsigned counts[ZK_RESULT + 1]; /* Events by type. */
    uint64_t session;               /* Id of the session, from the last ZK_CONNECTED. */
    char changes[TEST_CLIENT_CHANGES][ZK_PATH_MAX]; /* ZK_CHANGED, in order. */
    unsigned change_count;
};

/* Opens a session and waits for ZK_CONNECTED. `credentials` and `resume` may be NULL. */
void test_client_open(struct test_client *client, const char *connect, uint32_t session_timeout_ms,
                      uint32_t deadline_ms, const char *credentials,
                      const struct zk_session *resume);
void test_client_close(struct test_client *client);
void test_client_abandon(struct test_client *client);

/* Send a request and return its op, for test_client_wait(). */
uint64_t test_client_write(struct test_client *client, const struct zk_write *writes, size_t count);
uint64_t test_client_read(struct test_client *client, const char *path, bool watch);
uint64_t test_client_list(struct test_client *client, const char *path, bool watch);

/* Waits for the answer to `op`. */
struct zk_answer test_client_wait(struct test_client *client, uint64_t op);
/* Waits until `times` events of `type` have arrived since the session was opened. */
void test_client_wait_event(struct test_client *client, enum zk_event_type type, unsigned times);
unsigned test_client_count(struct test_client *client, enum zk_event_type type);
/* Waits for the n-th (from 0) ZK_CHANGED and checks its path. */
void test_client_expect_change(struct test_client *client, unsigned n, const char *path);

/* One request and its answer. */
struct zk_answer test_client_create(struct test_client *client, const char *path, const char *data,
                                    unsigned flags);
struct zk_answer test_client_set(struct test_client *client, const char *path, const char *data,
                                 int32_t version);
struct zk_answer test_client_delete(struct test_client *client, const char *path, int32_t version);
struct zk_answer test_client_get(struct test_client *client, const char *path);
struct zk_answer test_client_children(struct test_client *client, const char *path);

#define assert_ok(answer) assert_int_equal((answer).outcome, ZK_OK)
#define assert_refused(answer, why)                                                                \
    do {                                                                                           \
        struct zk_answer refused_ = (answer);                                                      \
        assert_int_equal(refused_.outcome, ZK_REFUSED);                                            \
        assert_int_equal(refused_.reason, (why));                                                  \
    } while (0)

#endif
