#include "tests/support/test_client.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "tests/support/patience.h"

enum { TIMEOUT_MS = 30000 };

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void keep_names(struct zk_answer *answer, const struct zk_event *event)
{
    answer->child_count = event->child_count;
    if (event->child_count == 0) { return; }
    const char **names = malloc(event->child_count * sizeof *names);
    if (names == NULL) { abort(); }
    memcpy(names, event->children, event->child_count * sizeof *names);
    qsort(names, event->child_count, sizeof *names, compare_names);
    size_t used = 0;
    for (size_t i = 0; i < event->child_count && used < sizeof answer->names - 1; i++) {
        int length = snprintf(answer->names + used, sizeof answer->names - used, "%s%s",
                              i > 0 ? "," : "", names[i]);
        used += length > 0 ? (size_t)length : 0;
    }
    free(names);
}

static void keep_answer(struct test_client *client, const struct zk_event *event)
{
    if (event->op == 0 || event->op > client->last_op) { abort(); /* No request had this op. */ }
    struct zk_answer *answer = &client->answers[event->op];
    answer->times++;
    answer->outcome = event->outcome;
    answer->reason = event->reason;
    answer->failed_write = event->failed_write;
    answer->stat = event->stat;
    answer->size = event->size;
    snprintf(answer->path, sizeof answer->path, "%s", event->path != NULL ? event->path : "");
    size_t kept = event->size < sizeof answer->data ? event->size : sizeof answer->data - 1;
    if (kept > 0) { memcpy(answer->data, event->data, kept); }
    const unsigned char *bytes = event->data;
    for (size_t i = 0; i < event->size; i++) { answer->checksum += bytes[i]; }
    keep_names(answer, event);
}

static void on_event(void *ctx, const struct zk_event *event)
{
    struct test_client *client = ctx;
    pthread_mutex_lock(&client->lock);
    client->counts[event->type]++;
    if (event->type == ZK_CONNECTED) { client->session = event->session; }
    if (event->type == ZK_CHANGED && client->change_count < TEST_CLIENT_CHANGES) {
        snprintf(client->changes[client->change_count++], ZK_PATH_MAX, "%s", event->path);
    }
    if (event->type == ZK_RESULT) { keep_answer(client, event); }
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->lock);
}

void test_client_open(struct test_client *client, const char *connect, uint32_t session_timeout_ms,
                      uint32_t deadline_ms, const char *credentials,
                      const struct zk_session *resume)
{
    memset(client, 0, sizeof *client);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&client->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&client->lock, NULL);
    client->answers = calloc(TEST_CLIENT_OPS, sizeof *client->answers);
    assert_non_null(client->answers);
    struct zk_config config = {.connect = connect,
                               .session_timeout_ms = session_timeout_ms,
                               .deadline_ms = deadline_ms,
                               .credentials = credentials,
                               .resume = resume,
                               .sink = on_event,
                               .sink_ctx = client};
    struct error error = {.text = ""};
    if (zk_open(&config, &client->zk, &error) != TN_OK) { fail_msg("%s", error.text); }
    client->port = zk_port_of(client->zk);
    test_client_wait_event(client, ZK_CONNECTED, 1);
}

static void free_client(struct test_client *client)
{
    pthread_cond_destroy(&client->changed);
    pthread_mutex_destroy(&client->lock);
    free(client->answers);
    client->answers = NULL;
}

void test_client_close(struct test_client *client)
{
    zk_close(client->zk);
    free_client(client);
}

void test_client_abandon(struct test_client *client)
{
    zk_abandon(client->zk);
    free_client(client);
}

/* ----------------------------------------------------------------- requests */

static uint64_t next_op(struct test_client *client)
{
    pthread_mutex_lock(&client->lock);
    uint64_t op = ++client->last_op;
    pthread_mutex_unlock(&client->lock);
    assert_in_range(op, 1, TEST_CLIENT_OPS - 1);
    return op;
}

uint64_t test_client_write(struct test_client *client, const struct zk_write *writes, size_t count)
{
    uint64_t op = next_op(client);
    client->port.write(client->port.ctx, op, writes, count);
    return op;
}

uint64_t test_client_read(struct test_client *client, const char *path, bool watch)
{
    uint64_t op = next_op(client);
    client->port.read(client->port.ctx, op, path, watch);
    return op;
}

uint64_t test_client_list(struct test_client *client, const char *path, bool watch)
{
    uint64_t op = next_op(client);
    client->port.list(client->port.ctx, op, path, watch);
    return op;
}

/* ------------------------------------------------------------------ waiting */

/* Waits, with the lock held, for the next event; false: timeout. */
static bool wait_change(struct test_client *client, uint64_t until_ms)
{
    struct timespec until = {.tv_sec = (time_t)(until_ms / 1000),
                             .tv_nsec = (long)(until_ms % 1000) * 1000000};
    return pthread_cond_timedwait(&client->changed, &client->lock, &until) == 0;
}

struct zk_answer test_client_wait(struct test_client *client, uint64_t op)
{
    uint64_t until_ms = clock_monotonic_ms() + patience_ms(TIMEOUT_MS);
    bool in_time = true;
    pthread_mutex_lock(&client->lock);
    while (client->answers[op].times == 0 && in_time) { in_time = wait_change(client, until_ms); }
    struct zk_answer answer = client->answers[op];
    pthread_mutex_unlock(&client->lock);
    if (answer.times == 0) { fail_msg("no answer to op %" PRIu64, op); }
    return answer;
}

unsigned test_client_count(struct test_client *client, enum zk_event_type type)
{
    pthread_mutex_lock(&client->lock);
    unsigned count = client->counts[type];
    pthread_mutex_unlock(&client->lock);
    return count;
}

void test_client_wait_event(struct test_client *client, enum zk_event_type type, unsigned times)
{
    uint64_t until_ms = clock_monotonic_ms() + patience_ms(TIMEOUT_MS);
    bool in_time = true;
    pthread_mutex_lock(&client->lock);
    while (client->counts[type] < times && in_time) { in_time = wait_change(client, until_ms); }
    unsigned count = client->counts[type];
    pthread_mutex_unlock(&client->lock);
    if (count < times) {
        fail_msg("%u events of type %d arrived, not %u", count, (int)type, times);
    }
}

void test_client_expect_change(struct test_client *client, unsigned n, const char *path)
{
    test_client_wait_event(client, ZK_CHANGED, n + 1);
    pthread_mutex_lock(&client->lock);
    char changed[ZK_PATH_MAX];
    memcpy(changed, client->changes[n], sizeof changed);
    pthread_mutex_unlock(&client->lock);
    assert_string_equal(changed, path);
}

/* ------------------------------------------------ one request and its answer */

struct zk_answer test_client_create(struct test_client *client, const char *path, const char *data,
                                    unsigned flags)
{
    struct zk_write write = {
        .kind = ZK_CREATE, .path = path, .data = data, .size = strlen(data), .flags = flags};
    return test_client_wait(client, test_client_write(client, &write, 1));
}

struct zk_answer test_client_set(struct test_client *client, const char *path, const char *data,
                                 int32_t version)
{
    struct zk_write write = {
        .kind = ZK_SET, .path = path, .data = data, .size = strlen(data), .version = version};
    return test_client_wait(client, test_client_write(client, &write, 1));
}

struct zk_answer test_client_delete(struct test_client *client, const char *path, int32_t version)
{
    struct zk_write write = {.kind = ZK_DELETE, .path = path, .version = version};
    return test_client_wait(client, test_client_write(client, &write, 1));
}

struct zk_answer test_client_get(struct test_client *client, const char *path)
{
    return test_client_wait(client, test_client_read(client, path, false));
}

struct zk_answer test_client_children(struct test_client *client, const char *path)
{
    return test_client_wait(client, test_client_list(client, path, false));
}
