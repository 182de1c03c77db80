/*
 * Two stages for one play: clients of the simulator's ZooKeeper under virtual time, or of a real
 * ensemble. What they hear is written down in lines that can be compared: sessions by their
 * client's number, transactions by their order, times not at all.
 */
#ifndef TESTS_FAITHFUL_STAGE_H
#define TESTS_FAITHFUL_STAGE_H

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

enum {
    STAGE_ACTORS = 3,
    STAGE_LINES_MAX = 1024,
    STAGE_TEXT_MAX = 256,
    STAGE_SESSION_MS = 6000,
    STAGE_DEADLINE_MS = 10000,
    STAGE_PATIENCE_MS = 30000,
};

struct stage_line {
    size_t scene;
    int actor; /* -1: the scene's title. */
    char text[STAGE_TEXT_MAX];
    bool has_zxids;
    uint64_t zxids[2]; /* Created, modified. */
};

struct stage;

struct stage_actor {
    struct stage *stage;
    int index;
    struct zk *zk;            /* Real, or */
    struct zk_client *client; /* modelled. */
    struct zk_port port;
    uint64_t session;
    uint64_t quiet_op, answered_op;
    bool reads; /* What it asked last. */
    bool connected;
    bool expired;
};

struct stage {
    const char *connect;    /* NULL: the model. */
    struct cut_proxy proxy; /* Actor 1's way to a real server. */
    bool any_order;         /* Of changes that are heard in one scene. */
    bool parting;           /* Connections are meant to break now; else: */
    bool spoiled;           /* one broke, on a machine with too much to do. */
    char root[32];          /* Of the play, in a real ensemble. */
    struct world world;
    struct zk_model *model;
    struct stage_actor actors[STAGE_ACTORS];
    pthread_mutex_t lock; /* Guards what events change. */
    pthread_cond_t changed;
    uint64_t last_op;
    struct stage_line lines[STAGE_LINES_MAX];
    size_t line_count, scene;
};

/* ------------------------------------------------------------- writing down */

static struct stage_line *stage_add(struct stage *stage, int actor, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static struct stage_line *stage_add(struct stage *stage, int actor, const char *format, ...)
{
    pthread_mutex_lock(&stage->lock);
    if (stage->line_count == STAGE_LINES_MAX) { abort(); }
    if (actor < 0) { stage->scene++; }
    struct stage_line *line = &stage->lines[stage->line_count++];
    line->scene = stage->scene;
    line->actor = actor;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line->text, sizeof line->text, format, arguments);
    va_end(arguments);
    pthread_mutex_unlock(&stage->lock);
    return line;
}

static void stage_append(struct stage_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void stage_append(struct stage_line *line, const char *format, ...)
{
    size_t used = strlen(line->text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line->text + used, sizeof line->text - used, format, arguments);
    va_end(arguments);
}

static const char *stage_owner(const struct stage *stage, uint64_t session)
{
    static const char *const names[STAGE_ACTORS] = {"0", "1", "2"};
    for (int i = 0; i < STAGE_ACTORS; i++) {
        if (session != 0 && stage->actors[i].session == session) { return names[i]; }
    }
    return session == 0 ? "nobody" : "a stranger";
}

static int stage_compare(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void stage_describe_read(const struct stage *stage, struct stage_line *line,
                                const struct zk_event *event)
{
    const char *names[64];
    const struct zk_stat *stat = &event->stat;
    stage_append(line, " version %d children_version %d owner %s", stat->version,
                 stat->children_version, stage_owner(stage, stat->ephemeral_owner));
    if (event->data != NULL) {
        stage_append(line, " data %.*s", (int)event->size, (const char *)event->data);
    }
    if (event->child_count > 64) { abort(); }
    for (size_t i = 0; i < event->child_count; i++) { names[i] = event->children[i]; }
    qsort(names, event->child_count, sizeof names[0], stage_compare);
    for (size_t i = 0; i < event->child_count; i++) {
        stage_append(line, "%s%s", i == 0 ? " children " : ",", names[i]);
    }
    line->has_zxids = true;
    line->zxids[0] = stat->created_zxid;
    line->zxids[1] = stat->modified_zxid;
}

static void stage_describe_result(struct stage_actor *actor, const struct zk_event *event)
{
    static const char *const outcomes[] = {"ok", "refused", "unknown"};
    struct stage_line *line = stage_add(actor->stage, actor->index, "    %d answer %s",
                                        actor->index, outcomes[event->outcome]);
    if (event->outcome != ZK_OK) { stage_append(line, " reason %d", (int)event->reason); }
    stage_append(line, " part %d path %s", event->failed_write, event->path);
    if (event->outcome != ZK_OK) { return; }
    if (actor->reads) {
        stage_describe_read(actor->stage, line, event);
    } else {
        stage_append(line, " version %d", event->stat.version); /* Of the first SET. */
    }
}

static void stage_on_event(void *ctx, const struct zk_event *event)
{
    struct stage_actor *actor = ctx;
    struct stage *stage = actor->stage;
    pthread_mutex_lock(&stage->lock);
    switch (event->type) {
    case ZK_CONNECTED:
        actor->session = event->session;
        actor->connected = true;
        break;
    case ZK_DISCONNECTED:
        actor->connected = false;
        if (!stage->parting) { stage->spoiled = true; }
        break;
    case ZK_EXPIRED:
        actor->expired = true;
        stage_add(stage, actor->index, "    %d expired", actor->index);
        break;
    case ZK_CHANGED:
        stage_add(stage, actor->index, "    %d changed %s", actor->index, event->path);
        break;
    case ZK_RESULT:
        if (event->op != actor->quiet_op) { stage_describe_result(actor, event); }
        actor->answered_op = event->op;
        break;
    }
    pthread_cond_broadcast(&stage->changed);
    pthread_mutex_unlock(&stage->lock);
}

/* ------------------------------------------------------------------ waiting */

static bool stage_wait_real(struct stage *stage, uint64_t until_ms)
{
    struct timespec until = {.tv_sec = (time_t)(until_ms / 1000),
                             .tv_nsec = (long)(until_ms % 1000) * 1000000};
    return pthread_cond_timedwait(&stage->changed, &stage->lock, &until) == 0;
}

typedef bool (*stage_condition)(const struct stage_actor *actor, uint64_t op);

static void stage_wait(struct stage_actor *actor, stage_condition is_met, uint64_t op)
{
    struct stage *stage = actor->stage;
    bool in_time = true;
    if (stage->connect == NULL) {
        uint64_t until_us = stage->world.now_us + STAGE_PATIENCE_MS * UINT64_C(1000);
        while (!is_met(actor, op) && in_time) { in_time = world_step(&stage->world, until_us); }
    } else {
        uint64_t until_ms = clock_monotonic_ms() + STAGE_PATIENCE_MS;
        pthread_mutex_lock(&stage->lock);
        while (!is_met(actor, op) && in_time) { in_time = stage_wait_real(stage, until_ms); }
        in_time = is_met(actor, op);
        pthread_mutex_unlock(&stage->lock);
    }
    if (!in_time) {
        for (size_t i = 0; i < stage->line_count; i++) {
            print_error("%s\n", stage->lines[i].text);
        }
        fail_msg("waited in vain, after the line above");
    }
}

static bool stage_is_connected(const struct stage_actor *actor, uint64_t op)
{
    return op == 0 && actor->connected;
}

static bool stage_is_away(const struct stage_actor *actor, uint64_t op)
{
    return op == 0 && !actor->connected;
}

static bool stage_is_expired(const struct stage_actor *actor, uint64_t op)
{
    return op == 0 && actor->expired;
}

static bool stage_is_answered(const struct stage_actor *actor, uint64_t op)
{
    return actor->answered_op == op;
}

/* ------------------------------------------------------------------ the play */

static uint64_t stage_next_op(struct stage_actor *actor, bool reads, bool quiet)
{
    struct stage *stage = actor->stage;
    pthread_mutex_lock(&stage->lock);
    uint64_t op = ++stage->last_op;
    actor->reads = reads;
    if (quiet) { actor->quiet_op = op; }
    pthread_mutex_unlock(&stage->lock);
    return op;
}

static void stage_write(struct stage_actor *actor, const struct zk_write *writes, size_t count)
{
    uint64_t op = stage_next_op(actor, false, false);
    actor->port.write(actor->port.ctx, op, writes, count);
    stage_wait(actor, stage_is_answered, op);
}

static void stage_read(struct stage_actor *actor, const char *path, bool list, bool watch)
{
    uint64_t op = stage_next_op(actor, true, false);
    (list ? actor->port.list : actor->port.read)(actor->port.ctx, op, path, watch);
    stage_wait(actor, stage_is_answered, op);
}

static bool stage_hears(struct stage_actor *actor)
{
    pthread_mutex_lock(&actor->stage->lock);
    bool hears = actor->connected && !actor->expired;
    pthread_mutex_unlock(&actor->stage->lock);
    return hears;
}

/* Everybody hears all that has happened: a write's answer comes after every earlier change. */
static void stage_settle(struct stage *stage)
{
    struct zk_write write = {.kind = ZK_SET, .path = "/settled", .version = ZK_ANY_VERSION};
    for (int i = 0; i < STAGE_ACTORS; i++) {
        struct stage_actor *actor = &stage->actors[i];
        if (!stage_hears(actor)) { continue; }
        uint64_t op = stage_next_op(actor, false, true);
        actor->port.write(actor->port.ctx, op, &write, 1);
        stage_wait(actor, stage_is_answered, op);
    }
}

static void stage_set_parting(struct stage *stage, bool parting)
{
    pthread_mutex_lock(&stage->lock);
    stage->parting = parting;
    pthread_mutex_unlock(&stage->lock);
}

/* Somebody who knows its session closes it. */
static void stage_close_session(struct stage_actor *actor)
{
    struct stage *stage = actor->stage;
    stage_set_parting(stage, true);
    if (stage->connect == NULL) {
        zk_model_close_session(stage->model, actor->session);
    } else {
        struct zk_session session = zk_session_of(actor->zk);
        assert_int_equal(zk_close_session(stage->connect, &session, 10000), TN_OK);
    }
    stage_wait(actor, stage_is_expired, 0);
    stage_set_parting(stage, false);
}

/* Actor 1 loses its connection, and finds no other until stage_join. */
static void stage_part(struct stage *stage)
{
    struct stage_actor *actor = &stage->actors[1];
    stage_set_parting(stage, true);
    if (stage->connect == NULL) {
        for (uint32_t i = 0; i < 3; i++) { zk_model_cut(stage->model, 1, i, true); }
        zk_model_drop_connection(actor->client);
    } else {
        cut_proxy_cut(&stage->proxy, true);
    }
    stage_wait(actor, stage_is_away, 0);
}

static void stage_join(struct stage *stage)
{
    if (stage->connect == NULL) {
        for (uint32_t i = 0; i < 3; i++) { zk_model_cut(stage->model, 1, i, false); }
    } else {
        cut_proxy_cut(&stage->proxy, false);
    }
    stage_wait(&stage->actors[1], stage_is_connected, 0);
    stage_set_parting(stage, false);
}

static void stage_open_real(struct stage_actor *actor, const char *servers, const char *root)
{
    char address[sizeof((struct ensemble *)NULL)->connect + sizeof actor->stage->root];
    (void)snprintf(address, sizeof address, "%s%s", servers, root);
    struct zk_config config = {.connect = address,
                               .session_timeout_ms = STAGE_SESSION_MS,
                               .deadline_ms = STAGE_DEADLINE_MS,
                               .sink = stage_on_event,
                               .sink_ctx = actor};
    struct error error = {.text = ""};
    if (zk_open(&config, &actor->zk, &error) != TN_OK) { fail_msg("%s", error.text); }
    actor->port = zk_port_of(actor->zk);
}

static void stage_open_actor(struct stage *stage, int index)
{
    struct stage_actor *actor = &stage->actors[index];
    *actor = (struct stage_actor){.stage = stage, .index = index};
    if (stage->connect == NULL) {
        actor->client = zk_client_open(stage->model, (uint32_t)index, STAGE_SESSION_MS,
                                       STAGE_DEADLINE_MS, stage_on_event, actor);
        actor->port = zk_client_port(actor->client);
    } else {
        stage_open_real(actor, index == 1 ? stage->proxy.address : stage->connect, stage->root);
    }
    stage_wait(actor, stage_is_connected, 0);
}

/* A real play has a root of its own, where nobody has been before. */
static void stage_make_root(struct stage *stage)
{
    static unsigned plays;
    struct stage_actor *actor = &stage->actors[0];
    *actor = (struct stage_actor){.stage = stage};
    (void)snprintf(stage->root, sizeof stage->root, "/play-%u", ++plays);
    stage_open_real(actor, stage->connect, "");
    stage_wait(actor, stage_is_connected, 0);
    stage_write(actor, &(struct zk_write){.kind = ZK_CREATE, .path = stage->root}, 1);
    zk_close(actor->zk);
}

/* `connect`: a real ensemble; NULL: the model, with that seed. */
static struct stage *stage_open(const char *connect, uint64_t seed)
{
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&stage->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&stage->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    stage->connect = connect;
    if (connect == NULL) {
        struct zk_model_config config = {.servers = 3,
                                         .tick_ms = 500,
                                         .latency_us = 500,
                                         .slow_per_mille = 20,
                                         .slow_us = 20000,
                                         .lag_us = 20000};
        world_init(&stage->world, seed, false);
        stage->model = zk_model_create(&stage->world, &config);
    }
    if (connect != NULL) {
        cut_proxy_start(&stage->proxy, connect);
        stage_make_root(stage);
    }
    for (int i = 0; i < STAGE_ACTORS; i++) { stage_open_actor(stage, i); }
    stage_write(&stage->actors[0], &(struct zk_write){.kind = ZK_CREATE, .path = "/settled"}, 1);
    stage->line_count = 0;
    return stage;
}

static void stage_close(struct stage *stage)
{
    if (stage->connect == NULL) {
        zk_model_free(stage->model);
        world_free(&stage->world);
    } else {
        for (int i = 0; i < STAGE_ACTORS; i++) { zk_close(stage->actors[i].zk); }
        cut_proxy_stop(&stage->proxy);
    }
    pthread_cond_destroy(&stage->changed);
    pthread_mutex_destroy(&stage->lock);
    free(stage);
}

/* -------------------------------------------------------------- normalising */

static int stage_compare_zxids(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static size_t stage_rank(const uint64_t *zxids, size_t count, uint64_t zxid)
{
    size_t rank = 0;
    for (size_t i = 0; i < count && zxids[i] < zxid; i++) {
        rank += i == 0 || zxids[i] != zxids[i - 1];
    }
    return rank;
}

/* Does `a` come after `b` in the transcript? Who of two clients hears something first is chance;
 * what each hears, in which order, is not. */
static bool stage_is_after(const struct stage *stage, const struct stage_line *a,
                           const struct stage_line *b)
{
    if (a->scene != b->scene || a->actor < b->actor) { return false; }
    if (a->actor > b->actor) { return true; }
    bool changes = strstr(a->text, " changed ") != NULL && strstr(b->text, " changed ") != NULL;
    return stage->any_order && changes && strcmp(a->text, b->text) > 0;
}

static void stage_sort(struct stage *stage)
{
    for (size_t i = 1; i < stage->line_count; i++) {
        struct stage_line line = stage->lines[i];
        size_t at = i;
        while (at > 0 && stage_is_after(stage, &stage->lines[at - 1], &line)) {
            stage->lines[at] = stage->lines[at - 1];
            at--;
        }
        stage->lines[at] = line;
    }
}

/* Put the order of transactions into the lines. The play is over. */
static void stage_normalise(struct stage *stage)
{
    static uint64_t zxids[2 * STAGE_LINES_MAX];
    size_t count = 0;
    stage_sort(stage);
    for (size_t i = 0; i < stage->line_count; i++) {
        if (!stage->lines[i].has_zxids) { continue; }
        zxids[count++] = stage->lines[i].zxids[0];
        zxids[count++] = stage->lines[i].zxids[1];
    }
    qsort(zxids, count, sizeof zxids[0], stage_compare_zxids);
    for (size_t i = 0; i < stage->line_count; i++) {
        struct stage_line *line = &stage->lines[i];
        if (!line->has_zxids) { continue; }
        stage_append(line, " created #%zu modified #%zu", stage_rank(zxids, count, line->zxids[0]),
                     stage_rank(zxids, count, line->zxids[1]));
    }
}

#endif
