/* tests/unit/support/asked.h: a ZooKeeper port that records requests, and the answers to them. */
#ifndef TESTS_UNIT_ASKED_H
#define TESTS_UNIT_ASKED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/zk/zk.h"

enum { ASKED_MAX = 64 };

/* The requests: "read PATH", "list PATH", "create PATH", ... */
static struct {
    uint32_t count;
    uint64_t ops[ASKED_MAX];
    char texts[ASKED_MAX][ZK_PATH_MAX + 16];
} asked;

static void note(uint64_t op, const char *verb, const char *path)
{
    assert_true(asked.count < ASKED_MAX);
    asked.ops[asked.count] = op;
    snprintf(asked.texts[asked.count++], sizeof asked.texts[0], "%s %s", verb, path);
}

static void on_read(void *ctx, uint64_t op, const char *path, bool watch)
{
    (void)ctx;
    (void)watch;
    note(op, "read", path);
}

static void on_list(void *ctx, uint64_t op, const char *path, bool watch)
{
    (void)ctx;
    (void)watch;
    note(op, "list", path);
}

static void on_write(void *ctx, uint64_t op, const struct zk_write *writes, size_t count)
{
    static const char *const verbs[] = {"check", "create", "set", "delete"};
    (void)ctx;
    assert_int_equal(count, 1);
    note(op, verbs[writes[0].kind], writes[0].path);
}

static const struct zk_port port = {.write = on_write, .read = on_read, .list = on_list};

/* The op of the newest request with this text. */
static uint64_t op_of(const char *request)
{
    for (uint32_t i = asked.count; i-- > 0;) {
        if (strcmp(asked.texts[i], request) == 0) { return asked.ops[i]; }
    }
    fail_msg("no request \"%s\"", request);
    return 0;
}

static struct zk_event answer(const char *request, const char *text)
{
    return (struct zk_event){.type = ZK_RESULT,
                             .op = op_of(request),
                             .outcome = text != NULL ? ZK_OK : ZK_REFUSED,
                             .reason = text != NULL ? ZK_REASON_NONE : ZK_REASON_NO_NODE,
                             .path = strchr(request, ' ') + 1,
                             .data = text,
                             .size = text != NULL ? strlen(text) : 0};
}

#endif
