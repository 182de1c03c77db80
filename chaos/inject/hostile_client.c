#include "chaos/inject/hostile_client.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "chaos/cluster/lab.h"
#include "common/net/wire.h"

enum { CONNECT_MS = 10, GARBAGE_MAX = 512, LISTENING = 0x0A };

/* ------------------------------------------------------------- ports */

static void add_port(struct listening_ports *ports, unsigned port)
{
    for (uint32_t i = 0; i < ports->count; i++) {
        if (ports->list[i] == port) { return; }
    }
    if (port > 0 && port <= UINT16_MAX && ports->count < HOSTILE_CLIENT_PORTS_MAX) {
        ports->list[ports->count++] = (uint16_t)port;
    }
}

/* "  0: 0A4D0002:1267 00000000:0000 0A ...": proc(5), /proc/net/tcp. */
static void read_listeners(const char *path, struct listening_ports *ports)
{
    char line[256];
    FILE *file = fopen(path, "re");
    if (file == NULL) { return; }
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned port, state;
        if (sscanf(line, " %*u: %*32[0-9A-F]:%x %*32[0-9A-F]:%*x %x", &port, &state) == 2 &&
            state == LISTENING) {
            add_port(ports, port);
        }
    }
    fclose(file);
}

/* "tcp://127.0.0.1:4711" or "10.77.0.2:2181". */
static bool split_address(const char *text, struct listening_ports *ports)
{
    const char *scheme = "tcp://";
    struct in_addr parsed;
    if (strncmp(text, scheme, strlen(scheme)) == 0) { text += strlen(scheme); }
    const char *colon = strchr(text, ':');
    if (colon == NULL || (size_t)(colon - text) >= sizeof ports->address) { return false; }
    snprintf(ports->address, sizeof ports->address, "%.*s", (int)(colon - text), text);
    add_port(ports, (unsigned)strtoul(colon + 1, NULL, 10));
    return ports->count > 0 && inet_pton(AF_INET, ports->address, &parsed) == 1;
}

/* Other machines are never attacked. */
static bool is_ours(const struct target_cluster *cluster, const struct component *component,
                    const char *address)
{
    const char *own = cluster->lab != NULL ? lab_address(cluster->lab, component->name) : NULL;
    return own != NULL ? strcmp(own, address) == 0 : strncmp(address, "127.", 4) == 0;
}

enum tn_status hostile_client_find_ports(const struct target_cluster *cluster,
                                         const struct component *component,
                                         struct listening_ports *out, struct error *error)
{
    *out = (struct listening_ports){0};
    const char *own = cluster->lab != NULL ? lab_address(cluster->lab, component->name) : NULL;
    if (own != NULL && component->is_node) {
        enum tn_status status = lab_enter(cluster->lab, component->name, error);
        if (status != TN_OK) { return status; }
        snprintf(out->address, sizeof out->address, "%s", own);
        read_listeners("/proc/thread-self/net/tcp", out);
        read_listeners("/proc/thread-self/net/tcp6", out);
        lab_leave(cluster->lab);
        if (out->count > 0) { return TN_OK; }
    } else if (split_address(component->address, out) &&
               is_ours(cluster, component, out->address)) {
        return TN_OK;
    }
    return error_set(error, TN_EAGAIN, "%s does not listen on a known port", component->name);
}

/* ------------------------------------------------------------- connections */

/* -1: the connection was not accepted within CONNECT_MS. */
static int dial(const char *address, uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), failed = 0;
    socklen_t size = sizeof failed;
    struct pollfd polled = {.fd = fd, .events = POLLOUT};
    if (fd < 0) { return -1; }
    bool good = inet_pton(AF_INET, address, &to.sin_addr) == 1 &&
                (connect(fd, (struct sockaddr *)(void *)&to, sizeof to) == 0 ||
                 (errno == EINPROGRESS && poll(&polled, 1, CONNECT_MS) == 1 &&
                  getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size) == 0 && failed == 0));
    if (good) { return fd; }
    close(fd);
    return -1;
}

static void hold(struct hostile_client *client, int fd)
{
    assert(fd >= 0);
    if (client->held_count < HOSTILE_CLIENT_HELD_MAX) {
        client->held[client->held_count++] = fd;
    } else {
        close(fd);
    }
}

void hostile_client_close(struct hostile_client *client)
{
    for (uint32_t i = 0; i < client->held_count; i++) { close(client->held[i]); }
    client->held_count = 0;
}

static void send_bytes(int fd, const void *bytes, size_t size)
{
    (void)!send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void send_garbage(int fd, struct random *random)
{
    uint8_t bytes[GARBAGE_MAX];
    size_t size = 1 + (size_t)random_below(random, sizeof bytes);
    for (size_t i = 0; i < size; i++) { bytes[i] = (uint8_t)random_next(random); }
    send_bytes(fd, bytes, size);
}

/* A header as a node of another cluster might send it, with the longest possible body. */
static void make_header(struct random *random, uint8_t bytes[static WIRE_HEADER_BYTES])
{
    const struct frame_header header = {.type = FRAME_PUSH,
                                        .cluster = random_next(random),
                                        .sender = random_next(random),
                                        .generation = 1,
                                        .step = random_below(random, 1000),
                                        .count = 1,
                                        .body_bytes = WIRE_CHUNK_BYTES};
    wire_encode_header(&header, bytes);
}

/* An impossible length, in the byte order of ZooKeeper clients: the lowest byte last. */
static void send_length(int fd)
{
    static const uint8_t length[4] = {0x7f, 0xff, 0xff, 0xff};
    send_bytes(fd, length, sizeof length);
}

enum misbehaviour { GARBAGE, FIN, RESET, HALF_HEADER, LONG_BODY, SILENCE, MISBEHAVIOURS };

static void misbehave(struct hostile_client *client, struct random *random, enum misbehaviour kind,
                      int fd, bool is_zookeeper)
{
    assert(fd >= 0);
    const struct linger hard = {.l_onoff = 1};
    uint8_t header[WIRE_HEADER_BYTES];
    make_header(random, header);
    switch (kind) {
    case GARBAGE: send_garbage(fd, random); break;
    case FIN: (void)shutdown(fd, SHUT_WR); break;
    case RESET: (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard); break;
    case HALF_HEADER:
        send_bytes(fd, header, 1 + (size_t)random_below(random, WIRE_HEADER_BYTES - 1));
        hold(client, fd);
        return;
    case LONG_BODY:
        if (is_zookeeper) {
            send_length(fd);
        } else {
            send_bytes(fd, header, sizeof header);
        }
        send_garbage(fd, random);
        break;
    default: hold(client, fd); return; /* It never sends anything. */
    }
    close(fd);
}

void hostile_client_attack(struct hostile_client *client, struct random *random,
                           const char *address, uint16_t port, bool is_zookeeper)
{
    assert(port > 0);
    for (int kind = 0; kind < MISBEHAVIOURS; kind++) {
        int fd = dial(address, port);
        if (fd < 0) { return; /* The next ones would only wait as long. */ }
        client->connections++;
        misbehave(client, random, (enum misbehaviour)kind, fd, is_zookeeper);
    }
}
