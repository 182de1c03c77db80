/*
 * tests/contract/cut_proxy.h: a proxy that forwards one connection at a time to a server. While it
 * is cut, the connection is closed and new ones are closed at once.
 *
 * Threads: it has its own; the test's thread calls start, cut and stop.
 */
#ifndef TESTS_CUT_PROXY_H
#define TESTS_CUT_PROXY_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { CUT_PROXY_POLL_MS = 20, CUT_PROXY_BYTES = 16384 };

struct cut_proxy {
    char address[32]; /* For the client: "127.0.0.1:40123". */
    struct sockaddr_in target;
    int listener, client, server; /* -1: none. */
    pthread_t thread;
    atomic_bool cut, stopping;
};

static void cut_proxy_close(struct cut_proxy *proxy)
{
    if (proxy->client >= 0) { close(proxy->client); }
    if (proxy->server >= 0) { close(proxy->server); }
    proxy->client = proxy->server = -1;
}

static void cut_proxy_accept(struct cut_proxy *proxy)
{
    int client = accept(proxy->listener, NULL, NULL);
    if (client < 0) { return; }
    cut_proxy_close(proxy);
    proxy->client = client;
    if (!atomic_load(&proxy->cut)) {
        proxy->server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    }
    const struct sockaddr *target = (const struct sockaddr *)(const void *)&proxy->target;
    if (proxy->server < 0 || connect(proxy->server, target, sizeof proxy->target) != 0) {
        cut_proxy_close(proxy);
    }
}

/* False when the stream has ended. */
static bool cut_proxy_pass(int from, int to)
{
    char bytes[CUT_PROXY_BYTES];
    ssize_t size = recv(from, bytes, sizeof bytes, 0);
    for (ssize_t sent = 0, done; sent < size; sent += done) {
        done = send(to, bytes + sent, (size_t)(size - sent), MSG_NOSIGNAL);
        if (done <= 0) { return false; }
    }
    return size > 0;
}

static void *cut_proxy_run(void *argument)
{
    struct cut_proxy *proxy = argument;
    while (!atomic_load(&proxy->stopping)) {
        if (atomic_load(&proxy->cut)) { cut_proxy_close(proxy); }
        struct pollfd polls[] = {{.fd = proxy->listener, .events = POLLIN},
                                 {.fd = proxy->client, .events = POLLIN},
                                 {.fd = proxy->server, .events = POLLIN}};
        if (poll(polls, 3, CUT_PROXY_POLL_MS) <= 0) { continue; }
        bool open = true;
        if (polls[1].revents != 0) { open = cut_proxy_pass(proxy->client, proxy->server); }
        if (polls[2].revents != 0 && open) { open = cut_proxy_pass(proxy->server, proxy->client); }
        if (!open) { cut_proxy_close(proxy); }
        if (polls[0].revents != 0) { cut_proxy_accept(proxy); }
    }
    cut_proxy_close(proxy);
    return NULL;
}

/* Forward to the first of `servers` ("127.0.0.1:20131,..."). */
static void cut_proxy_start(struct cut_proxy *proxy, const char *servers)
{
    unsigned port = 0;
    assert_int_equal(sscanf(servers, "127.0.0.1:%u", &port), 1);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    proxy->target = address;
    proxy->target.sin_port = htons((uint16_t)port);
    proxy->client = proxy->server = -1;
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(proxy->listener >= 0);
    struct sockaddr *generic = (struct sockaddr *)(void *)&address;
    assert_int_equal(bind(proxy->listener, generic, sizeof address), 0);
    assert_int_equal(listen(proxy->listener, 8), 0);
    socklen_t length = sizeof address;
    assert_int_equal(getsockname(proxy->listener, generic, &length), 0);
    (void)snprintf(proxy->address, sizeof proxy->address, "127.0.0.1:%u",
                   (unsigned)ntohs(address.sin_port));
    assert_int_equal(pthread_create(&proxy->thread, NULL, cut_proxy_run, proxy), 0);
}

static void cut_proxy_cut(struct cut_proxy *proxy, bool cut)
{
    atomic_store(&proxy->cut, cut);
}

static void cut_proxy_stop(struct cut_proxy *proxy)
{
    atomic_store(&proxy->stopping, true);
    pthread_join(proxy->thread, NULL);
    close(proxy->listener);
}

#endif
