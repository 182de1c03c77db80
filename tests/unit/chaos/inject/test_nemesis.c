/* chaos/inject/nemesis.h: when faults begin and end, which are tried again, and the records of
 * them. The injectors, the watcher, failpoints and the history are replaced by fakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos/cluster/remote.h"
#include "chaos/inject/inject_failpoint.h"
#include "chaos/inject/injector.h"
#include "chaos/inject/nemesis.h"

/* ------------------------------------------------------------- the fakes */

static struct {
    enum tn_status begin_status; /* Result of the injector. */
    uint64_t set_for_ms;         /* Its tick sets this; 0: nothing. */
    unsigned begins, ticks, ends, leaders_asked;
    bool asked_remote;  /* For an injector of remote clusters. */
    const char *lacks;  /* Result of the probe. */
    bool armed, passed; /* The failpoint. */
    unsigned disarmed;
    struct cluster_view view;
    unsigned faults, undos, skips; /* Lines in the history. */
    char why[200];                 /* Text of the last line "skipped". */
} world;

static enum tn_status begin(struct target_cluster *cluster, struct active_fault *fault,
                            struct error *error)
{
    (void)cluster;
    world.begins++;
    snprintf(fault->text, sizeof fault->text, "done");
    if (world.begin_status == TN_OK) { return TN_OK; }
    return error_set(error, world.begin_status, "refused");
}

static void tick(struct target_cluster *cluster, struct active_fault *fault)
{
    (void)cluster;
    world.ticks++;
    if (world.set_for_ms) { fault->injection.for_ms = world.set_for_ms; }
}

static void end(struct target_cluster *cluster, struct active_fault *fault)
{
    (void)cluster;
    (void)fault;
    world.ends++;
}

static const struct injector injector = {.begin = begin, .tick = tick, .end = end};

const struct injector *injector_of(enum fault fault, bool remote)
{
    (void)fault;
    world.asked_remote = remote;
    return &injector;
}

const struct cluster_view *watcher_view(const struct watcher *watcher)
{
    (void)watcher;
    return &world.view;
}

void watcher_find_leader(struct watcher *watcher)
{
    (void)watcher;
    world.leaders_asked++;
}

const char *probe_lacks(const struct probe *probe, unsigned needs)
{
    (void)probe;
    return needs ? world.lacks : NULL;
}

const char *probe_lacking_need(const struct probe *probe, unsigned needs)
{
    return probe_lacks(probe, needs) != NULL ? "network" : NULL;
}

enum tn_status failpoint_watch_arm(struct failpoint_watch *watch, struct target_cluster *cluster,
                                   const struct injection *injection, struct error *error)
{
    (void)injection;
    *watch = (struct failpoint_watch){.component = target_cluster_component(cluster, "ps:1")};
    world.armed = world.begin_status == TN_OK;
    return world.armed ? TN_OK : error_set(error, world.begin_status, "refused");
}

bool failpoint_watch_poll(struct failpoint_watch *watch, struct target_cluster *cluster)
{
    (void)watch;
    (void)cluster;
    return world.armed && world.passed;
}

void failpoint_watch_disarm(struct failpoint_watch *watch)
{
    (void)watch;
    world.disarmed++;
}

void history_file_add_at(struct history_file *file, uint64_t at_us, const char *kind,
                         json_t *object)
{
    (void)file;
    (void)at_us;
    assert_non_null(object);
    world.faults += strcmp(kind, "fault") == 0;
    world.undos += strcmp(kind, "undo") == 0;
    world.skips += strcmp(kind, "skipped") == 0;
    if (strcmp(kind, "skipped") == 0) {
        snprintf(world.why, sizeof world.why, "%s",
                 json_string_value(json_object_get(object, "text")));
    }
    json_decref(object);
}

void history_file_add(struct history_file *file, const char *kind, json_t *object)
{
    history_file_add_at(file, 0, kind, object);
}

/* ------------------------------------------------------------- the scene */

static struct job job;
static struct target_cluster cluster;
static struct injection injection;

/* With one fault, `injection`. */
static struct nemesis *make_nemesis(void)
{
    static struct schedule schedule;
    static struct probe probe;
    schedule = (struct schedule){.count = 1, .list = &injection};
    const struct nemesis_config config = {
        .cluster = &cluster, .schedule = &schedule, .probe = &probe};
    return nemesis_create(&config);
}

/* Training began at 1000 ms; the fault is due 500 ms later. */
static int set_up(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    job_init(&job);
    target_cluster_init(&cluster, &job);
    world.view = (struct cluster_view){.has_run = true, .training_began_ms = 1000};
    injection = (struct injection){
        .id = 1, .fault = FAULT_KILL, .selector = "ps:1", .trigger = {.at_ms = 500, .count = 1}};
    return 0;
}

/* ------------------------------------------------------------- when it is due */

/* A fault at a time is due that long after training began, not after the round began. */
static void time_counts_from_training(void **state)
{
    (void)state;
    struct nemesis *nemesis = make_nemesis();
    world.view.training_began_ms = 0;
    nemesis_step(nemesis, 9000);
    assert_int_equal(world.begins, 0);
    world.view.training_began_ms = 1000;
    nemesis_step(nemesis, 1499);
    assert_int_equal(world.begins, 0);
    nemesis_step(nemesis, 1500);
    nemesis_step(nemesis, 1501);
    assert_int_equal(world.begins, 1);
    assert_int_equal(nemesis_counts(nemesis).done, 1);
    nemesis_destroy(nemesis);
}

/* A fault at a step waits until the run has reached it. */
static void step_must_be_reached(void **state)
{
    (void)state;
    injection.trigger = (struct trigger){.type = TRIGGER_STEP, .step = 70};
    struct nemesis *nemesis = make_nemesis();
    world.view.step = 69;
    nemesis_step(nemesis, 1);
    world.view = (struct cluster_view){.has_run = false, .step = 70};
    nemesis_step(nemesis, 2);
    assert_int_equal(world.begins, 0);
    world.view.has_run = true;
    nemesis_step(nemesis, 3);
    assert_int_equal(world.begins, 1);
    nemesis_destroy(nemesis);
}

/* A fault in a phase waits until the run has entered it for the count-th time. */
static void phase_is_counted(void **state)
{
    (void)state;
    injection.trigger = (struct trigger){.type = TRIGGER_PHASE, .phase = RUN_LOADING, .count = 2};
    struct nemesis *nemesis = make_nemesis();
    world.view.phase_count[RUN_LOADING] = 1;
    nemesis_step(nemesis, 1);
    assert_int_equal(world.begins, 0);
    world.view.phase_count[RUN_LOADING] = 2;
    nemesis_step(nemesis, 2);
    assert_int_equal(world.begins, 1);
    nemesis_destroy(nemesis);
}

/* The leader of the ensemble is looked up before a selector that depends on it. */
static void leader_is_looked_up(void **state)
{
    (void)state;
    snprintf(injection.selector, sizeof injection.selector, "zookeeper-follower");
    struct nemesis *nemesis = make_nemesis();
    nemesis_step(nemesis, 1500);
    assert_int_equal(world.leaders_asked, 1);
    nemesis_destroy(nemesis);
}

/* ------------------------------------------------------------- retries */

/* An absent target is tried again every 20 ms, for 20 s. */
static void absent_target_is_waited_for(void **state)
{
    (void)state;
    struct nemesis *nemesis = make_nemesis();
    world.begin_status = TN_EAGAIN;
    nemesis_step(nemesis, 2000);
    nemesis_step(nemesis, 2019);
    assert_int_equal(world.begins, 1);
    nemesis_step(nemesis, 2020);
    assert_int_equal(world.begins, 2);
    nemesis_step(nemesis, 22000);
    assert_int_equal(nemesis_counts(nemesis).waiting, 1);
    nemesis_step(nemesis, 22020);
    assert_int_equal(nemesis_counts(nemesis).skipped, 1);
    assert_string_equal(world.why, "refused");
    assert_int_equal(nemesis_counts(nemesis).done, 0);
    nemesis_destroy(nemesis);
}

/* A target that returns in time gets the fault, once. */
static void returning_target_gets_the_fault(void **state)
{
    (void)state;
    struct nemesis *nemesis = make_nemesis();
    world.begin_status = TN_EAGAIN;
    nemesis_step(nemesis, 2000);
    world.begin_status = TN_OK;
    nemesis_step(nemesis, 2500);
    assert_int_equal(world.faults, 1);
    assert_int_equal(world.skips, 0);
    nemesis_destroy(nemesis);
}

/* After any other failure the fault is skipped at once. */
static void failure_is_final(void **state)
{
    (void)state;
    struct nemesis *nemesis = make_nemesis();
    world.begin_status = TN_ENOTSUP;
    nemesis_step(nemesis, 2000);
    nemesis_step(nemesis, 3000);
    assert_int_equal(world.begins, 1);
    assert_int_equal(world.skips, 1);
    nemesis_destroy(nemesis);
}

/* A fault that needs what the machine lacks is not tried. */
static void lacking_machine_skips(void **state)
{
    (void)state;
    injection.fault = FAULT_CUT;
    world.lacks = "root may";
    struct nemesis *nemesis = make_nemesis();
    nemesis_step(nemesis, 2000);
    assert_int_equal(world.begins, 0);
    assert_string_equal(world.why, "root may");
    nemesis_destroy(nemesis);
}

/* A remote cluster has its own injectors, and its failpoints are out of reach. */
static void remote_has_its_own_injectors(void **state)
{
    (void)state;
    struct remote remote = {0};
    cluster.remote = &remote;
    struct nemesis *nemesis = make_nemesis();
    nemesis_step(nemesis, 2000);
    assert_int_equal(world.begins, 1);
    assert_true(world.asked_remote);
    nemesis_destroy(nemesis);
    injection.trigger.type = TRIGGER_FAILPOINT;
    nemesis = make_nemesis();
    nemesis_step(nemesis, 2000);
    assert_false(world.armed);
    assert_int_equal(world.skips, 1);
    nemesis_destroy(nemesis);
}

/* ------------------------------------------------------------- active faults */

/* An active fault is ticked until its time is over, then ended, once. */
static void active_fault_is_ended(void **state)
{
    (void)state;
    injection.fault = FAULT_FREEZE;
    injection.for_ms = 300;
    struct nemesis *nemesis = make_nemesis();
    nemesis_step(nemesis, 1500);
    nemesis_step(nemesis, 1799);
    assert_int_equal(world.ticks, 1);
    assert_int_equal(nemesis_counts(nemesis).active, 1);
    nemesis_step(nemesis, 1800);
    nemesis_step(nemesis, 1900);
    assert_int_equal(world.ends, 1);
    assert_int_equal(world.undos, 1);
    assert_int_equal(nemesis_counts(nemesis).active, 0);
    nemesis_destroy(nemesis);
}

/* The tick of an injector can make a fault shorter. */
static void tick_may_change_the_end(void **state)
{
    (void)state;
    injection.for_ms = 300;
    struct nemesis *nemesis = make_nemesis();
    nemesis_step(nemesis, 1500);
    world.set_for_ms = 1;
    nemesis_step(nemesis, 1600);
    nemesis_step(nemesis, 1601);
    assert_int_equal(world.ends, 1);
    nemesis_destroy(nemesis);
}

/* At the end of a run active faults are ended, and those that were never due are skipped. */
static void finish_ends_all_faults(void **state)
{
    (void)state;
    injection.for_ms = 60000;
    struct nemesis *nemesis = make_nemesis();
    nemesis_step(nemesis, 1500);
    nemesis_finish(nemesis, "the run ended before it was due");
    nemesis_finish(nemesis, "the run ended before it was due");
    assert_int_equal(world.ends, 1);
    nemesis_destroy(nemesis);
    nemesis = make_nemesis();
    nemesis_finish(nemesis, "the run ended before it was due");
    assert_int_equal(world.skips, 1);
    assert_int_equal(nemesis_counts(nemesis).waiting, 0);
    nemesis_destroy(nemesis);
}

/* ------------------------------------------------------------- failpoints */

/* A failpoint without a time is armed before training begins; the fault is recorded when it is
 * passed. */
static void failpoint_is_armed_at_once(void **state)
{
    (void)state;
    injection.trigger = (struct trigger){.type = TRIGGER_FAILPOINT, .count = 1};
    world.view = (struct cluster_view){0};
    struct nemesis *nemesis = make_nemesis();
    nemesis_step(nemesis, 1);
    assert_true(world.armed);
    nemesis_step(nemesis, 2);
    assert_int_equal(world.faults, 0);
    world.passed = true;
    nemesis_step(nemesis, 3);
    nemesis_step(nemesis, 4);
    assert_int_equal(world.faults, 1);
    assert_int_equal(world.begins, 0);
    nemesis_destroy(nemesis);
}

/* An order for a failpoint that no process passed is taken back. */
static void failpoint_not_passed_is_disarmed(void **state)
{
    (void)state;
    injection.fault = FAULT_STALL;
    injection.trigger = (struct trigger){.type = TRIGGER_FAILPOINT, .count = 1};
    struct nemesis *nemesis = make_nemesis();
    nemesis_step(nemesis, 2000);
    nemesis_finish(nemesis, "the run ended before it was due");
    assert_int_equal(world.disarmed, 1);
    assert_int_equal(world.skips, 1);
    nemesis_destroy(nemesis);
}

#define TEST(test) cmocka_unit_test_setup(test, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(time_counts_from_training),
        TEST(step_must_be_reached),
        TEST(phase_is_counted),
        TEST(leader_is_looked_up),
        TEST(absent_target_is_waited_for),
        TEST(returning_target_gets_the_fault),
        TEST(failure_is_final),
        TEST(lacking_machine_skips),
        TEST(remote_has_its_own_injectors),
        TEST(active_fault_is_ended),
        TEST(tick_may_change_the_end),
        TEST(finish_ends_all_faults),
        TEST(failpoint_is_armed_at_once),
        TEST(failpoint_not_passed_is_disarmed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
