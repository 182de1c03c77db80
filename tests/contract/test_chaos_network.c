/* Network faults, observed with real sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/contract/lab_scene.h"

/* A node that is cut off from ZooKeeper reaches its peers; other nodes are not affected. */
static void cut_zookeeper_affects_one_node(void **state)
{
    (void)state;
    begin(FAULT_CUT_ZOOKEEPER, "ps:0", 0);
    assert_true(cannot_reach("ps:0", "zookeeper:1"));
    assert_true(can_reach("ps:0", "ps:1"));
    assert_true(can_reach("ps:1", "zookeeper:1"));
    assert_non_null(strstr(active.text, lab_address(lab, "ps:0")));
    finish();
    assert_true(can_reach("ps:0", "zookeeper:1"));
}

/* A node that is cut off from its peers reaches ZooKeeper. */
static void cut_peers_spares_zookeeper(void **state)
{
    (void)state;
    begin(FAULT_CUT_PEERS, "ps:0", 0);
    assert_true(cannot_reach("ps:0", "worker:0"));
    assert_true(cannot_reach("worker:0", "ps:0"));
    assert_true(can_reach("ps:0", "zookeeper:1"));
    assert_true(can_reach("worker:0", "ps:1"));
    finish();
    assert_true(can_reach("worker:0", "ps:0"));
}

/* A one-way cut lets the other direction pass; bytes sent meanwhile arrive afterwards. */
static void one_way_cuts_have_a_direction(void **state)
{
    (void)state;
    struct pair pair = pair_of("ps:0", "ps:1");
    begin(FAULT_CUT_OUT, "ps:0", 0);
    assert_true(is_lost(pair.from, pair.to));
    assert_true(passes(pair.to, pair.from));
    finish();
    assert_true(ready(pair.to, POLLIN));
    close_pair(pair);
    pair = pair_of("ps:0", "ps:1");
    begin(FAULT_CUT_IN, "ps:0", 0);
    assert_true(passes(pair.from, pair.to));
    assert_true(is_lost(pair.to, pair.from));
    finish();
    close_pair(pair);
}

/* Components reach those of their own half only. */
static void halves_do_not_reach_each_other(void **state)
{
    (void)state;
    begin(FAULT_HALVES, "cluster", 0);
    bool half[COMPONENTS] = {false};
    for (unsigned i = 0; i < COMPONENTS; i++) {
        for (uint32_t j = 0; j < active.targets.count; j++) {
            if (strcmp(names[i], active.targets.components[j]->name) == 0) { half[i] = true; }
        }
    }
    assert_true(active.targets.count > 0 && active.targets.count < COMPONENTS);
    for (unsigned i = 0; i < COMPONENTS; i++) {
        for (unsigned j = 0; j < i; j++) {
            assert_true(half[i] == half[j] ? can_reach(names[i], names[j])
                                           : cannot_reach(names[i], names[j]));
        }
    }
    finish();
    for (unsigned i = 0; i < COMPONENTS; i++) { assert_true(can_reach(names[i], names[0])); }
}

/* Old connections carry nothing during a black hole, new ones are not affected. */
static void black_hole_affects_old_connections(void **state)
{
    (void)state;
    struct pair old = pair_of("worker:0", "ps:0");
    begin(FAULT_BLACK_HOLE, "ps:0", 0);
    struct pair new = pair_of("worker:0", "ps:0");
    assert_true(is_lost(old.from, old.to));
    assert_true(is_lost(old.to, old.from));
    assert_true(passes(new.from, new.to));
    assert_true(passes(new.to, new.from));
    finish();
    assert_true(ready(old.to, POLLIN));
    close_pair(old);
    close_pair(new);
}

/* A packet in a burst of the storm resets both ends of its connection; between bursts connections
 * work. */
static void storm_resets_both_ends(void **state)
{
    (void)state;
    struct pair to = pair_of("worker:0", "ps:0"), from = pair_of("ps:0", "worker:0");
    begin(FAULT_RESET_STORM, "ps:0", 0);
    assert_int_equal(send(to.from, "x", 1, MSG_NOSIGNAL), 1);
    assert_int_equal(send(from.from, "x", 1, MSG_NOSIGNAL), 1);
    assert_true(is_reset(to.from));
    assert_true(is_reset(from.from));
    (void)poll(NULL, 0, 40);
    injector->tick(cluster, &active);
    assert_true(can_reach("worker:0", "ps:0"));
    finish();
    close_pair(to);
    close_pair(from);
}

/* With all packets lost no connection is made; with few lost TCP repeats them. */
static void loss_loses_packets(void **state)
{
    (void)state;
    begin(FAULT_LOSS, "ps:0", 100);
    assert_true(cannot_reach("worker:0", "ps:0"));
    finish();
    begin(FAULT_LOSS, "ps:0", 0.01);
    assert_true(can_reach("worker:0", "ps:0"));
    finish();
}

/* Send until enough bytes have arrived; returns how many. */
static size_t flow(struct pair pair)
{
    static char block[64 * 1024];
    size_t got = 0;
    for (int i = 0; i < 100000 && got < 8 * 1024 * 1024; i++) {
        (void)!send(pair.from, block, sizeof block, MSG_NOSIGNAL);
        if (!ready(pair.to, POLLIN)) { break; }
        ssize_t size = recv(pair.to, block, sizeof block, 0);
        if (size > 0) { got += (size_t)size; }
    }
    return got;
}

static uint64_t flow_ms(struct pair pair)
{
    uint64_t start_ms = clock_monotonic_ms();
    assert_true(flow(pair) > 0);
    return clock_monotonic_ms() - start_ms;
}

/* A slow link is slow in both directions, and fast again afterwards. */
static void bandwidth_is_limited(void **state)
{
    (void)state;
    const char *lacks = probe_lacks(&probe, NEED_BANDWIDTH);
    if (lacks != NULL) {
        printf("SKIPPED: %s\n", lacks);
        return;
    }
    struct pair in = pair_of("worker:0", "ps:0"), out = pair_of("ps:0", "worker:0");
    begin(FAULT_BANDWIDTH, "ps:0", 100);
    assert_true(flow_ms(in) > 400); /* 8 MiB at 100 Mbit/s: 671 ms. */
    assert_true(flow_ms(out) > 400);
    finish();
    bool fast = false;
    for (int i = 0; i < 20 && !fast; i++) { fast = flow_ms(in) < 400; } /* Machines are busy. */
    assert_true(fast);
    close_pair(in);
    close_pair(out);
}

/* A target without a network is refused, and a fault without a duration. */
static void impossible_faults_are_refused(void **state)
{
    (void)state;
    struct target_cluster bare = *cluster;
    bare.lab = NULL;
    injector = injector_of(FAULT_CUT, false);
    active = (struct active_fault){
        .injection = {.id = 7, .fault = FAULT_CUT, .for_ms = 1, .selector = "ps:0"}};
    assert_int_equal(injector_begin(injector, &bare, &active, &error), TN_ENOTSUP);
    active.injection.for_ms = 0;
    assert_int_equal(injector_begin(injector, cluster, &active, &error), TN_EINVAL);
    active.injection =
        (struct injection){.id = 7, .fault = FAULT_CUT, .for_ms = 1, .selector = "agent"};
    assert_int_equal(injector_begin(injector, cluster, &active, &error), TN_ENOTSUP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_zookeeper_affects_one_node),
        cmocka_unit_test(cut_peers_spares_zookeeper),
        cmocka_unit_test(one_way_cuts_have_a_direction),
        cmocka_unit_test(halves_do_not_reach_each_other),
        cmocka_unit_test(black_hole_affects_old_connections),
        cmocka_unit_test(storm_resets_both_ends),
        cmocka_unit_test(loss_loses_packets),
        cmocka_unit_test(bandwidth_is_limited),
        cmocka_unit_test(impossible_faults_are_refused),
    };
    return RUN_IN_LAB(tests);
}
