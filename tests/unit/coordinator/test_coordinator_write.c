/* The chief's transactions after refusals. */
#include "tests/unit/coordinator/coordinator_scene.h"

enum { RUN_PART = 2 /* After the two parts of the fence. */ };

static int setup(void **state)
{
    (void)state;
    scene_begin("test");
    return 0;
}

static void elect(void)
{
    coordinator_decide(&c, (struct chief_event){.type = CHIEF_EV_ELECTED,
                                                .elected = {.epoch = 1, .cause = "first chief"}});
}

/* The newest write deletes /run, whatever its version, and creates it. */
static void assert_run_is_replaced(void)
{
    const struct fake_request *write = scene_newest();
    assert_int_equal(write->verb, 'w');
    assert_int_equal(write->writes[RUN_PART].kind, ZK_DELETE);
    assert_string_equal(write->writes[RUN_PART].path, "/tanist/test/run");
    assert_int_equal(write->writes[RUN_PART].version, ZK_ANY_VERSION);
    assert_int_equal(write->writes[RUN_PART + 1].kind, ZK_CREATE);
    assert_string_equal(write->writes[RUN_PART + 1].path, "/tanist/test/run");
}

/* If an ACL forbids both to write /run and to read it, it is replaced (C15). */
static void run_that_cannot_be_read_is_replaced(void **state)
{
    (void)state;
    elect();
    scene_refuse(scene_newest(), RUN_PART, ZK_REASON_NO_AUTH);
    scene_refuse(fake_last(&fake, 'r', "/run"), 0, ZK_REASON_NO_AUTH);
    scene_wait(1000);
    assert_run_is_replaced();
}

/* If the replacement is denied, too, the coordinator reports it. */
static void denied_replacement_is_reported(void **state)
{
    (void)state;
    run_that_cannot_be_read_is_replaced(state);
    scene_refuse(scene_newest(), RUN_PART, ZK_REASON_NO_AUTH);
    assert_non_null(strstr(c.membership.problem, "/run"));
}

/* A read that was refused for another reason does not show whether /run exists: it is repeated. */
static void failed_read_of_run_is_repeated(void **state)
{
    (void)state;
    elect();
    scene_refuse(scene_newest(), RUN_PART, ZK_REASON_BAD_VERSION);
    const uint64_t first = scene_newest()->op;
    scene_refuse(scene_newest(), 0, ZK_REASON_EXPIRED);
    scene_wait(LEADERSHIP_RETRY_MS);
    assert_ptr_equal(scene_newest(), fake_last(&fake, 'r', "/run"));
    assert_true(scene_newest()->op > first);
}

/* A new chief that may not read /run replaces it. */
static void new_chief_replaces_a_run_that_it_may_not_read(void **state)
{
    (void)state;
    c.stage = LEADERSHIP_NONE;
    c.election.phase = ELECTION_CHIEF;
    scene_event((struct zk_event){.type = ZK_DISCONNECTED});
    assert_int_equal(c.stage, LEADERSHIP_READING);
    scene_refuse(fake_last(&fake, 'r', "/assignment"), 0, ZK_REASON_NO_NODE);
    scene_refuse(fake_last(&fake, 'r', "/spec"), 0, ZK_REASON_NO_NODE);
    scene_list("/checkpoints", NULL, 0);
    scene_refuse(fake_last(&fake, 'r', "/run"), 0, ZK_REASON_NO_AUTH);
    assert_int_equal(c.stage, LEADERSHIP_ACTIVE);
    assert_non_null(strstr(c.reading.run_error.text, "ACL"));
    const struct fake_request *write = fake_last(&fake, 'w', "/chief");
    assert_int_equal(write->writes[RUN_PART].kind, ZK_DELETE);
    assert_int_equal(write->writes[RUN_PART].version, ZK_ANY_VERSION);
}

/* The chief has written enough entries, and these are the children of /history. */
static void list_history(const char *const *names, size_t count)
{
    elect();
    scene_answer("");
    scene_list("/history", names, count);
}

/* The oldest entries of /history beyond HISTORY_MAX are deleted. Children that
 * the chief did not create are left alone: a name of any length blocks no deletion. */
static void only_entries_of_the_history_are_trimmed(void **state)
{
    (void)state;
    enum { ENTRIES = HISTORY_MAX + 2, OTHERS = 5 };
    static char entries[ENTRIES][16], longest[201];
    const char *names[ENTRIES + OTHERS] = {longest, "n-1", "n-00000000011", "n-00000000x1",
                                           "a-0000000000"};
    memset(longest, 'a', sizeof longest - 1);
    for (size_t i = 0; i < ENTRIES; i++) {
        snprintf(entries[i], sizeof entries[i], "n-%010zu", ENTRIES - i);
        names[OTHERS + i] = entries[i];
    }
    list_history(names, ENTRIES + OTHERS);
    const struct fake_request *trim = scene_newest();
    assert_int_equal(trim->verb, 'w');
    assert_int_equal(trim->count, RUN_PART + 2);
    assert_string_equal(trim->writes[RUN_PART].path, "/tanist/test/history/n-0000000001");
    assert_string_equal(trim->writes[RUN_PART + 1].path, "/tanist/test/history/n-0000000002");
}

/* Children of others do not count as entries. */
static void few_entries_are_not_trimmed(void **state)
{
    (void)state;
    enum { OTHERS = HISTORY_MAX + 1 };
    static char others[OTHERS][16];
    const char *names[OTHERS];
    for (size_t i = 0; i < OTHERS; i++) {
        snprintf(others[i], sizeof others[i], "a-%010zu", i);
        names[i] = others[i];
    }
    list_history(names, OTHERS);
    assert_int_equal(scene_newest()->verb, 'l');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(run_that_cannot_be_read_is_replaced, setup),
        cmocka_unit_test_setup(denied_replacement_is_reported, setup),
        cmocka_unit_test_setup(failed_read_of_run_is_repeated, setup),
        cmocka_unit_test_setup(new_chief_replaces_a_run_that_it_may_not_read, setup),
        cmocka_unit_test_setup(only_entries_of_the_history_are_trimmed, setup),
        cmocka_unit_test_setup(few_entries_are_not_trimmed, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
