/*
 * tests/support/zk_client.h: a ZooKeeper client of tests, over common/zk/zk.h, that keeps its
 * events until a test asks for them. Every wait is bounded and fails the test, with words.
 */
#ifndef TESTS_SUPPORT_ZK_CLIENT_H
#define TESTS_SUPPORT_ZK_CLIENT_H

#include <pthread.h>

#include "common/zk/zk.h"

enum { ZK_CLIENT_OPS = 8192, ZK_CLIENT_DATA = 64, ZK_CLIENT_NAMES = 256, ZK_CLIENT_CHANGES = 64 };

/* A ZK_RESULT, with what is short of it. */
struct zk_answer {
    unsigned times; /* How often it came. */
    enum zk_outcome outcome;
    enum zk_reason reason;
    char path[ZK_PATH_MAX + 16];
    int32_t failed_write;
    char data[ZK_CLIENT_DATA]; /* Its start, as a string. */
    size_t size;
    uint64_t checksum; /* Sum of all bytes. */
    struct zk_stat stat;
    char names[ZK_CLIENT_NAMES]; /* "a,b,c", sorted; cut if too long. */
    size_t child_count;
};

struct zk_client {
    struct zk *zk;
    struct zk_port port;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t last_op;
    struct zk_answer *answers;                    /* By op. */
    unsigned counts[ZK_RESULT + 1];               /* Events by type. */
    uint64_t session;                             /* Of the last ZK_CONNECTED. */
    char changes[ZK_CLIENT_CHANGES][ZK_PATH_MAX]; /* ZK_CHANGED, in order. */
    unsigned change_count;
};

/* Open and wait for ZK_CONNECTED. `credentials` and `resume` may be NULL. */
void zk_client_open(struct zk_client *client, const char *connect, uint32_t session_timeout_ms,
                    uint32_t deadline_ms, const char *credentials, const struct zk_session *resume);
void zk_client_close(struct zk_client *client);
void zk_client_abandon(struct zk_client *client);

/* Ask; the op to wait for. */
uint64_t zk_client_write(struct zk_client *client, const struct zk_write *writes, size_t count);
uint64_t zk_client_read(struct zk_client *client, const char *path, bool watch);
uint64_t zk_client_list(struct zk_client *client, const char *path, bool watch);

/* Wait for the answer. */
struct zk_answer zk_client_wait(struct zk_client *client, uint64_t op);
/* Wait until events of `type` have come `times` times since the opening. */
void zk_client_wait_event(struct zk_client *client, enum zk_event_type type, unsigned times);
unsigned zk_client_count(struct zk_client *client, enum zk_event_type type);
/* Wait for the n-th (from 0) ZK_CHANGED and check its path. */
void zk_client_expect_change(struct zk_client *client, unsigned n, const char *path);

/* One call, one answer. */
struct zk_answer zk_client_create(struct zk_client *client, const char *path, const char *data,
                                  unsigned flags);
struct zk_answer zk_client_set(struct zk_client *client, const char *path, const char *data,
                               int32_t version);
struct zk_answer zk_client_delete(struct zk_client *client, const char *path, int32_t version);
struct zk_answer zk_client_get(struct zk_client *client, const char *path);
struct zk_answer zk_client_children(struct zk_client *client, const char *path);

#define assert_ok(answer) assert_int_equal((answer).outcome, ZK_OK)
#define assert_refused(answer, why)                                                                \
    do {                                                                                           \
        struct zk_answer refused_ = (answer);                                                      \
        assert_int_equal(refused_.outcome, ZK_REFUSED);                                            \
        assert_int_equal(refused_.reason, (why));                                                  \
    } while (0)

#endif
