/*
 * The simulator's model of ZooKeeper agrees with a real ensemble of three: clients that run the
 * same script receive the same events, line by line.
 */
#include "tests/contract/zk_trial.h"
#include "tests/contract/zk_trial_steps.h"
#include "tests/support/servers.h"

enum { MODEL_SEEDS = 25, RETRIES = 20 };

/* --------------------------------------------------------------- comparing */

typedef void (*script)(struct trial *trial);

static void compare(const struct trial *model, const struct trial *real)
{
    for (size_t i = 0; i < model->line_count || i < real->line_count; i++) {
        const char *modelled = i < model->line_count ? model->lines[i].text : "(nothing)";
        const char *received = i < real->line_count ? real->lines[i].text : "(nothing)";
        if (strcmp(modelled, received) == 0) { continue; }
        for (size_t j = i > 12 ? i - 12 : 0; j < i; j++) {
            print_error("%s\n", real->lines[j].text);
        }
        fail_msg("\n  model, seed %" PRIu64 ": %s\n  ZooKeeper:%s", model->world.seed, modelled,
                 received);
    }
}

static struct trial *run_script(script act, const char *connect, uint64_t seed)
{
    struct trial *trial = trial_open(connect, seed);
    act(trial);
    trial_settle(trial);
    trial_normalise(trial);
    return trial;
}

static void check_script(script act)
{
    struct trial *real = run_script(act, servers.ensemble.connect, 0);
    for (int again = 0; real->disturbed && again < RETRIES; again++) {
        trial_close(real);
        real = run_script(act, servers.ensemble.connect, 0);
    }
    for (uint64_t seed = 1; seed <= MODEL_SEEDS; seed++) {
        struct trial *model = run_script(act, NULL, seed);
        compare(model, real);
        trial_close(model);
    }
    trial_close(real);
}

/* ------------------------------------------------------------------ scripts */

/* One znode from its creation to its removal, with every refusal of a plain write. */
static void script_life(struct trial *trial)
{
    create(trial, 0, "/life", 0);
    create(trial, 1, "/life", 0);
    create(trial, 0, "/life/child", 0);
    create(trial, 0, "/nowhere/child", 0);
    set(trial, 1, "/life", 0);
    set(trial, 1, "/life", 0);
    set(trial, 1, "/life", ZK_ANY_VERSION);
    set(trial, 1, "/nowhere", ZK_ANY_VERSION);
    check(trial, 0, "/life", 2);
    check(trial, 0, "/life", 1);
    check(trial, 0, "/life", ZK_ANY_VERSION);
    check(trial, 0, "/nowhere", ZK_ANY_VERSION);
    get(trial, 0, "/life");
    list(trial, 1, "/life");
    drop(trial, 0, "/life", ZK_ANY_VERSION);
    drop(trial, 0, "/life/child", 3);
    drop(trial, 0, "/life/child", 0);
    drop(trial, 0, "/life/child", ZK_ANY_VERSION);
    get(trial, 1, "/life");
    drop(trial, 0, "/life", 1);
    drop(trial, 0, "/life", 2);
    get(trial, 1, "/life");
    list(trial, 1, "/life");
    create(trial, 1, "/life", 0);
    get(trial, 0, "/life");
    create(trial, 1, "/life/again", 0);
    set(trial, 1, "/life/again", 0);
    list(trial, 0, "/life");
}

static void test_life(void **state)
{
    (void)state;
    check_script(script_life);
}

/* Sequence numbers: after other children, after deletes, in a recreated parent, in a
 * transaction. */
static void script_sequence(struct trial *trial)
{
    create(trial, 0, "/line", 0);
    create(trial, 0, "/line/s-", ZK_SEQUENTIAL);
    create(trial, 1, "/line/other-", ZK_SEQUENTIAL);
    create(trial, 1, "/line/plain", 0);
    create(trial, 0, "/line/s-", ZK_SEQUENTIAL);
    drop(trial, 0, "/line/plain", 0);
    create(trial, 0, "/line/s-", ZK_SEQUENTIAL);
    set(trial, 0, "/line", 0);
    create(trial, 0, "/line/", ZK_SEQUENTIAL);
    create(trial, 0, "/nowhere/s-", ZK_SEQUENTIAL);
    const struct zk_write writes[] = {
        {.kind = ZK_CREATE, .path = "/line/t-", .flags = ZK_SEQUENTIAL},
        {.kind = ZK_DELETE, .path = "/line/s-0000000000", .version = ZK_ANY_VERSION},
        {.kind = ZK_CREATE, .path = "/line/t-", .flags = ZK_SEQUENTIAL | ZK_EPHEMERAL},
    };
    many(trial, 1, writes, 3);
    list(trial, 0, "/line");
    create(trial, 0, "/short", 0);
    create(trial, 0, "/short/s-", ZK_SEQUENTIAL);
    drop(trial, 0, "/short/s-0000000000", 0);
    create(trial, 0, "/short/s-", ZK_SEQUENTIAL);
    drop(trial, 0, "/short/s-0000000001", 0);
    list(trial, 1, "/short");
    drop(trial, 0, "/short", 0);
    create(trial, 0, "/short", 0);
    create(trial, 0, "/short/s-", ZK_SEQUENTIAL);
    list(trial, 1, "/short");
}

static void test_sequence(void **state)
{
    (void)state;
    check_script(script_sequence);
}

/* Ephemerals have an owner, have no children, and are removed with their session. */
static void script_ephemeral(struct trial *trial)
{
    create(trial, 0, "/members", 0);
    create(trial, 2, "/members/two", ZK_EPHEMERAL);
    create(trial, 0, "/members/zero", ZK_EPHEMERAL);
    create(trial, 2, "/members/n-", ZK_EPHEMERAL | ZK_SEQUENTIAL);
    create(trial, 2, "/members/two/child", 0);
    create(trial, 2, "/members/two/s-", ZK_SEQUENTIAL);
    create(trial, 0, "/members/two", ZK_EPHEMERAL);
    get(trial, 1, "/members/two");
    set(trial, 0, "/members/two", 0);
    get(trial, 0, "/members/n-0000000002");
    watch_children(trial, 0, "/members");
    watch(trial, 1, "/members/two");
    watch(trial, 1, "/members/zero");
    trial_add(trial, -1, "the session of 2 is closed");
    trial_close_session(&trial->users[2]);
    trial_settle(trial);
    list(trial, 1, "/members");
    get(trial, 1, "/members/two");
    create(trial, 0, "/members/two", ZK_EPHEMERAL);
    get(trial, 1, "/members/two");
    drop(trial, 1, "/members/zero", ZK_ANY_VERSION);
    trial_add(trial, -1, "2 writes and reads in a closed session");
    trial_write(&trial->users[2], &(struct zk_write){.kind = ZK_CREATE, .path = "/ghost"}, 1);
    trial_read(&trial->users[2], "/members", false, false);
    trial_read(&trial->users[2], "/members", true, true);
    list(trial, 1, "/members");
}

static void test_ephemeral(void **state)
{
    (void)state;
    check_script(script_ephemeral);
}

/* Transactions: parts that depend on earlier ones, and the index of the part that failed. */
static void script_transaction(struct trial *trial)
{
    create(trial, 0, "/tx", 0);
    const struct zk_write chain[] = {
        {.kind = ZK_CHECK, .path = "/tx", .version = 0},
        {.kind = ZK_CREATE, .path = "/tx/a", .data = "1", .size = 1},
        {.kind = ZK_SET, .path = "/tx/a", .data = "2", .size = 1, .version = 0},
        {.kind = ZK_CREATE, .path = "/tx/a/b", .data = "3", .size = 1},
        {.kind = ZK_SET, .path = "/tx/a", .data = "4", .size = 1, .version = 1},
        {.kind = ZK_CHECK, .path = "/tx/a", .version = 2},
        {.kind = ZK_CREATE, .path = "/tx/gone"},
        {.kind = ZK_DELETE, .path = "/tx/gone", .version = 0},
        {.kind = ZK_SET, .path = "/tx", .version = 0},
    };
    many(trial, 0, chain, 9);
    many(trial, 1, chain, 9);
    get(trial, 1, "/tx/a");
    get(trial, 1, "/tx");
    list(trial, 1, "/tx/a");
    const struct zk_write bad_last[] = {
        {.kind = ZK_CREATE, .path = "/tx/c"},
        {.kind = ZK_DELETE, .path = "/tx/a/b", .version = 0},
        {.kind = ZK_DELETE, .path = "/tx/a", .version = 2},
        {.kind = ZK_SET, .path = "/tx/a", .version = ZK_ANY_VERSION},
    };
    many(trial, 0, bad_last, 4);
    many(trial, 0, bad_last, 3);
    list(trial, 0, "/tx");
    get(trial, 0, "/tx/a");
    const struct zk_write set_twice[] = {
        {.kind = ZK_SET, .path = "/tx/c", .version = 0},
        {.kind = ZK_SET, .path = "/tx", .version = 1},
        {.kind = ZK_SET, .path = "/tx/c", .data = "x", .size = 1, .version = 1},
    };
    many(trial, 1, set_twice, 3);
    many(trial, 1, set_twice, 3);
    get(trial, 0, "/tx/c");
}

static void test_transaction(void **state)
{
    (void)state;
    check_script(script_transaction);
}

/* Each reason for which a part can be refused, after a part that could be applied. */
static void script_refused_parts(struct trial *trial)
{
    create(trial, 0, "/part", 0);
    create(trial, 0, "/part/full", 0);
    create(trial, 0, "/part/full/child", 0);
    create(trial, 0, "/part/mine", ZK_EPHEMERAL);
    const struct zk_write parts[] = {
        {.kind = ZK_CREATE, .path = "/part"},
        {.kind = ZK_CREATE, .path = "/nowhere/child"},
        {.kind = ZK_CREATE, .path = "/part/mine/child"},
        {.kind = ZK_SET, .path = "/part", .version = 9},
        {.kind = ZK_SET, .path = "/nowhere", .version = 0},
        {.kind = ZK_DELETE, .path = "/part/full", .version = 0},
        {.kind = ZK_DELETE, .path = "/part/full", .version = 7},
        {.kind = ZK_DELETE, .path = "/nowhere", .version = ZK_ANY_VERSION},
        {.kind = ZK_CHECK, .path = "/part", .version = 9},
        {.kind = ZK_CHECK, .path = "/nowhere", .version = ZK_ANY_VERSION},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const struct zk_write writes[] = {
            {.kind = ZK_CHECK, .path = "/part", .version = 0},
            {.kind = ZK_CREATE, .path = "/part/new-", .flags = ZK_SEQUENTIAL},
            parts[i],
            {.kind = ZK_DELETE, .path = "/nowhere/else", .version = 0},
        };
        many(trial, 0, writes, 4);
        many(trial, 1, &writes[2], 2);
        many(trial, 1, &writes[2], 1);
    }
    list(trial, 0, "/part");
    create(trial, 0, "/part/new-", ZK_SEQUENTIAL);
}

static void test_refused_parts(void **state)
{
    (void)state;
    check_script(script_refused_parts);
}

/* Watches on data fire once, for a set and for the removal, also at the client that wrote. */
static void script_data_watch(struct trial *trial)
{
    create(trial, 0, "/data", 0);
    watch(trial, 0, "/data");
    watch(trial, 1, "/data");
    watch(trial, 1, "/data");
    set(trial, 0, "/data", 7);
    set(trial, 0, "/data", 0);
    set(trial, 0, "/data", 1);
    watch(trial, 1, "/data");
    create(trial, 0, "/data/child", 0);
    drop(trial, 0, "/data/child", 0);
    drop(trial, 0, "/data", 2);
    watch(trial, 1, "/data");
    watch(trial, 2, "/data");
    create(trial, 2, "/data", 0);
    set(trial, 2, "/data", 0);
    watch(trial, 1, "/data");
    const struct zk_write twice[] = {
        {.kind = ZK_SET, .path = "/data", .version = 1},
        {.kind = ZK_SET, .path = "/data", .version = 2},
        {.kind = ZK_DELETE, .path = "/data", .version = 3},
        {.kind = ZK_CREATE, .path = "/data"},
    };
    many(trial, 0, twice, 4);
    get(trial, 1, "/data");
}

static void test_data_watch(void **state)
{
    (void)state;
    check_script(script_data_watch);
}

/* Watches on children fire for creations and removals, not for data; and for the parent's end. */
static void script_children_watch(struct trial *trial)
{
    create(trial, 0, "/parent", 0);
    watch_children(trial, 1, "/parent");
    set(trial, 0, "/parent", 0);
    create(trial, 0, "/parent/a", 0);
    create(trial, 0, "/parent/b", 0);
    watch_children(trial, 1, "/parent");
    set(trial, 0, "/parent/a", 0);
    create(trial, 0, "/parent/a/deep", 0);
    drop(trial, 0, "/parent/a/deep", 0);
    drop(trial, 0, "/parent/a", 1);
    watch_children(trial, 1, "/parent");
    watch_children(trial, 2, "/nowhere");
    create(trial, 2, "/nowhere", 0);
    drop(trial, 2, "/nowhere", 0);
    const struct zk_write two[] = {
        {.kind = ZK_CREATE, .path = "/parent/c"},
        {.kind = ZK_CREATE, .path = "/parent/d"},
        {.kind = ZK_DELETE, .path = "/parent/b", .version = 0},
    };
    many(trial, 0, two, 3);
    list(trial, 1, "/parent");
}

static void test_children_watch(void **state)
{
    (void)state;
    check_script(script_children_watch);
}

/* Watches of both kinds on one znode, and which of them fire when it is removed. */
static void script_both_watches(struct trial *trial)
{
    create(trial, 0, "/both", 0);
    create(trial, 0, "/both/child", 0);
    watch(trial, 1, "/both");
    watch_children(trial, 1, "/both");
    watch(trial, 1, "/both/child");
    watch_children(trial, 1, "/both/child");
    watch_children(trial, 2, "/both");
    drop(trial, 0, "/both/child", 0);
    watch_children(trial, 1, "/both");
    drop(trial, 0, "/both", 0);
    create(trial, 0, "/both", 0);
    watch(trial, 1, "/both");
    watch_children(trial, 1, "/both");
    const struct zk_write all[] = {
        {.kind = ZK_CREATE, .path = "/both/child"},
        {.kind = ZK_SET, .path = "/both", .version = 0},
        {.kind = ZK_DELETE, .path = "/both/child", .version = 0},
        {.kind = ZK_DELETE, .path = "/both", .version = 1},
    };
    many(trial, 0, all, 4);
    get(trial, 1, "/both");
}

static void test_both_watches(void **state)
{
    (void)state;
    check_script(script_both_watches);
}

static void create_all(struct trial *trial, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) { create(trial, 0, paths[i], 0); }
}

/* Watches that are set when the connection breaks: after the reconnection those whose znode differs
 * fire, and the others stay set. */
static void script_reconnection(struct trial *trial)
{
    static const char *const paths[] = {"/gap",       "/gap/set",  "/gap/same",
                                        "/gap/gone",  "/gap/anew", "/gap/list",
                                        "/gap/quiet", "/gap/both", "/gap/bare"};
    trial->any_order = true;
    create_all(trial, paths, sizeof paths / sizeof paths[0]);
    watch(trial, 1, "/gap/set");
    watch(trial, 1, "/gap/same");
    watch(trial, 1, "/gap/gone");
    watch(trial, 1, "/gap/anew");
    watch(trial, 1, "/gap/coming");
    watch(trial, 1, "/gap/missing");
    watch(trial, 1, "/gap/brief");
    watch_children(trial, 1, "/gap/list");
    watch_children(trial, 1, "/gap/quiet");
    watch_children(trial, 1, "/gap/bare");
    watch(trial, 1, "/gap/both");
    watch_children(trial, 1, "/gap/both");
    trial_add(trial, -1, "1 is cut off");
    trial_cut(trial);
    set(trial, 0, "/gap/set", 0);
    drop(trial, 0, "/gap/gone", 0);
    drop(trial, 0, "/gap/anew", 0);
    create(trial, 0, "/gap/anew", 0);
    create(trial, 0, "/gap/coming", 0);
    create(trial, 0, "/gap/brief", 0);
    drop(trial, 0, "/gap/brief", 0);
    create(trial, 0, "/gap/list/child", 0);
    drop(trial, 0, "/gap/list/child", 0);
    set(trial, 0, "/gap/quiet", 0);
    drop(trial, 0, "/gap/bare", 0);
    create(trial, 0, "/gap/bare", 0);
    create(trial, 0, "/gap/both/child", 0);
    set(trial, 0, "/gap/both", 0);
    trial_add(trial, -1, "1 is back");
    trial_restore(trial);
    trial_settle(trial);
    set(trial, 0, "/gap/set", 1);
    set(trial, 0, "/gap/same", 0);
    create(trial, 0, "/gap/missing", 0);
    create(trial, 0, "/gap/quiet/child", 0);
    create(trial, 0, "/gap/brief", 0);
    create(trial, 0, "/gap/list/child", 0);
    get(trial, 1, "/gap/anew");
}

static void test_reconnection(void **state)
{
    (void)state;
    check_script(script_reconnection);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),           cmocka_unit_test(test_sequence),
        cmocka_unit_test(test_ephemeral),      cmocka_unit_test(test_transaction),
        cmocka_unit_test(test_refused_parts),  cmocka_unit_test(test_data_watch),
        cmocka_unit_test(test_children_watch), cmocka_unit_test(test_both_watches),
        cmocka_unit_test(test_reconnection),
    };
    return cmocka_run_group_tests(tests, servers_start, servers_stop);
}
