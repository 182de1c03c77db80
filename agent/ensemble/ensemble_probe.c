/* agent/ensemble/ensemble_probe.c: asks a ZooKeeper server for its state, in bounded time. */
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/ensemble/ensemble.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"

enum { ANSWER_MAX = 4096 };

static const char *const mode_names[] = {[ENSEMBLE_STANDALONE] = "standalone",
                                         [ENSEMBLE_LEADER] = "leader",
                                         [ENSEMBLE_FOLLOWER] = "follower",
                                         [ENSEMBLE_OBSERVER] = "observer"};
enum { MODES = sizeof mode_names / sizeof mode_names[0] };

const char *ensemble_mode_name(enum ensemble_mode mode)
{
    return (unsigned)mode < MODES ? mode_names[mode] : "unknown";
}

/* The text after `name` at the start of a line, or NULL. */
static const char *find_field(const char *answer, const char *name)
{
    size_t length = strlen(name);
    assert(length > 0);
    for (const char *line = answer; line != NULL; line = strchr(line, '\n')) {
        if (*line == '\n') { line++; }
        if (strncmp(line, name, length) == 0) { return line + length; }
    }
    return NULL;
}

enum tn_status ensemble_parse_srvr(const char *answer, struct ensemble_health *out)
{
    assert(answer != NULL && out != NULL);
    if (strstr(answer, "not currently serving requests") != NULL) { return TN_EUNHEALTHY; }
    const char *mode = find_field(answer, "Mode: ");
    const char *zxid = find_field(answer, "Zxid: ");
    const char *connections = find_field(answer, "Connections: ");
    if (mode == NULL || zxid == NULL || connections == NULL) { return TN_EPROTO; }
    memset(out, 0, sizeof *out);
    out->zxid = strtoull(zxid, NULL, 16);
    out->connections = (uint32_t)strtoul(connections, NULL, 10);
    for (unsigned i = 0; i < MODES; i++) {
        if (strncmp(mode, mode_names[i], strlen(mode_names[i])) == 0) {
            out->mode = (enum ensemble_mode)i;
            return TN_OK;
        }
    }
    return TN_EPROTO;
}

/* Waits until the socket is ready; TN_ETIMEDOUT from `until_ms` on. */
static enum tn_status wait_ready(int fd, short events, uint64_t until_ms)
{
    assert(fd >= 0);
    for (;;) {
        uint64_t now_ms = clock_monotonic_ms();
        if (now_ms >= until_ms) { return TN_ETIMEDOUT; }
        uint64_t left_ms = u64_min(until_ms - now_ms, 1000);
        struct pollfd ready = {.fd = fd, .events = events};
        int count = poll(&ready, 1, (int)left_ms);
        if (count > 0) { return TN_OK; }
        if (count < 0 && errno != EINTR) { return TN_EIO; }
    }
}

static enum tn_status connect_to(const struct addrinfo *address, uint64_t until_ms, int *out)
{
    assert(address != NULL && out != NULL);
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) { return TN_EIO; }
    enum tn_status status = TN_OK;
    if (connect(fd, address->ai_addr, address->ai_addrlen) != 0) {
        int reason = errno;
        socklen_t size = sizeof reason;
        if (reason == EINPROGRESS) {
            status = wait_ready(fd, POLLOUT, until_ms);
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &size);
        }
        if (status == TN_OK && reason != 0) { status = TN_ECONNECT; }
    }
    if (status != TN_OK) {
        close(fd);
        return status;
    }
    *out = fd;
    return TN_OK;
}

/* The server answers, then closes the connection. */
static enum tn_status ask(int fd, char answer[static ANSWER_MAX], uint64_t until_ms)
{
    static const char question[] = {'s', 'r', 'v', 'r'};
    size_t used = 0;
    assert(fd >= 0);
    ssize_t sent = send(fd, question, sizeof question, MSG_NOSIGNAL);
    if (sent != (ssize_t)sizeof question) { return TN_ECONNECT; }
    for (;;) {
        enum tn_status status = wait_ready(fd, POLLIN, until_ms);
        if (status != TN_OK) { return status; }
        ssize_t got = recv(fd, answer + used, ANSWER_MAX - 1 - used, 0);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) { continue; }
        if (got < 0 && used == 0) { return TN_ECONNECT; }
        if (got > 0) { used += (size_t)got; }
        answer[used] = '\0';
        if (got <= 0 || used == ANSWER_MAX - 1) { return TN_OK; }
    }
}

static enum tn_status resolve(const char *address, struct addrinfo **out)
{
    char host[ZOO_ADDRESS_MAX];
    assert(address != NULL);
    int length = snprintf(host, sizeof host, "%s", address);
    char *colon = strrchr(host, ':');
    if (length < 0 || (size_t)length >= sizeof host || colon == NULL) { return TN_EINVAL; }
    *colon = '\0';
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    return getaddrinfo(host, colon + 1, &hints, out) == 0 ? TN_OK : TN_EINVAL;
}

enum tn_status ensemble_probe(const char *address, uint32_t timeout_ms, struct ensemble_health *out)
{
    assert(address != NULL && out != NULL);
    struct addrinfo *addresses = NULL;
    char answer[ANSWER_MAX];
    uint64_t until_ms = clock_monotonic_ms() + timeout_ms;
    if (resolve(address, &addresses) != TN_OK) { return TN_EINVAL; }
    enum tn_status status = TN_ECONNECT;
    int fd = -1;
    for (const struct addrinfo *at = addresses; at != NULL && fd < 0; at = at->ai_next) {
        status = connect_to(at, until_ms, &fd);
    }
    freeaddrinfo(addresses);
    if (fd < 0) { return status; }
    status = ask(fd, answer, until_ms);
    close(fd);
    return status == TN_OK ? ensemble_parse_srvr(answer, out) : status;
}

const char *ensemble_probe_text(const char *address, uint32_t timeout_ms)
{
    struct ensemble_health health;
    enum tn_status status = ensemble_probe(address, timeout_ms, &health);
    if (status == TN_OK) { return ensemble_mode_name(health.mode); }
    return status == TN_EUNHEALTHY ? "no quorum" : "down";
}
