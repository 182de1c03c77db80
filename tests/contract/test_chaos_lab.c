/* A network of namespaces: who reaches whom, and what each attack on it does to real sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/networks.h"
#include "chaos/arena.h"
#include "chaos/lab.h"
#include "chaos/probe.h"
#include "common/clock.h"

enum { PORT = 4711, WAIT_MS = 300 };

static const char *const names[] = {"zookeeper:1", "ps:0", "ps:1", "worker:0"};
enum { PLACES = sizeof names / sizeof *names };

static struct lab *lab;
static struct error error;
static struct probe probe;
static int hub = -1;
static char networks_path[] = "/tmp/tanist-lab-XXXXXX";

/* A socket of a place. It stays there, wherever we go. */
static int socket_in(const char *place)
{
    assert_int_equal(setns(lab_namespace(lab, place), CLONE_NEWNET), 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(setns(hub, CLONE_NEWNET), 0);
    assert_true(fd >= 0);
    return fd;
}

static struct sockaddr_in address_of(const char *place)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    assert_int_equal(inet_pton(AF_INET, lab_address(lab, place), &address.sin_addr), 1);
    return address;
}

static int listen_in(const char *place)
{
    struct sockaddr_in address = address_of(place);
    int fd = socket_in(place), yes = 1;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)(void *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 16), 0);
    return fd;
}

static bool ready(int fd, short events)
{
    struct pollfd polled = {.fd = fd, .events = events};
    return poll(&polled, 1, WAIT_MS) == 1;
}

/* -1: not within WAIT_MS. */
static int connect_to(const char *from, const char *to)
{
    struct sockaddr_in address = address_of(to);
    int fd = socket_in(from), failed = -1;
    socklen_t size = sizeof failed;
    (void)connect(fd, (struct sockaddr *)(void *)&address, sizeof address);
    if (ready(fd, POLLOUT)) getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size);
    if (failed == 0) return fd;
    close(fd);
    return -1;
}

static bool can_reach(const char *from, const char *to)
{
    int listener = listen_in(to);
    int fd = connect_to(from, to);
    if (fd >= 0) close(fd);
    close(listener);
    return fd >= 0;
}

/* All places reach one another, and the hub's processes reach them. */
static void places_reach_one_another(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PLACES; i++)
        for (unsigned j = 0; j < PLACES; j++) assert_true(can_reach(names[i], names[j]));
    struct sockaddr_in address = address_of("ps:1");
    int listener = listen_in("ps:1"), fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)(void *)&address, sizeof address), 0);
    close(fd);
    close(listener);
}

/* The file that is written is what `tanist run --networks` reads. */
static void networks_file_is_read(void **state)
{
    (void)state;
    struct networks *networks = calloc(1, sizeof *networks);
    const struct network *found;
    assert_non_null(networks);
    assert_int_equal(networks_read(networks, networks_path, &error), TN_OK);
    assert_int_equal(networks->count, PLACES);
    assert_int_equal(networks_find(networks, "ps:1", &found, &error), TN_OK);
    assert_string_equal(found->address, lab_address(lab, "ps:1"));
    int fd = open(found->path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(setns(fd, CLONE_NEWNET), 0);
    assert_int_equal(setns(hub, CLONE_NEWNET), 0);
    close(fd);
    assert_int_equal(networks_find(networks, "ps:2", &found, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "ps:2"));
    free(networks);
}

/* What a command says before it fails is the error; unknown places are named. */
static void failures_are_told(void **state)
{
    (void)state;
    static const char *const wrong[] = {"ip", "link", "set", "nobody", "up", NULL};
    static const char *const missing[] = {"tanist-no-such-program", NULL};
    assert_int_equal(lab_command(lab, "ps:0", wrong, &error), TN_ENOTSUP);
    assert_non_null(strstr(error.text, "nobody"));
    assert_int_equal(lab_command(lab, "ps:0", missing, &error), TN_ENOTSUP);
    assert_int_equal(lab_nft(lab, "ps:0", "nonsense\n", &error), TN_ENOTSUP);
    assert_int_equal(lab_nft(lab, "ps:7", "", &error), TN_ENOTSUP);
    assert_non_null(strstr(error.text, "ps:7"));
    assert_null(lab_address(lab, "ps:7"));
}

/* ------------------------------------------------------------- faults */

static struct arena *arena;
static struct strike strike;

/* Do a fault to `whom`; what is undone by finish(). */
static void begin(const struct injector *injector, enum fault fault, const char *whom, double value)
{
    strike =
        (struct strike){.injection = {.id = 7, .fault = fault, .for_ms = 1000, .value = value}};
    snprintf(strike.injection.whom, sizeof strike.injection.whom, "%s", whom);
    if (injector->begin(arena, &strike, &error) != TN_OK) fail_msg("%s", error.text);
    assert_int_not_equal(strike.text[0], '\0');
}

static void finish(const struct injector *injector)
{
    injector->end(arena, &strike);
}

/* Two ends of a connection. */
struct pair {
    int from, to;
};

static struct pair pair_of(const char *from, const char *to)
{
    int listener = listen_in(to);
    struct pair pair = {.from = connect_to(from, to)};
    assert_true(pair.from >= 0);
    pair.to = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(pair.to >= 0);
    close(listener);
    return pair;
}

static void close_pair(struct pair pair)
{
    close(pair.from);
    close(pair.to);
}

/* What is sent arrives within WAIT_MS. */
static bool passes(int from, int to)
{
    char byte = 'x';
    if (send(from, &byte, 1, MSG_NOSIGNAL) != 1) return false;
    return ready(to, POLLIN) && recv(to, &byte, 1, 0) == 1;
}

/* Without ZooKeeper's packets a node still reaches its peers, and nobody else misses them. */
static void cut_zookeeper_is_of_one_node(void **state)
{
    (void)state;
    begin(&injector_cut, FAULT_CUT_ZOOKEEPER, "ps:0", 0);
    assert_false(can_reach("ps:0", "zookeeper:1"));
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
    assert_false(can_reach("ps:0", "worker:0"));
    assert_false(can_reach("worker:0", "ps:0"));
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
    assert_false(passes(pair.from, pair.to));
    assert_true(passes(pair.to, pair.from));
    finish(&injector_cut);
    assert_true(ready(pair.to, POLLIN) || ready(pair.to, POLLIN));
    close_pair(pair);
    pair = pair_of("ps:0", "ps:1");
    begin(&injector_cut, FAULT_CUT_IN, "ps:0", 0);
    assert_true(passes(pair.from, pair.to));
    assert_false(passes(pair.to, pair.from));
    finish(&injector_cut);
    close_pair(pair);
}

/* Nobody on one side reaches anybody on the other; within a side all is well. */
static void halves_do_not_reach_each_other(void **state)
{
    (void)state;
    begin(&injector_halves, FAULT_HALVES, "cluster", 0);
    bool half[PLACES] = {false};
    for (unsigned i = 0; i < PLACES; i++)
        for (uint32_t j = 0; j < strike.target_count; j++)
            if (strcmp(names[i], strike.targets[j]) == 0) half[i] = true;
    assert_true(strike.target_count > 0 && strike.target_count < PLACES);
    for (unsigned i = 0; i < PLACES; i++)
        for (unsigned j = 0; j < i; j++)
            assert_int_equal(can_reach(names[i], names[j]), half[i] == half[j]);
    finish(&injector_halves);
    for (unsigned i = 0; i < PLACES; i++) assert_true(can_reach(names[i], names[0]));
}

/* Old connections fall silent, new ones are well; afterwards the old ones are, too. */
static void black_hole_swallows_what_is_old(void **state)
{
    (void)state;
    struct pair old = pair_of("worker:0", "ps:0");
    begin(&injector_black_hole, FAULT_BLACK_HOLE, "ps:0", 0);
    struct pair new = pair_of("worker:0", "ps:0");
    assert_false(passes(old.from, old.to));
    assert_false(passes(old.to, old.from));
    assert_true(passes(new.from, new.to));
    assert_true(passes(new.to, new.from));
    finish(&injector_black_hole);
    assert_true(ready(old.to, POLLIN) || ready(old.to, POLLIN) || ready(old.to, POLLIN));
    close_pair(old);
    close_pair(new);
}

static bool is_reset(int fd)
{
    char byte;
    return ready(fd, POLLIN) && recv(fd, &byte, 1, 0) < 0 && errno == ECONNRESET;
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
    injector_reset_storm.tick(arena, &strike);
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
    assert_false(can_reach("worker:0", "ps:0"));
    finish(&injector_loss);
    begin(&injector_loss, FAULT_LOSS, "ps:0", 0.01);
    assert_true(can_reach("worker:0", "ps:0"));
    finish(&injector_loss);
}

/* Bytes that arrive within WAIT_MS. */
static size_t flow(struct pair pair)
{
    static char block[64 * 1024];
    size_t got = 0;
    for (int i = 0; i < 100000 && got < 8 * 1024 * 1024; i++) {
        (void)!send(pair.from, block, sizeof block, MSG_NOSIGNAL);
        if (!ready(pair.to, POLLIN)) break;
        ssize_t size = recv(pair.to, block, sizeof block, 0);
        if (size > 0) got += (size_t)size;
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
    if (lacks) {
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
    struct arena bare = *arena;
    bare.lab = NULL;
    strike =
        (struct strike){.injection = {.id = 7, .fault = FAULT_CUT, .for_ms = 1, .whom = "ps:0"}};
    assert_int_equal(injector_cut.begin(&bare, &strike, &error), TN_ENOTSUP);
    strike.injection.for_ms = 0;
    assert_int_equal(injector_cut.begin(arena, &strike, &error), TN_EINVAL);
    strike.injection =
        (struct injection){.id = 7, .fault = FAULT_CUT, .for_ms = 1, .whom = "agent"};
    assert_int_equal(injector_cut.begin(arena, &strike, &error), TN_ENOTSUP);
}

static int make_lab(void **state)
{
    (void)state;
    int file = mkstemp(networks_path);
    if (file < 0) return -1;
    close(file);
    if (lab_open(names, PLACES, networks_path, &lab, &error) != TN_OK) return -1;
    static struct job job;
    job_init(&job);
    job.zookeeper.servers = job.cluster.workers = 1;
    job.cluster.coordinators = 0;
    job.cluster.ps = 2;
    arena = calloc(1, sizeof *arena);
    if (!arena) return -1;
    arena_init(arena, &job);
    arena->lab = lab;
    hub = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    return hub < 0 ? -1 : 0;
}

static int drop_lab(void **state)
{
    (void)state;
    lab_close(lab);
    free(arena);
    close(hub);
    return unlink(networks_path);
}

int main(void)
{
    probe_machine(&probe);
    const char *lacks = probe_lacks(&probe, NEED_NETWORK);
    if (lacks) {
        printf("SKIPPED: no lab of network namespaces on this machine: %s\n", lacks);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_reach_one_another),
        cmocka_unit_test(networks_file_is_read),
        cmocka_unit_test(failures_are_told),
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
    return cmocka_run_group_tests(tests, make_lab, drop_lab);
}
