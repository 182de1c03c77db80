/*
 * tests/contract/zk_trial.h: one run of a script by three clients, of the simulator's ZooKeeper
 * under virtual time or of a real ensemble. The events they receive are kept as lines of text that
 * can be compared: a session is named by its client's number, a transaction by its rank, and times
 * are left out.
 */
#ifndef TESTS_CONTRACT_ZK_TRIAL_H
#define TESTS_CONTRACT_ZK_TRIAL_H

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "tests/contract/cut_proxy.h"
#include "tests/sim/zk_model.h"
#include "tests/support/ensemble.h"
#include "tests/support/patience.h"

enum {
    TRIAL_USERS = 3,
    TRIAL_LINES_MAX = 1024,
    TRIAL_TEXT_MAX = 256,
    TRIAL_SESSION_MS = 30000,
    TRIAL_DEADLINE_MS = 20000,
    TRIAL_PATIENCE_MS = 60000,
};

struct trial_line {
    size_t step;
    int user; /* -1: the title of the step. */
    char text[TRIAL_TEXT_MAX];
    bool has_zxids;
    uint64_t zxids[2]; /* Created, modified. */
};

struct trial;

struct trial_user {
    struct trial *trial;
    int index;
    struct zk *zk;            /* Real, or */
    struct zk_client *client; /* modelled. */
    struct zk_port port;
    uint64_t session;
    uint64_t quiet_op, answered_op;
    bool reads; /* Its last request was a read. */
    bool connected;
    bool expired;
};

struct trial {
    const char *connect;    /* NULL: the model. */
    struct cut_proxy proxy; /* Between user 1 and the real servers. */
    bool any_order;         /* Changes within one step may arrive in any order. */
    bool cutting;           /* The script breaks connections now. */
    bool disturbed;         /* A connection broke by itself: the machine was too slow. */
    char root[32];          /* Parent of all znodes of this run; real ensemble only. */
    struct world world;
    struct zk_model *model;
    struct trial_user users[TRIAL_USERS];
    pthread_mutex_t lock; /* Guards what events change. */
    pthread_cond_t changed;
    uint64_t last_op;
    struct trial_line lines[TRIAL_LINES_MAX];
    size_t line_count, step;
};

/* ---------------------------------------------------------------- recording */

static struct trial_line *trial_add(struct trial *trial, int user, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static struct trial_line *trial_add(struct trial *trial, int user, const char *format, ...)
{
    pthread_mutex_lock(&trial->lock);
    if (trial->line_count == TRIAL_LINES_MAX) { abort(); }
    if (user < 0) { trial->step++; }
    struct trial_line *line = &trial->lines[trial->line_count++];
    line->step = trial->step;
    line->user = user;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line->text, sizeof line->text, format, arguments);
    va_end(arguments);
    pthread_mutex_unlock(&trial->lock);
    return line;
}

static void trial_append(struct trial_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void trial_append(struct trial_line *line, const char *format, ...)
{
    size_t used = strlen(line->text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line->text + used, sizeof line->text - used, format, arguments);
    va_end(arguments);
}

static const char *trial_owner(const struct trial *trial, uint64_t session)
{
    static const char *const names[TRIAL_USERS] = {"0", "1", "2"};
    for (int i = 0; i < TRIAL_USERS; i++) {
        if (session != 0 && trial->users[i].session == session) { return names[i]; }
    }
    return session == 0 ? "none" : "unknown";
}

static int trial_compare(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void trial_describe_read(const struct trial *trial, struct trial_line *line,
                                const struct zk_event *event)
{
    const char *names[64];
    const struct zk_stat *stat = &event->stat;
    trial_append(line, " version %d children_version %d owner %s", stat->version,
                 stat->children_version, trial_owner(trial, stat->ephemeral_owner));
    if (event->data != NULL) {
        trial_append(line, " data %.*s", (int)event->size, (const char *)event->data);
    }
    if (event->child_count > 64) { abort(); }
    for (size_t i = 0; i < event->child_count; i++) { names[i] = event->children[i]; }
    qsort(names, event->child_count, sizeof names[0], trial_compare);
    for (size_t i = 0; i < event->child_count; i++) {
        trial_append(line, "%s%s", i == 0 ? " children " : ",", names[i]);
    }
    line->has_zxids = true;
    line->zxids[0] = stat->created_zxid;
    line->zxids[1] = stat->modified_zxid;
}

static void trial_describe_result(struct trial_user *user, const struct zk_event *event)
{
    static const char *const outcomes[] = {"ok", "refused", "unknown"};
    struct trial_line *line = trial_add(user->trial, user->index, "    %d answer %s", user->index,
                                        outcomes[event->outcome]);
    if (event->outcome != ZK_OK) { trial_append(line, " reason %d", (int)event->reason); }
    trial_append(line, " part %d path %s", event->failed_write, event->path);
    if (event->outcome != ZK_OK) { return; }
    if (user->reads) {
        trial_describe_read(user->trial, line, event);
    } else {
        trial_append(line, " version %d", event->stat.version); /* The first SET. */
    }
}

static void trial_on_event(void *ctx, const struct zk_event *event)
{
    struct trial_user *user = ctx;
    struct trial *trial = user->trial;
    pthread_mutex_lock(&trial->lock);
    switch (event->type) {
    case ZK_CONNECTED:
        user->session = event->session;
        user->connected = true;
        break;
    case ZK_DISCONNECTED:
        user->connected = false;
        if (!trial->cutting) { trial->disturbed = true; }
        break;
    case ZK_EXPIRED:
        user->expired = true;
        trial_add(trial, user->index, "    %d expired", user->index);
        break;
    case ZK_CHANGED:
        trial_add(trial, user->index, "    %d changed %s", user->index, event->path);
        break;
    case ZK_RESULT:
        if (event->op != user->quiet_op) { trial_describe_result(user, event); }
        user->answered_op = event->op;
        break;
    }
    pthread_cond_broadcast(&trial->changed);
    pthread_mutex_unlock(&trial->lock);
}

/* ------------------------------------------------------------------ waiting */

static bool trial_wait_real(struct trial *trial, uint64_t until_ms)
{
    struct timespec until = {.tv_sec = (time_t)(until_ms / 1000),
                             .tv_nsec = (long)(until_ms % 1000) * 1000000};
    return pthread_cond_timedwait(&trial->changed, &trial->lock, &until) == 0;
}

typedef bool (*trial_condition)(const struct trial_user *user, uint64_t op);

static void trial_wait(struct trial_user *user, trial_condition is_met, uint64_t op)
{
    struct trial *trial = user->trial;
    bool in_time = true;
    if (trial->connect == NULL) {
        uint64_t until_us = trial->world.now_us + TRIAL_PATIENCE_MS * UINT64_C(1000);
        while (!is_met(user, op) && in_time) { in_time = world_step(&trial->world, until_us); }
    } else {
        uint64_t until_ms = clock_monotonic_ms() + patience_ms(TRIAL_PATIENCE_MS);
        pthread_mutex_lock(&trial->lock);
        while (!is_met(user, op) && in_time) { in_time = trial_wait_real(trial, until_ms); }
        in_time = is_met(user, op);
        pthread_mutex_unlock(&trial->lock);
    }
    if (!in_time) {
        for (size_t i = 0; i < trial->line_count; i++) {
            print_error("%s\n", trial->lines[i].text);
        }
        fail_msg("timeout: the expected event did not arrive after the line above");
    }
}

static bool trial_is_connected(const struct trial_user *user, uint64_t op)
{
    return op == 0 && user->connected;
}

static bool trial_is_disconnected(const struct trial_user *user, uint64_t op)
{
    return op == 0 && !user->connected;
}

static bool trial_is_expired(const struct trial_user *user, uint64_t op)
{
    return op == 0 && user->expired;
}

static bool trial_is_answered(const struct trial_user *user, uint64_t op)
{
    return user->answered_op == op;
}

/* ----------------------------------------------------------------- requests */

static uint64_t trial_next_op(struct trial_user *user, bool reads, bool quiet)
{
    struct trial *trial = user->trial;
    pthread_mutex_lock(&trial->lock);
    uint64_t op = ++trial->last_op;
    user->reads = reads;
    if (quiet) { user->quiet_op = op; }
    pthread_mutex_unlock(&trial->lock);
    return op;
}

static void trial_write(struct trial_user *user, const struct zk_write *writes, size_t count)
{
    uint64_t op = trial_next_op(user, false, false);
    user->port.write(user->port.ctx, op, writes, count);
    trial_wait(user, trial_is_answered, op);
}

static void trial_read(struct trial_user *user, const char *path, bool list, bool watch)
{
    uint64_t op = trial_next_op(user, true, false);
    (list ? user->port.list : user->port.read)(user->port.ctx, op, path, watch);
    trial_wait(user, trial_is_answered, op);
}

static bool trial_is_served(struct trial_user *user)
{
    pthread_mutex_lock(&user->trial->lock);
    bool hears = user->connected && !user->expired;
    pthread_mutex_unlock(&user->trial->lock);
    return hears;
}

/* Waits until every user has received all earlier events: the answer to a write follows them. */
static void trial_settle(struct trial *trial)
{
    struct zk_write write = {.kind = ZK_SET, .path = "/settled", .version = ZK_ANY_VERSION};
    for (int i = 0; i < TRIAL_USERS; i++) {
        struct trial_user *user = &trial->users[i];
        if (!trial_is_served(user)) { continue; }
        uint64_t op = trial_next_op(user, false, true);
        user->port.write(user->port.ctx, op, &write, 1);
        trial_wait(user, trial_is_answered, op);
    }
}

static void trial_set_cutting(struct trial *trial, bool cutting)
{
    pthread_mutex_lock(&trial->lock);
    trial->cutting = cutting;
    pthread_mutex_unlock(&trial->lock);
}

/* Closes the session of `user` from outside, by its id. */
static void trial_close_session(struct trial_user *user)
{
    struct trial *trial = user->trial;
    trial_set_cutting(trial, true);
    if (trial->connect == NULL) {
        zk_model_close_session(trial->model, user->session);
    } else {
        struct zk_session session = zk_session_of(user->zk);
        assert_int_equal(zk_close_session(trial->connect, &session, 10000, NULL), TN_OK);
    }
    trial_wait(user, trial_is_expired, 0);
    trial_set_cutting(trial, false);
}

/* User 1 loses its connection, and cannot connect until trial_restore(). */
static void trial_cut(struct trial *trial)
{
    struct trial_user *user = &trial->users[1];
    trial_set_cutting(trial, true);
    if (trial->connect == NULL) {
        for (uint32_t i = 0; i < 3; i++) { zk_model_cut(trial->model, 1, i, true); }
        zk_model_drop_connection(user->client);
    } else {
        cut_proxy_cut(&trial->proxy, true);
    }
    trial_wait(user, trial_is_disconnected, 0);
}

static void trial_restore(struct trial *trial)
{
    if (trial->connect == NULL) {
        for (uint32_t i = 0; i < 3; i++) { zk_model_cut(trial->model, 1, i, false); }
    } else {
        cut_proxy_cut(&trial->proxy, false);
    }
    trial_wait(&trial->users[1], trial_is_connected, 0);
    trial_set_cutting(trial, false);
}

static void trial_open_real(struct trial_user *user, const char *servers, const char *root)
{
    char address[sizeof((struct ensemble *)NULL)->connect + sizeof user->trial->root];
    (void)snprintf(address, sizeof address, "%s%s", servers, root);
    struct zk_config config = {.connect = address,
                               .session_timeout_ms = TRIAL_SESSION_MS,
                               .deadline_ms = TRIAL_DEADLINE_MS,
                               .sink = trial_on_event,
                               .sink_ctx = user};
    struct error error = {.text = ""};
    if (zk_open(&config, &user->zk, &error) != TN_OK) { fail_msg("%s", error.text); }
    user->port = zk_port_of(user->zk);
}

static void trial_open_user(struct trial *trial, int index)
{
    struct trial_user *user = &trial->users[index];
    *user = (struct trial_user){.trial = trial, .index = index};
    if (trial->connect == NULL) {
        user->client = zk_client_open(trial->model, (uint32_t)index, TRIAL_SESSION_MS,
                                      TRIAL_DEADLINE_MS, trial_on_event, user);
        user->port = zk_client_port(user->client);
    } else {
        trial_open_real(user, index == 1 ? trial->proxy.address : trial->connect, trial->root);
    }
    trial_wait(user, trial_is_connected, 0);
}

/* On a real ensemble each run works below a new znode. */
static void trial_make_root(struct trial *trial)
{
    static unsigned plays;
    struct trial_user *user = &trial->users[0];
    *user = (struct trial_user){.trial = trial};
    (void)snprintf(trial->root, sizeof trial->root, "/script-%u", ++plays);
    trial_open_real(user, trial->connect, "");
    trial_wait(user, trial_is_connected, 0);
    trial_write(user, &(struct zk_write){.kind = ZK_CREATE, .path = trial->root}, 1);
    zk_close(user->zk);
}

/* `connect`: a real ensemble; NULL: the model, with that seed. */
static struct trial *trial_open(const char *connect, uint64_t seed)
{
    struct trial *trial = calloc(1, sizeof *trial);
    assert_non_null(trial);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&trial->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&trial->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    trial->connect = connect;
    if (connect == NULL) {
        struct zk_model_config config = {.servers = 3,
                                         .tick_ms = 500,
                                         .latency_us = 500,
                                         .slow_per_mille = 20,
                                         .slow_us = 20000,
                                         .lag_us = 20000};
        world_init(&trial->world, seed, false);
        trial->model = zk_model_create(&trial->world, &config);
    }
    if (connect != NULL) {
        cut_proxy_start(&trial->proxy, connect);
        trial_make_root(trial);
    }
    for (int i = 0; i < TRIAL_USERS; i++) { trial_open_user(trial, i); }
    trial_write(&trial->users[0], &(struct zk_write){.kind = ZK_CREATE, .path = "/settled"}, 1);
    trial->line_count = 0;
    return trial;
}

static void trial_close(struct trial *trial)
{
    if (trial->connect == NULL) {
        zk_model_free(trial->model);
        world_free(&trial->world);
    } else {
        for (int i = 0; i < TRIAL_USERS; i++) { zk_close(trial->users[i].zk); }
        cut_proxy_stop(&trial->proxy);
    }
    pthread_cond_destroy(&trial->changed);
    pthread_mutex_destroy(&trial->lock);
    free(trial);
}

/* -------------------------------------------------------------- normalising */

static int trial_compare_zxids(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static size_t trial_rank(const uint64_t *zxids, size_t count, uint64_t zxid)
{
    size_t rank = 0;
    for (size_t i = 0; i < count && zxids[i] < zxid; i++) {
        rank += i == 0 || zxids[i] != zxids[i - 1];
    }
    return rank;
}

/* Whether `a` is sorted after `b`. The order of events of different users is chance; the order of
 * the events of one user is not. */
static bool trial_is_after(const struct trial *trial, const struct trial_line *a,
                           const struct trial_line *b)
{
    if (a->step != b->step || a->user < b->user) { return false; }
    if (a->user > b->user) { return true; }
    bool changes = strstr(a->text, " changed ") != NULL && strstr(b->text, " changed ") != NULL;
    return trial->any_order && changes && strcmp(a->text, b->text) > 0;
}

static void trial_sort(struct trial *trial)
{
    for (size_t i = 1; i < trial->line_count; i++) {
        struct trial_line line = trial->lines[i];
        size_t at = i;
        while (at > 0 && trial_is_after(trial, &trial->lines[at - 1], &line)) {
            trial->lines[at] = trial->lines[at - 1];
            at--;
        }
        trial->lines[at] = line;
    }
}

/* Adds the ranks of transactions to the lines, at the end of the script. */
static void trial_normalise(struct trial *trial)
{
    static uint64_t zxids[2 * TRIAL_LINES_MAX];
    size_t count = 0;
    trial_sort(trial);
    for (size_t i = 0; i < trial->line_count; i++) {
        if (!trial->lines[i].has_zxids) { continue; }
        zxids[count++] = trial->lines[i].zxids[0];
        zxids[count++] = trial->lines[i].zxids[1];
    }
    qsort(zxids, count, sizeof zxids[0], trial_compare_zxids);
    for (size_t i = 0; i < trial->line_count; i++) {
        struct trial_line *line = &trial->lines[i];
        if (!line->has_zxids) { continue; }
        trial_append(line, " created #%zu modified #%zu", trial_rank(zxids, count, line->zxids[0]),
                     trial_rank(zxids, count, line->zxids[1]));
    }
}

#endif
