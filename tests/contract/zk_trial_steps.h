/* tests/contract/zk_trial_steps.h: the steps of a script. Each adds its title to the lines. */
#ifndef TESTS_CONTRACT_ZK_TRIAL_STEPS_H
#define TESTS_CONTRACT_ZK_TRIAL_STEPS_H

#include "tests/contract/zk_trial.h"

/* One write; then every user receives the changes. */
static void write_one(struct trial *trial, unsigned user, struct zk_write write)
{
    static const char *const kinds[] = {"check", "create", "set", "delete"};
    trial_add(trial, -1, "%u: %s %s version %d flags %u", user, kinds[write.kind], write.path,
              write.version, write.flags);
    trial_write(&trial->users[user], &write, 1);
    trial_settle(trial);
}

static void create(struct trial *trial, unsigned user, const char *path, unsigned flags)
{
    write_one(trial, user,
              (struct zk_write){
                  .kind = ZK_CREATE, .path = path, .data = "new", .size = 3, .flags = flags});
}

static void set(struct trial *trial, unsigned user, const char *path, int32_t version)
{
    write_one(trial, user,
              (struct zk_write){
                  .kind = ZK_SET, .path = path, .data = "other", .size = 5, .version = version});
}

static void drop(struct trial *trial, unsigned user, const char *path, int32_t version)
{
    write_one(trial, user, (struct zk_write){.kind = ZK_DELETE, .path = path, .version = version});
}

static void check(struct trial *trial, unsigned user, const char *path, int32_t version)
{
    write_one(trial, user, (struct zk_write){.kind = ZK_CHECK, .path = path, .version = version});
}

static void many(struct trial *trial, unsigned user, const struct zk_write *writes, size_t count)
{
    trial_add(trial, -1, "%u: %zu writes, %s ...", user, count, writes[0].path);
    trial_write(&trial->users[user], writes, count);
    trial_settle(trial);
}

static void get(struct trial *trial, unsigned user, const char *path)
{
    trial_add(trial, -1, "%u: read %s", user, path);
    trial_read(&trial->users[user], path, false, false);
}

static void list(struct trial *trial, unsigned user, const char *path)
{
    trial_add(trial, -1, "%u: list %s", user, path);
    trial_read(&trial->users[user], path, true, false);
}

static void watch(struct trial *trial, unsigned user, const char *path)
{
    trial_add(trial, -1, "%u: watch %s", user, path);
    trial_read(&trial->users[user], path, false, true);
}

static void watch_children(struct trial *trial, unsigned user, const char *path)
{
    trial_add(trial, -1, "%u: watch the children of %s", user, path);
    trial_read(&trial->users[user], path, true, true);
}

#endif
