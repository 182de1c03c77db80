/*
 * The simulator's ZooKeeper is faithful: the same play, for the model and for a real ensemble of
 * three, is heard by the clients in the same way, line by line.
 */
#include "tests/contract/faithful_stage.h"
#include "tests/contract/faithful_verbs.h"

enum { MODEL_SEEDS = 25, RETRIES = 4 };

static struct test_ensemble servers;

static int start_servers(void **state)
{
    (void)state;
    test_ensemble_start(&servers, 3);
    return 0;
}

static int stop_servers(void **state)
{
    (void)state;
    test_ensemble_stop(&servers);
    return 0;
}

/* --------------------------------------------------------------- comparing */

typedef void (*play)(struct stage *stage);

static void compare(const struct stage *model, const struct stage *real)
{
    for (size_t i = 0; i < model->line_count || i < real->line_count; i++) {
        const char *ours = i < model->line_count ? model->lines[i].text : "(nothing)";
        const char *theirs = i < real->line_count ? real->lines[i].text : "(nothing)";
        if (strcmp(ours, theirs) == 0) { continue; }
        for (size_t j = i > 12 ? i - 12 : 0; j < i; j++) {
            print_error("%s\n", real->lines[j].text);
        }
        fail_msg("\n  model, seed %" PRIu64 ": %s\n  ZooKeeper:%s", model->world.seed, ours,
                 theirs);
    }
}

static struct stage *run_play(play act, const char *connect, uint64_t seed)
{
    struct stage *stage = stage_open(connect, seed);
    act(stage);
    stage_settle(stage);
    stage_normalise(stage);
    return stage;
}

static void check_play(play act)
{
    struct stage *real = run_play(act, servers.ensemble.connect, 0);
    for (int again = 0; real->spoiled && again < RETRIES; again++) {
        stage_close(real);
        real = run_play(act, servers.ensemble.connect, 0);
    }
    for (uint64_t seed = 1; seed <= MODEL_SEEDS; seed++) {
        struct stage *model = run_play(act, NULL, seed);
        compare(model, real);
        stage_close(model);
    }
    stage_close(real);
}

/* -------------------------------------------------------------------- plays */

/* A znode's life, with every refusal a plain write can get. */
static void play_life(struct stage *stage)
{
    create(stage, 0, "/life", 0);
    create(stage, 1, "/life", 0);
    create(stage, 0, "/life/child", 0);
    create(stage, 0, "/nowhere/child", 0);
    set(stage, 1, "/life", 0);
    set(stage, 1, "/life", 0);
    set(stage, 1, "/life", ZK_ANY_VERSION);
    set(stage, 1, "/nowhere", ZK_ANY_VERSION);
    check(stage, 0, "/life", 2);
    check(stage, 0, "/life", 1);
    check(stage, 0, "/life", ZK_ANY_VERSION);
    check(stage, 0, "/nowhere", ZK_ANY_VERSION);
    get(stage, 0, "/life");
    list(stage, 1, "/life");
    drop(stage, 0, "/life", ZK_ANY_VERSION);
    drop(stage, 0, "/life/child", 3);
    drop(stage, 0, "/life/child", 0);
    drop(stage, 0, "/life/child", ZK_ANY_VERSION);
    get(stage, 1, "/life");
    drop(stage, 0, "/life", 1);
    drop(stage, 0, "/life", 2);
    get(stage, 1, "/life");
    list(stage, 1, "/life");
    create(stage, 1, "/life", 0);
    get(stage, 0, "/life");
    create(stage, 1, "/life/again", 0);
    set(stage, 1, "/life/again", 0);
    list(stage, 0, "/life");
}

static void test_life(void **state)
{
    (void)state;
    check_play(play_life);
}

/* Sequence numbers: after other children, after deletes, in a parent made anew, in a transaction.
 */
static void play_sequence(struct stage *stage)
{
    create(stage, 0, "/line", 0);
    create(stage, 0, "/line/s-", ZK_SEQUENTIAL);
    create(stage, 1, "/line/other-", ZK_SEQUENTIAL);
    create(stage, 1, "/line/plain", 0);
    create(stage, 0, "/line/s-", ZK_SEQUENTIAL);
    drop(stage, 0, "/line/plain", 0);
    create(stage, 0, "/line/s-", ZK_SEQUENTIAL);
    set(stage, 0, "/line", 0);
    create(stage, 0, "/line/", ZK_SEQUENTIAL);
    create(stage, 0, "/nowhere/s-", ZK_SEQUENTIAL);
    const struct zk_write writes[] = {
        {.kind = ZK_CREATE, .path = "/line/t-", .flags = ZK_SEQUENTIAL},
        {.kind = ZK_DELETE, .path = "/line/s-0000000000", .version = ZK_ANY_VERSION},
        {.kind = ZK_CREATE, .path = "/line/t-", .flags = ZK_SEQUENTIAL | ZK_EPHEMERAL},
    };
    many(stage, 1, writes, 3);
    list(stage, 0, "/line");
    create(stage, 0, "/short", 0);
    create(stage, 0, "/short/s-", ZK_SEQUENTIAL);
    drop(stage, 0, "/short/s-0000000000", 0);
    create(stage, 0, "/short/s-", ZK_SEQUENTIAL);
    drop(stage, 0, "/short/s-0000000001", 0);
    list(stage, 1, "/short");
    drop(stage, 0, "/short", 0);
    create(stage, 0, "/short", 0);
    create(stage, 0, "/short/s-", ZK_SEQUENTIAL);
    list(stage, 1, "/short");
}

static void test_sequence(void **state)
{
    (void)state;
    check_play(play_sequence);
}

/* Ephemerals have an owner, no children, and go with their session, which another may close. */
static void play_ephemeral(struct stage *stage)
{
    create(stage, 0, "/members", 0);
    create(stage, 2, "/members/two", ZK_EPHEMERAL);
    create(stage, 0, "/members/zero", ZK_EPHEMERAL);
    create(stage, 2, "/members/n-", ZK_EPHEMERAL | ZK_SEQUENTIAL);
    create(stage, 2, "/members/two/child", 0);
    create(stage, 2, "/members/two/s-", ZK_SEQUENTIAL);
    create(stage, 0, "/members/two", ZK_EPHEMERAL);
    get(stage, 1, "/members/two");
    set(stage, 0, "/members/two", 0);
    get(stage, 0, "/members/n-0000000002");
    watch_children(stage, 0, "/members");
    watch(stage, 1, "/members/two");
    watch(stage, 1, "/members/zero");
    stage_add(stage, -1, "the session of 2 is closed");
    stage_close_session(&stage->actors[2]);
    stage_settle(stage);
    list(stage, 1, "/members");
    get(stage, 1, "/members/two");
    create(stage, 0, "/members/two", ZK_EPHEMERAL);
    get(stage, 1, "/members/two");
    drop(stage, 1, "/members/zero", ZK_ANY_VERSION);
    stage_add(stage, -1, "2 writes and reads in a session that is over");
    stage_write(&stage->actors[2], &(struct zk_write){.kind = ZK_CREATE, .path = "/ghost"}, 1);
    stage_read(&stage->actors[2], "/members", false, false);
    stage_read(&stage->actors[2], "/members", true, true);
    list(stage, 1, "/members");
}

static void test_ephemeral(void **state)
{
    (void)state;
    check_play(play_ephemeral);
}

/* Transactions: parts that rest on each other, and the part that failed, whatever its place. */
static void play_transaction(struct stage *stage)
{
    create(stage, 0, "/tx", 0);
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
    many(stage, 0, chain, 9);
    many(stage, 1, chain, 9);
    get(stage, 1, "/tx/a");
    get(stage, 1, "/tx");
    list(stage, 1, "/tx/a");
    const struct zk_write bad_last[] = {
        {.kind = ZK_CREATE, .path = "/tx/c"},
        {.kind = ZK_DELETE, .path = "/tx/a/b", .version = 0},
        {.kind = ZK_DELETE, .path = "/tx/a", .version = 2},
        {.kind = ZK_SET, .path = "/tx/a", .version = ZK_ANY_VERSION},
    };
    many(stage, 0, bad_last, 4);
    many(stage, 0, bad_last, 3);
    list(stage, 0, "/tx");
    get(stage, 0, "/tx/a");
    const struct zk_write set_twice[] = {
        {.kind = ZK_SET, .path = "/tx/c", .version = 0},
        {.kind = ZK_SET, .path = "/tx", .version = 1},
        {.kind = ZK_SET, .path = "/tx/c", .data = "x", .size = 1, .version = 1},
    };
    many(stage, 1, set_twice, 3);
    many(stage, 1, set_twice, 3);
    get(stage, 0, "/tx/c");
}

static void test_transaction(void **state)
{
    (void)state;
    check_play(play_transaction);
}

/* Each reason a part can be refused for, behind a part that would have been fine. */
static void play_refused_parts(struct stage *stage)
{
    create(stage, 0, "/part", 0);
    create(stage, 0, "/part/full", 0);
    create(stage, 0, "/part/full/child", 0);
    create(stage, 0, "/part/mine", ZK_EPHEMERAL);
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
        many(stage, 0, writes, 4);
        many(stage, 1, &writes[2], 2);
        many(stage, 1, &writes[2], 1);
    }
    list(stage, 0, "/part");
    create(stage, 0, "/part/new-", ZK_SEQUENTIAL);
}

static void test_refused_parts(void **state)
{
    (void)state;
    check_play(play_refused_parts);
}

/* Watches on data: fire once, for sets and the end, also for whoever changed it himself. */
static void play_data_watch(struct stage *stage)
{
    create(stage, 0, "/data", 0);
    watch(stage, 0, "/data");
    watch(stage, 1, "/data");
    watch(stage, 1, "/data");
    set(stage, 0, "/data", 7);
    set(stage, 0, "/data", 0);
    set(stage, 0, "/data", 1);
    watch(stage, 1, "/data");
    create(stage, 0, "/data/child", 0);
    drop(stage, 0, "/data/child", 0);
    drop(stage, 0, "/data", 2);
    watch(stage, 1, "/data");
    watch(stage, 2, "/data");
    create(stage, 2, "/data", 0);
    set(stage, 2, "/data", 0);
    watch(stage, 1, "/data");
    const struct zk_write twice[] = {
        {.kind = ZK_SET, .path = "/data", .version = 1},
        {.kind = ZK_SET, .path = "/data", .version = 2},
        {.kind = ZK_DELETE, .path = "/data", .version = 3},
        {.kind = ZK_CREATE, .path = "/data"},
    };
    many(stage, 0, twice, 4);
    get(stage, 1, "/data");
}

static void test_data_watch(void **state)
{
    (void)state;
    check_play(play_data_watch);
}

/* Watches on children: for those that come and go, not for what they hold; and for the end. */
static void play_children_watch(struct stage *stage)
{
    create(stage, 0, "/parent", 0);
    watch_children(stage, 1, "/parent");
    set(stage, 0, "/parent", 0);
    create(stage, 0, "/parent/a", 0);
    create(stage, 0, "/parent/b", 0);
    watch_children(stage, 1, "/parent");
    set(stage, 0, "/parent/a", 0);
    create(stage, 0, "/parent/a/deep", 0);
    drop(stage, 0, "/parent/a/deep", 0);
    drop(stage, 0, "/parent/a", 1);
    watch_children(stage, 1, "/parent");
    watch_children(stage, 2, "/nowhere");
    create(stage, 2, "/nowhere", 0);
    drop(stage, 2, "/nowhere", 0);
    const struct zk_write two[] = {
        {.kind = ZK_CREATE, .path = "/parent/c"},
        {.kind = ZK_CREATE, .path = "/parent/d"},
        {.kind = ZK_DELETE, .path = "/parent/b", .version = 0},
    };
    many(stage, 0, two, 3);
    list(stage, 1, "/parent");
}

static void test_children_watch(void **state)
{
    (void)state;
    check_play(play_children_watch);
}

/* Watches of both kinds on one znode, and what of them fires when it goes. */
static void play_both_watches(struct stage *stage)
{
    create(stage, 0, "/both", 0);
    create(stage, 0, "/both/child", 0);
    watch(stage, 1, "/both");
    watch_children(stage, 1, "/both");
    watch(stage, 1, "/both/child");
    watch_children(stage, 1, "/both/child");
    watch_children(stage, 2, "/both");
    drop(stage, 0, "/both/child", 0);
    watch_children(stage, 1, "/both");
    drop(stage, 0, "/both", 0);
    create(stage, 0, "/both", 0);
    watch(stage, 1, "/both");
    watch_children(stage, 1, "/both");
    const struct zk_write all[] = {
        {.kind = ZK_CREATE, .path = "/both/child"},
        {.kind = ZK_SET, .path = "/both", .version = 0},
        {.kind = ZK_DELETE, .path = "/both/child", .version = 0},
        {.kind = ZK_DELETE, .path = "/both", .version = 1},
    };
    many(stage, 0, all, 4);
    get(stage, 1, "/both");
}

static void test_both_watches(void **state)
{
    (void)state;
    check_play(play_both_watches);
}

static void create_all(struct stage *stage, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) { create(stage, 0, paths[i], 0); }
}

/* Watches that are still there when the connection breaks: after it is back, what changed is told,
 * also what came and went in between as far as it shows, and the others still wait. */
static void play_reconnection(struct stage *stage)
{
    static const char *const paths[] = {"/gap",       "/gap/set",  "/gap/same",
                                        "/gap/gone",  "/gap/anew", "/gap/list",
                                        "/gap/quiet", "/gap/both", "/gap/bare"};
    stage->any_order = true;
    create_all(stage, paths, sizeof paths / sizeof paths[0]);
    watch(stage, 1, "/gap/set");
    watch(stage, 1, "/gap/same");
    watch(stage, 1, "/gap/gone");
    watch(stage, 1, "/gap/anew");
    watch(stage, 1, "/gap/coming");
    watch(stage, 1, "/gap/missing");
    watch(stage, 1, "/gap/brief");
    watch_children(stage, 1, "/gap/list");
    watch_children(stage, 1, "/gap/quiet");
    watch_children(stage, 1, "/gap/bare");
    watch(stage, 1, "/gap/both");
    watch_children(stage, 1, "/gap/both");
    stage_add(stage, -1, "1 is cut off");
    stage_part(stage);
    set(stage, 0, "/gap/set", 0);
    drop(stage, 0, "/gap/gone", 0);
    drop(stage, 0, "/gap/anew", 0);
    create(stage, 0, "/gap/anew", 0);
    create(stage, 0, "/gap/coming", 0);
    create(stage, 0, "/gap/brief", 0);
    drop(stage, 0, "/gap/brief", 0);
    create(stage, 0, "/gap/list/child", 0);
    drop(stage, 0, "/gap/list/child", 0);
    set(stage, 0, "/gap/quiet", 0);
    drop(stage, 0, "/gap/bare", 0);
    create(stage, 0, "/gap/bare", 0);
    create(stage, 0, "/gap/both/child", 0);
    set(stage, 0, "/gap/both", 0);
    stage_add(stage, -1, "1 is back");
    stage_join(stage);
    stage_settle(stage);
    set(stage, 0, "/gap/set", 1);
    set(stage, 0, "/gap/same", 0);
    create(stage, 0, "/gap/missing", 0);
    create(stage, 0, "/gap/quiet/child", 0);
    create(stage, 0, "/gap/brief", 0);
    create(stage, 0, "/gap/list/child", 0);
    get(stage, 1, "/gap/anew");
}

static void test_reconnection(void **state)
{
    (void)state;
    check_play(play_reconnection);
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
    return cmocka_run_group_tests(tests, start_servers, stop_servers);
}
