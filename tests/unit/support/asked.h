/* tests/unit/support/asked.h: a ZooKeeper port that only notes what it is asked, and the answers to
 * that.
 */
#ifndef TESTS_UNIT_ASKED_H
#define TESTS_UNIT_ASKED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/zk/zk.h"

enum { ASKED_MAX = 64 };

/* What was asked of ZooKeeper: "read PATH", "list PATH", "create PATH", ... */
static struct {
    uint32_t count;
    uint64_t ops[ASKED_MAX];
    char words[ASKED_MAX][ZK_PATH_MAX + 16];
} asked;

static void note(uint64_t op, const char *verb, const char *path)
{
    assert_true(asked.count < ASKED_MAX);
    asked.ops[asked.count] = op;
    snprintf(asked.words[asked.count++], sizeof asked.words[0], "%s %s", verb, path);
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

/* The number of the newest request with these words. */
static uint64_t op_of(const char *words)
{
    for (uint32_t i = asked.count; i-- > 0;) {
        if (strcmp(asked.words[i], words) == 0) { return asked.ops[i]; }
    }
    fail_msg("nobody asked: %s", words);
    return 0;
}

static struct zk_event answer(const char *words, const char *text)
{
    return (struct zk_event){.type = ZK_RESULT,
                             .op = op_of(words),
                             .outcome = text != NULL ? ZK_OK : ZK_REFUSED,
                             .reason = text != NULL ? ZK_REASON_NONE : ZK_REASON_NO_NODE,
                             .path = strchr(words, ' ') + 1,
                             .data = text,
                             .size = text != NULL ? strlen(text) : 0};
}

#endif
