/*
 * A lab of four components with real sockets, and a fault in one of them: shared by the tests of
 * network faults.
 */
#ifndef TESTS_LAB_SCENE_H
#define TESTS_LAB_SCENE_H

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

#include "agent/ensemble/networks.h"
#include "chaos/cluster/lab.h"
#include "chaos/cluster/targets.h"
#include "chaos/inject/injector.h"
#include "chaos/inject/probe.h"
#include "common/base/clock.h"
#include "common/net/wire.h"

enum { PORT = 4711, PATIENCE_MS = 60000, SILENCE_MS = 300 };

static const char *const names[] = {"zookeeper:1", "ps:0", "ps:1", "worker:0"};
enum { COMPONENTS = sizeof names / sizeof *names };

static struct lab *lab;
static struct target_cluster *cluster;
static struct active_fault active;
static const struct injector *injector;
static struct error error;
static struct probe probe;
static int hub = -1;
static char networks_path[] = "/tmp/tanist-lab-XXXXXX";

/* A socket in the network of a component. */
static inline int socket_in(const char *component)
{
    assert_int_equal(setns(lab_namespace(lab, component), CLONE_NEWNET), 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(setns(hub, CLONE_NEWNET), 0);
    assert_true(fd >= 0);
    return fd;
}

static inline struct sockaddr_in address_of(const char *component)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    assert_int_equal(inet_pton(AF_INET, lab_address(lab, component), &address.sin_addr), 1);
    return address;
}

static inline int listen_in(const char *component)
{
    struct sockaddr_in address = address_of(component);
    int fd = socket_in(component), yes = 1;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)(void *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 16), 0);
    return fd;
}

/* Long for what must arrive, because machines are busy; short for what must not. */
static int wait_ms = PATIENCE_MS;

static inline bool ready(int fd, short events)
{
    struct pollfd polled = {.fd = fd, .events = events};
    return poll(&polled, 1, wait_ms) == 1;
}

/* -1: there is no connection within wait_ms. */
static inline int connect_to(const char *from, const char *to)
{
    struct sockaddr_in address = address_of(to);
    int fd = socket_in(from), failed = -1;
    socklen_t size = sizeof failed;
    (void)connect(fd, (struct sockaddr *)(void *)&address, sizeof address);
    if (ready(fd, POLLOUT)) { getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size); }
    if (failed == 0) { return fd; }
    close(fd);
    return -1;
}

static inline bool can_reach(const char *from, const char *to)
{
    int listener = listen_in(to);
    int fd = connect_to(from, to);
    if (fd >= 0) { close(fd); }
    close(listener);
    return fd >= 0;
}

static inline bool cannot_reach(const char *from, const char *to)
{
    wait_ms = SILENCE_MS;
    bool reached = can_reach(from, to);
    wait_ms = PATIENCE_MS;
    return !reached;
}

/* Inject a fault, which finish() undoes. */
static inline void begin(enum fault fault, const char *selector, double value)
{
    active = (struct active_fault){
        .injection = {.id = 7, .fault = fault, .for_ms = 1000, .value = value}};
    snprintf(active.injection.selector, sizeof active.injection.selector, "%s", selector);
    injector = injector_of(fault, false);
    if (injector_begin(injector, cluster, &active, &error) != TN_OK) { fail_msg("%s", error.text); }
    assert_int_not_equal(active.text[0], '\0');
}

static inline void finish(void)
{
    injector_end(injector, cluster, &active);
}

/* The two ends of a connection. */
struct pair {
    int from, to;
};

static inline struct pair pair_of(const char *from, const char *to)
{
    int listener = listen_in(to);
    struct pair pair = {.from = connect_to(from, to)};
    assert_true(pair.from >= 0);
    pair.to = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(pair.to >= 0);
    close(listener);
    return pair;
}

static inline void close_pair(struct pair pair)
{
    close(pair.from);
    close(pair.to);
}

/* A byte arrives within wait_ms. */
static inline bool passes(int from, int to)
{
    char byte = 'x';
    if (send(from, &byte, 1, MSG_NOSIGNAL) != 1) { return false; }
    return ready(to, POLLIN) && recv(to, &byte, 1, 0) == 1;
}

static inline bool is_lost(int from, int to)
{
    wait_ms = SILENCE_MS;
    bool passed = passes(from, to);
    wait_ms = PATIENCE_MS;
    return !passed;
}

static inline bool is_reset(int fd)
{
    char byte;
    return ready(fd, POLLIN) && recv(fd, &byte, 1, 0) < 0 && errno == ECONNRESET;
}

static inline int make_lab(void **state)
{
    (void)state;
    int file = mkstemp(networks_path);
    if (file < 0) { return -1; }
    close(file);
    if (lab_open(names, COMPONENTS, networks_path, &lab, &error) != TN_OK) { return -1; }
    static struct job job;
    job_init(&job);
    job.zookeeper.servers = job.cluster.workers = 1;
    job.cluster.coordinators = 0;
    job.cluster.ps = 2;
    cluster = calloc(1, sizeof *cluster);
    if (cluster == NULL) { return -1; }
    target_cluster_init(cluster, &job);
    cluster->lab = lab;
    hub = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    return hub < 0 ? -1 : 0;
}

static inline int drop_lab(void **state)
{
    (void)state;
    lab_close(lab);
    free(cluster);
    close(hub);
    return unlink(networks_path);
}

/* 0: all tests passed, or they were skipped with a message, because there can be no lab here. */
#define RUN_IN_LAB(tests)                                                                          \
    (lab_is_possible() ? cmocka_run_group_tests(tests, make_lab, drop_lab) : 0)

static inline bool lab_is_possible(void)
{
    probe_machine(&probe);
    const char *lacks = probe_lacks(&probe, NEED_NETWORK);
    if (lacks != NULL) {
        printf("SKIPPED: this machine cannot make a lab of network namespaces: %s\n", lacks);
    }
    return lacks == NULL;
}

#endif
