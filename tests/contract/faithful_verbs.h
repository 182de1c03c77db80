/* What an actor of faithful_stage.h may do: each a scene of its own, with a title. */
#ifndef TESTS_FAITHFUL_VERBS_H
#define TESTS_FAITHFUL_VERBS_H

#include "tests/contract/faithful_stage.h"

/* One write by actor `who`, told as `words`; then everybody hears what it changed. */
static void act_write(struct stage *stage, unsigned who, struct zk_write write)
{
    static const char *const kinds[] = {"check", "create", "set", "delete"};
    stage_add(stage, -1, "%u: %s %s version %d flags %u", who, kinds[write.kind], write.path,
              write.version, write.flags);
    stage_write(&stage->actors[who], &write, 1);
    stage_settle(stage);
}

static void create(struct stage *stage, unsigned who, const char *path, unsigned flags)
{
    act_write(stage, who,
              (struct zk_write){
                  .kind = ZK_CREATE, .path = path, .data = "new", .size = 3, .flags = flags});
}

static void set(struct stage *stage, unsigned who, const char *path, int32_t version)
{
    act_write(stage, who,
              (struct zk_write){
                  .kind = ZK_SET, .path = path, .data = "other", .size = 5, .version = version});
}

static void drop(struct stage *stage, unsigned who, const char *path, int32_t version)
{
    act_write(stage, who, (struct zk_write){.kind = ZK_DELETE, .path = path, .version = version});
}

static void check(struct stage *stage, unsigned who, const char *path, int32_t version)
{
    act_write(stage, who, (struct zk_write){.kind = ZK_CHECK, .path = path, .version = version});
}

static void many(struct stage *stage, unsigned who, const struct zk_write *writes, size_t count)
{
    stage_add(stage, -1, "%u: %zu writes, %s ...", who, count, writes[0].path);
    stage_write(&stage->actors[who], writes, count);
    stage_settle(stage);
}

static void get(struct stage *stage, unsigned who, const char *path)
{
    stage_add(stage, -1, "%u: read %s", who, path);
    stage_read(&stage->actors[who], path, false, false);
}

static void list(struct stage *stage, unsigned who, const char *path)
{
    stage_add(stage, -1, "%u: list %s", who, path);
    stage_read(&stage->actors[who], path, true, false);
}

static void watch(struct stage *stage, unsigned who, const char *path)
{
    stage_add(stage, -1, "%u: watch %s", who, path);
    stage_read(&stage->actors[who], path, false, true);
}

static void watch_children(struct stage *stage, unsigned who, const char *path)
{
    stage_add(stage, -1, "%u: watch the children of %s", who, path);
    stage_read(&stage->actors[who], path, true, true);
}

#endif
