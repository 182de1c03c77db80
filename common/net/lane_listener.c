#include "common/net/lane_listener.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/clock.h"

enum { LANE_VERSION = 4, PATIENCE_MS = 3000, DESCRIPTORS = 3, BACKLOG = 256 };

/* Both ways: of one release, on one host. */
struct message {
    char magic[8]; /* "tan-lane" */
    uint32_t version, bytes;
    uint64_t cluster;
    struct lane_nonce nonce;
    uint64_t loan_offset, loan_bytes; /* The place of the lent memory in its file; 0, 0: none. */
};

static const char magic[8] = {'t', 'a', 'n', '-', 'l', 'a', 'n', 'e'};

static struct message make_message(uint64_t cluster, const struct lane_nonce *nonce)
{
    struct message message = {
        .version = LANE_VERSION, .bytes = LANE_BYTES, .cluster = cluster, .nonce = *nonce};
    memcpy(message.magic, magic, sizeof magic);
    return message;
}

static socklen_t make_name(uint64_t cluster, const char *address, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(out->sun_path + 1, sizeof out->sun_path - 1, "tanist-%016" PRIx64 "-%s",
                          cluster, address);
    assert(length > 0 && (size_t)length < sizeof out->sun_path - 1);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static bool is_same_user(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

static bool send_message(int fd, const struct message *message, const int *fds, unsigned count)
{
    assert(count >= 1 && count <= DESCRIPTORS);
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
    } control = {0};
    struct iovec body = {.iov_base = (void *)(uintptr_t)message, .iov_len = sizeof *message};
    struct msghdr head = {
        .msg_iov = &body,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = CMSG_SPACE(count * sizeof(int)),
    };
    control.head = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET,
        .cmsg_type = SCM_RIGHTS,
        .cmsg_len = CMSG_LEN(count * sizeof(int)),
    };
    memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
    return sendmsg(fd, &head, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof *message;
}

static void close_all(int fds[static DESCRIPTORS])
{
    for (unsigned i = 0; i < DESCRIPTORS; i++) {
        if (fds[i] >= 0) { close(fds[i]); }
        fds[i] = -1;
    }
}

/* Take the descriptors of a message, at most DESCRIPTORS: the control buffer has space for them. */
static unsigned take_descriptors(struct msghdr *head, int fds[static DESCRIPTORS])
{
    unsigned count = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(head); c != NULL; c = CMSG_NXTHDR(head, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) { continue; }
        const size_t received = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < received; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (count < DESCRIPTORS) {
                fds[count++] = fd;
            } else {
                close(fd);
            }
        }
    }
    return count;
}

/* Receive a message with exactly `count` descriptors, and one more if memory is lent, which become
 * the caller's. False and errno: EAGAIN, none has arrived; EPROTO: it is not of this release;
 * EMFILE: too few descriptors are left. */
static bool receive_message(int fd, struct message *message, int fds[static DESCRIPTORS],
                            unsigned count)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
    } control;
    struct iovec body = {.iov_base = message, .iov_len = sizeof *message};
    struct msghdr head = {
        .msg_iov = &body,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };
    for (unsigned i = 0; i < DESCRIPTORS; i++) { fds[i] = -1; }
    const ssize_t received = recvmsg(fd, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received < 0) { return false; }
    const unsigned have = take_descriptors(&head, fds);
    const bool whole = received == (ssize_t)sizeof *message &&
                       have == count + (message->loan_bytes > 0 ? 1 : 0) &&
                       (head.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
    if (whole && memcmp(message->magic, magic, sizeof magic) == 0 &&
        message->version == LANE_VERSION && message->bytes == LANE_BYTES) {
        return true;
    }
    close_all(fds);
    errno = (head.msg_flags & MSG_CTRUNC) != 0 ? EMFILE : received == 0 ? ECONNRESET : EPROTO;
    return false;
}

static int open_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* ------------------------------------------------------ the accepting end */

bool lane_listener_open(struct lane_listener *listener, uint64_t cluster, const char *address,
                        int doorbell_fd, char reason[static LANE_REASON_MAX])
{
    struct sockaddr_un name;
    *listener = (struct lane_listener){.fd = -1, .cluster = cluster, .doorbell_fd = doorbell_fd};
    for (unsigned i = 0; i < LANE_CLIENTS_MAX; i++) { listener->clients[i].fd = -1; }
    pthread_mutex_init(&listener->mutex, NULL);
    if (address == NULL) { return true; }
    const socklen_t size = make_name(cluster, address, &name);
    int fd = open_socket();
    if (fd >= 0 && bind(fd, (struct sockaddr *)&name, size) == 0 && listen(fd, BACKLOG) == 0) {
        listener->fd = fd;
        return true;
    }
    (void)snprintf(reason, LANE_REASON_MAX, "cannot open the local socket: %s", strerror(errno));
    if (fd >= 0) { close(fd); }
    return false;
}

void lane_listener_close(struct lane_listener *listener)
{
    if (listener->fd >= 0) { close(listener->fd); }
    listener->fd = -1;
    for (unsigned i = 0; i < LANE_CLIENTS_MAX; i++) {
        if (listener->clients[i].fd >= 0) { close(listener->clients[i].fd); }
        listener->clients[i].fd = -1;
    }
    for (unsigned i = 0; i < LANE_PREPARED_MAX; i++) { lane_close(&listener->prepared[i].lane); }
    pthread_mutex_destroy(&listener->mutex);
}

static struct lane_client *free_place(struct lane_listener *listener)
{
    for (unsigned i = 0; i < LANE_CLIENTS_MAX; i++) {
        if (listener->clients[i].fd < 0) { return &listener->clients[i]; }
    }
    return NULL;
}

unsigned lane_listener_polled(struct lane_listener *listener, struct pollfd *polled)
{
    unsigned count = 0;
    if (listener->fd >= 0 && !listener->starved && free_place(listener) != NULL) {
        polled[count++] = (struct pollfd){.fd = listener->fd, .events = POLLIN};
    }
    for (unsigned i = 0; i < LANE_CLIENTS_MAX; i++) {
        if (listener->clients[i].fd < 0) { continue; }
        polled[count++] = (struct pollfd){.fd = listener->clients[i].fd, .events = POLLIN};
    }
    return count;
}

/* As many as there are places for; the others wait. */
static void let_in(struct lane_listener *listener, uint64_t now_ms)
{
    struct lane_client *place;
    listener->starved = false;
    while ((place = free_place(listener)) != NULL) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            listener->starved =
                errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
            return;
        }
        *place = (struct lane_client){.fd = fd, .since_ms = now_ms};
    }
}

/* Keep a lane for the nonce: in a free place, or in that of the oldest one. */
static void keep(struct lane_listener *listener, const struct lane *lane,
                 const struct lane_nonce *nonce, uint64_t now_ms)
{
    assert(lane->memory != NULL);
    pthread_mutex_lock(&listener->mutex);
    struct lane_prepared *place = &listener->prepared[0];
    for (unsigned i = 1; i < LANE_PREPARED_MAX && place->lane.memory != NULL; i++) {
        struct lane_prepared *other = &listener->prepared[i];
        if (other->lane.memory == NULL || other->since_ms < place->since_ms) { place = other; }
    }
    lane_close(&place->lane);
    *place = (struct lane_prepared){.lane = *lane, .nonce = *nonce, .since_ms = now_ms};
    pthread_mutex_unlock(&listener->mutex);
}

/* The lane is kept before the answer leaves, so that the nonce cannot arrive before it. */
static void answer(struct lane_listener *listener, int fd, const struct message *request,
                   int doorbell_fd, uint64_t now_ms)
{
    struct lane lane;
    int fds[DESCRIPTORS] = {-1, listener->doorbell_fd, -1};
    struct message message = make_message(listener->cluster, &request->nonce);
    fds[0] = lane_create(&lane, doorbell_fd);
    if (fds[0] < 0) { return; }
    if (listener->loans != NULL) { fds[2] = lane_offer_loans(&lane, listener->loans); }
    if (fds[2] >= 0) { loans_range(listener->loans, &message.loan_offset, &message.loan_bytes); }
    keep(listener, &lane, &request->nonce, now_ms);
    (void)send_message(fd, &message, fds, fds[2] >= 0 ? 3 : 2);
    close(fds[0]);
    if (fds[2] >= 0) { close(fds[2]); }
}

/* False: the client's request has not arrived yet. */
static bool serve(struct lane_listener *listener, int fd, uint64_t now_ms)
{
    struct message request;
    int fds[DESCRIPTORS];
    if (!receive_message(fd, &request, fds, 1)) { return errno != EAGAIN; }
    if (request.cluster == listener->cluster && is_same_user(fd)) {
        answer(listener, fd, &request, fds[0], now_ms);
    }
    close_all(fds);
    return true;
}

void lane_listener_handle(struct lane_listener *listener, uint64_t now_ms)
{
    if (listener->fd < 0) { return; }
    let_in(listener, now_ms);
    for (unsigned i = 0; i < LANE_CLIENTS_MAX; i++) {
        struct lane_client *client = &listener->clients[i];
        if (client->fd < 0) { continue; }
        if (serve(listener, client->fd, now_ms) || now_ms - client->since_ms > PATIENCE_MS) {
            close(client->fd);
            client->fd = -1;
        }
    }
    pthread_mutex_lock(&listener->mutex);
    for (unsigned i = 0; i < LANE_PREPARED_MAX; i++) {
        struct lane_prepared *prepared = &listener->prepared[i];
        if (now_ms - prepared->since_ms > PATIENCE_MS) { lane_close(&prepared->lane); }
    }
    pthread_mutex_unlock(&listener->mutex);
}

bool lane_listener_take(struct lane_listener *listener, const struct lane_nonce *nonce,
                        struct lane *out)
{
    bool found = false;
    pthread_mutex_lock(&listener->mutex);
    for (unsigned i = 0; i < LANE_PREPARED_MAX && !found; i++) {
        struct lane_prepared *prepared = &listener->prepared[i];
        if (prepared->lane.memory == NULL) { continue; }
        if (memcmp(&prepared->nonce, nonce, sizeof *nonce) != 0) { continue; }
        *out = prepared->lane;
        prepared->lane = (struct lane){0};
        found = true;
    }
    pthread_mutex_unlock(&listener->mutex);
    return found;
}

/* -------------------------------------------------------- the dialing end */

/* The listener of the process that listens at the address, or at all addresses of this host. */
static bool connect_listener(int fd, uint64_t cluster, const char *address)
{
    char all[2][32];
    const char *port = strrchr(address, ':');
    assert(port != NULL);
    (void)snprintf(all[0], sizeof all[0], "0.0.0.0%s", port);
    (void)snprintf(all[1], sizeof all[1], "[::]%s", port);
    const char *const names[] = {address, all[0], all[1]};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        struct sockaddr_un name;
        const socklen_t size = make_name(cluster, names[i], &name);
        if (connect(fd, (struct sockaddr *)&name, size) == 0) { return true; }
        if (errno != ECONNREFUSED) { return false; }
    }
    return false;
}

int lane_request(uint64_t cluster, const char *address, int doorbell_fd, struct lane_nonce *nonce,
                 char reason[static LANE_REASON_MAX])
{
    int fd = open_socket();
    if (fd >= 0 && connect_listener(fd, cluster, address)) {
        if (!is_same_user(fd)) {
            (void)snprintf(reason, LANE_REASON_MAX, "the peer belongs to another user");
            close(fd);
            return -1;
        }
        *nonce = (struct lane_nonce){{clock_new_incarnation(), clock_new_incarnation()}};
        const struct message request = make_message(cluster, nonce);
        if (send_message(fd, &request, &doorbell_fd, 1)) { return fd; }
    }
    if (errno == ECONNREFUSED) {
        (void)snprintf(reason, LANE_REASON_MAX,
                       "no process in this network namespace offers one at %s", address);
    } else {
        (void)snprintf(reason, LANE_REASON_MAX, "local socket: %s", strerror(errno));
    }
    if (fd >= 0) { close(fd); }
    return -1;
}

bool lane_request_answer(int fd, const struct lane_nonce *nonce, struct lane *out,
                         char reason[static LANE_REASON_MAX])
{
    struct message message;
    int fds[DESCRIPTORS];
    bool opened = false;
    if (receive_message(fd, &message, fds, 2)) {
        opened = memcmp(&message.nonce, nonce, sizeof *nonce) == 0;
        errno = EPROTO;
        if (opened) { opened = lane_open(out, fds[0], fds[1]); }
        /* Without it, all bodies are copied: the frame with the nonce reports that. */
        if (opened && fds[2] >= 0) {
            (void)lane_accept_loans(out, fds[2], message.loan_offset, message.loan_bytes);
        }
        const int cause = errno;
        close_all(fds);
        errno = cause;
    }
    if (opened) { return true; }
    (void)snprintf(reason, LANE_REASON_MAX, "%s",
                   errno == EAGAIN || errno == ECONNRESET ? "the peer does not answer"
                                                          : strerror(errno));
    return false;
}
