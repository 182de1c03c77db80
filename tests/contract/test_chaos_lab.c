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
#include "chaos/lab.h"
#include "chaos/probe.h"

enum { PORT = 4711, WAIT_MS = 300 };

static const char *const names[] = {"zookeeper:1", "ps:0", "ps:1", "worker:0"};
enum { PLACES = sizeof names / sizeof *names };

static struct lab *lab;
static struct error error;
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

static int make_lab(void **state)
{
    (void)state;
    int file = mkstemp(networks_path);
    if (file < 0) return -1;
    close(file);
    if (lab_open(names, PLACES, networks_path, &lab, &error) != TN_OK) return -1;
    hub = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    return hub < 0 ? -1 : 0;
}

static int drop_lab(void **state)
{
    (void)state;
    lab_close(lab);
    close(hub);
    return unlink(networks_path);
}

int main(void)
{
    struct probe probe;
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
    };
    return cmocka_run_group_tests(tests, make_lab, drop_lab);
}
