/* Attacks on a network, as real sockets feel them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/contract/lab_scene.h"

/* Without ZooKeeper's packets a node still reaches its peers, and nobody else misses them. */
static void cut_zookeeper_is_of_one_node(void **state)
{
    (void)state;
    begin(&injector_cut, FAULT_CUT_ZOOKEEPER, "ps:0", 0);
    assert_true(cannot_reach("ps:0", "zookeeper:1"));
    assert_true(can_reach("ps:0", "ps:1"));
    assert_true(can_reach("ps:1", "zookeeper:1"));
    assert_non_null(strstr(strike.text, lab_address(lab, "ps:0")));
    finish(&injector_cut);
    assert_true(can_reach("ps:0", "zookeeper:1"));
}

/* Without its peers' packets a node still reaches ZooKeeper. */
static void cut_peers_spares_zookeeper(void **state)
{
    (void)state;
    begin(&injector_cut, FAULT_CUT_PEERS, "ps:0", 0);
    assert_true(cannot_reach("ps:0", "worker:0"));
    assert_true(cannot_reach("worker:0", "ps:0"));
    assert_true(can_reach("ps:0", "zookeeper:1"));
    assert_true(can_reach("worker:0", "ps:1"));
    finish(&injector_cut);
    assert_true(can_reach("worker:0", "ps:0"));
}

/* A one-way cut lets the other way pass; what was sent meanwhile comes afterwards. */
static void one_way_cuts_have_a_direction(void **state)
{
    (void)state;
    struct pair pair = pair_of("ps:0", "ps:1");
    begin(&injector_cut, FAULT_CUT_OUT, "ps:0", 0);
    assert_true(is_lost(pair.from, pair.to));
    assert_true(passes(pair.to, pair.from));
    finish(&injector_cut);
    assert_true(ready(pair.to, POLLIN));
    close_pair(pair);
    pair = pair_of("ps:0", "ps:1");
    begin(&injector_cut, FAULT_CUT_IN, "ps:0", 0);
    assert_true(passes(pair.from, pair.to));
    assert_true(is_lost(pair.to, pair.from));
    finish(&injector_cut);
    close_pair(pair);
}

/* Nobody on one side reaches anybody on the other; within a side all is well. */
static void halves_do_not_reach_each_other(void **state)
{
    (void)state;
    begin(&injector_halves, FAULT_HALVES, "cluster", 0);
    bool half[PLACES] = {false};
    for (unsigned i = 0; i < PLACES; i++) {
        for (uint32_t j = 0; j < strike.target_count; j++) {
            if (strcmp(names[i], strike.targets[j]) == 0) { half[i] = true; }
        }
    }
    assert_true(strike.target_count > 0 && strike.target_count < PLACES);
    for (unsigned i = 0; i < PLACES; i++) {
        for (unsigned j = 0; j < i; j++) {
            assert_true(half[i] == half[j] ? can_reach(names[i], names[j])
                                           : cannot_reach(names[i], names[j]));
        }
    }
    finish(&injector_halves);
    for (unsigned i = 0; i < PLACES; i++) { assert_true(can_reach(names[i], names[0])); }
}

/* Old connections fall silent, new ones are well; afterwards the old ones are, too. */
static void black_hole_swallows_what_is_old(void **state)
{
    (void)state;
    struct pair old = pair_of("worker:0", "ps:0");
    begin(&injector_black_hole, FAULT_BLACK_HOLE, "ps:0", 0);
    struct pair new = pair_of("worker:0", "ps:0");
    assert_true(is_lost(old.from, old.to));
    assert_true(is_lost(old.to, old.from));
    assert_true(passes(new.from, new.to));
    assert_true(passes(new.to, new.from));
    finish(&injector_black_hole);
    assert_true(ready(old.to, POLLIN));
    close_pair(old);
    close_pair(new);
}

/* A packet in a burst of the storm ends its connection at both ends; between bursts all is well. */
static void storm_resets_both_ends(void **state)
{
    (void)state;
    struct pair to = pair_of("worker:0", "ps:0"), from = pair_of("ps:0", "worker:0");
    begin(&injector_reset_storm, FAULT_RESET_STORM, "ps:0", 0);
    assert_int_equal(send(to.from, "x", 1, MSG_NOSIGNAL), 1);
    assert_int_equal(send(from.from, "x", 1, MSG_NOSIGNAL), 1);
    assert_true(is_reset(to.from));
    assert_true(is_reset(from.from));
    (void)poll(NULL, 0, 40);
    injector_reset_storm.tick(cluster, &strike);
    assert_true(can_reach("worker:0", "ps:0"));
    finish(&injector_reset_storm);
    close_pair(to);
    close_pair(from);
}

/* Lost packets are sent again: all bytes arrive, but not as fast. */
static void loss_loses_packets(void **state)
{
    (void)state;
    begin(&injector_loss, FAULT_LOSS, "ps:0", 100);
    assert_true(cannot_reach("worker:0", "ps:0"));
    finish(&injector_loss);
    begin(&injector_loss, FAULT_LOSS, "ps:0", 0.01);
    assert_true(can_reach("worker:0", "ps:0"));
    finish(&injector_loss);
}

/* Bytes that arrive, until there are enough. */
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

/* A slow link is slow both ways, and fast again. */
static void bandwidth_is_limited(void **state)
{
    (void)state;
    const char *lacks = probe_lacks(&probe, NEED_BANDWIDTH);
    if (lacks != NULL) {
        printf("SKIPPED: %s\n", lacks);
        return;
    }
    struct pair in = pair_of("worker:0", "ps:0"), out = pair_of("ps:0", "worker:0");
    begin(&injector_bandwidth, FAULT_BANDWIDTH, "ps:0", 100);
    assert_true(flow_ms(in) > 400); /* 8 MiB at 100 Mbit/s: 671 ms. */
    assert_true(flow_ms(out) > 400);
    finish(&injector_bandwidth);
    assert_true(flow_ms(in) < 400);
    close_pair(in);
    close_pair(out);
}

/* What has no network of its own is not attacked, nor what would never end. */
static void impossible_faults_are_refused(void **state)
{
    (void)state;
    struct target_cluster bare = *cluster;
    bare.lab = NULL;
    strike =
        (struct strike){.injection = {.id = 7, .fault = FAULT_CUT, .for_ms = 1, .whom = "ps:0"}};
    assert_int_equal(injector_cut.begin(&bare, &strike, &error), TN_ENOTSUP);
    strike.injection.for_ms = 0;
    assert_int_equal(injector_cut.begin(cluster, &strike, &error), TN_EINVAL);
    strike.injection =
        (struct injection){.id = 7, .fault = FAULT_CUT, .for_ms = 1, .whom = "agent"};
    assert_int_equal(injector_cut.begin(cluster, &strike, &error), TN_ENOTSUP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_zookeeper_is_of_one_node),
        cmocka_unit_test(cut_peers_spares_zookeeper),
        cmocka_unit_test(one_way_cuts_have_a_direction),
        cmocka_unit_test(halves_do_not_reach_each_other),
        cmocka_unit_test(black_hole_swallows_what_is_old),
        cmocka_unit_test(storm_resets_both_ends),
        cmocka_unit_test(loss_loses_packets),
        cmocka_unit_test(bandwidth_is_limited),
        cmocka_unit_test(impossible_faults_are_refused),
    };
    return RUN_IN_LAB(tests);
}
