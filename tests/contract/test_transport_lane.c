/* Connections through shared memory: which are, which are not, and peers that break or die. */
#include "transport_probe.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/base/memory_file.h"
#include "common/net/lane_listener.h"

#define LOOPBACK "tcp://127.0.0.1:0"

static bool by_lane(struct probe *probe)
{
    pthread_mutex_lock(&probe->mutex);
    bool by_lane = probe->seen[probe->seen_count - 1].by_lane;
    pthread_mutex_unlock(&probe->mutex);
    return by_lane;
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL) { count++; }
    closedir(folder);
    return count;
}

/* The maintenance thread closes a stream after it has reported that. */
static void wait_descriptors(unsigned wanted)
{
    for (unsigned i = 0; i < 20000 && open_descriptors() > wanted; i++) { (void)poll(NULL, 0, 1); }
    assert_true(open_descriptors() <= wanted);
}

/* Whether the last frames travelled by a lane. */
static bool exchange(bool server_lanes, bool client_lanes)
{
    probe_lanes = server_lanes;
    struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK, .echo = true});
    probe_lanes = client_lanes;
    struct probe *client = probe_open((struct probe_options){0});
    conn_id conn = probe_dial(client, server->address);
    for (uint64_t i = 1; i <= 20; i++) { probe_send(client, conn, i, 300000 * (i % 3)); }
    WAIT_UNTIL(client, client->frames == 20);
    const bool used = by_lane(client);
    assert_int_equal(by_lane(server), used);
    probe_close(client);
    probe_close(server);
    return used;
}

/* Frames travel through shared memory if both ends offer it, unless a busy machine is too late;
 * otherwise over TCP. */
static void lane_needs_both_ends(void **state)
{
    (void)state;
    const unsigned before = open_descriptors();
    bool used = false;
    for (int i = 0; i < 20 && !used; i++) { used = exchange(true, true); }
    assert_true(used);
    assert_false(exchange(false, true));
    assert_false(exchange(true, false));
    wait_descriptors(before);
}

/* Another process that answers at the address of the lane listener does not get the connection's
 * frames: the peer does not know the nonce. */
static void wrong_listener_is_recognised(void **state)
{
    (void)state;
    struct lane_listener listener;
    struct doorbell doorbell;
    char reason[LANE_REASON_MAX];
    probe_lanes = false;
    struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK, .echo = true});
    assert_true(doorbell_open(&doorbell, true));
    assert_true(
        lane_listener_open(&listener, PROBE_CLUSTER, server->address + 6, doorbell.fd, reason));
    probe_lanes = true;
    struct probe *client = probe_open((struct probe_options){0});
    conn_id conn = probe_dial(client, server->address);
    probe_send(client, conn, 1, 4096);
    for (bool served = false; !served;) {
        lane_listener_handle(&listener, clock_monotonic_ms());
        pthread_mutex_lock(&client->mutex);
        served = client->frames == 1;
        pthread_mutex_unlock(&client->mutex);
        (void)poll(NULL, 0, 1);
    }
    assert_false(by_lane(client));
    probe_close(client);
    probe_close(server);
    lane_listener_close(&listener);
    doorbell_close(&doorbell);
}

/* ---------------------------------------------------------- a peer by hand */

struct hand {
    int tcp;
    struct lane lane;
    struct doorbell doorbell;
};

static int tcp_connect(const char *address)
{
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    peer.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&peer, sizeof peer), 0);
    return fd;
}

static void send_header(int fd, struct frame_header header)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    header.cluster = PROBE_CLUSTER;
    wire_encode_header(&header, bytes);
    assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
}

static struct frame_header read_header(int fd)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    struct frame_header header;
    assert_int_equal(recv(fd, bytes, sizeof bytes, MSG_WAITALL), sizeof bytes);
    assert_int_equal(wire_decode_header(bytes, 0, &header, NULL), TN_OK);
    return header;
}

/* A connection with a lane, without the transport. */
static struct hand shake(struct probe *server)
{
    struct hand hand = {.tcp = tcp_connect(server->address)};
    struct lane_nonce nonce;
    char reason[LANE_REASON_MAX];
    assert_true(doorbell_open(&hand.doorbell, true));
    int request =
        lane_request(PROBE_CLUSTER, server->address + 6, hand.doorbell.fd, &nonce, reason);
    assert_true(request >= 0);
    (void)poll(&(struct pollfd){.fd = request, .events = POLLIN}, 1, -1);
    assert_true(lane_request_answer(request, &nonce, &hand.lane, reason));
    close(request);
    send_header(hand.tcp, (struct frame_header){.type = FRAME_LANE,
                                                .step = nonce.parts[0],
                                                .sequence = nonce.parts[1]});
    const struct frame_header answer = read_header(hand.tcp);
    assert_int_equal(answer.type, FRAME_LANE);
    assert_int_equal(answer.first, 1);
    return hand;
}

static void leave(struct hand *hand)
{
    lane_close(&hand->lane);
    doorbell_close(&hand->doorbell);
    close(hand->tcp);
}

static enum tn_status last_status(struct probe *probe)
{
    pthread_mutex_lock(&probe->mutex);
    enum tn_status status = probe->seen[probe->seen_count - 1].status;
    pthread_mutex_unlock(&probe->mutex);
    return status;
}

static void frame_bytes(uint8_t out[static WIRE_HEADER_BYTES], uint32_t body_bytes)
{
    const struct frame_header header = {
        .type = FRAME_PUSH, .cluster = PROBE_CLUSTER, .sequence = 1, .body_bytes = body_bytes};
    wire_encode_header(&header, out);
}

static void claim_too_much(struct hand *hand)
{
    atomic_store(&hand->lane.out.shared->written, LANE_RING_BYTES + 1);
}
static void go_back(struct hand *hand)
{
    atomic_store(&hand->lane.out.shared->written, UINT64_MAX);
}
static void send_garbage(struct hand *hand)
{
    uint8_t garbage[200];
    size_t sent;
    memset(garbage, 0x5a, sizeof garbage);
    assert_true(lane_send(&hand->lane, &(struct iovec){garbage, sizeof garbage}, 1, &sent));
}
static void send_lane_in_lane(struct hand *hand)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    size_t sent;
    wire_encode_header(&(struct frame_header){.type = FRAME_LANE, .cluster = PROBE_CLUSTER}, bytes);
    assert_true(lane_send(&hand->lane, &(struct iovec){bytes, sizeof bytes}, 1, &sent));
}
static void send_beside(struct hand *hand)
{
    send_header(hand->tcp, (struct frame_header){.type = FRAME_PULL});
}
static void offer_again(struct hand *hand)
{
    send_header(hand->tcp, (struct frame_header){.type = FRAME_LANE});
}

/* Impossible contents of the shared memory, or frames beside it, close the connection, and only
 * this one. */
static void broken_lane_is_closed(void **state)
{
    (void)state;
    void (*const faults[])(struct hand *) = {claim_too_much,    go_back,     send_garbage,
                                             send_lane_in_lane, send_beside, offer_again};
    probe_lanes = true;
    struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK, .echo = true});
    struct probe *client = probe_open((struct probe_options){0});
    conn_id conn = probe_dial(client, server->address);
    probe_send(client, conn, 1, 8);
    WAIT_UNTIL(client, client->frames == 1);
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct hand hand = shake(server);
        faults[i](&hand);
        doorbell_ring(hand.lane.peer, true);
        WAIT_UNTIL(server, server->closed == i + 1);
        assert_int_equal(last_status(server), TN_EPROTO);
        leave(&hand);
    }
    probe_send(client, conn, 2, 8);
    WAIT_UNTIL(client, client->frames == 2);
    probe_close(client);
    probe_close(server);
}

/* Frames that were published before the peer died are delivered, also if the owner is behind; half
 * a frame is not. */
static void last_frames_are_delivered(void **state)
{
    (void)state;
    probe_lanes = true;
    struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK});
    struct hand hand = shake(server);
    uint8_t bytes[WIRE_HEADER_BYTES];
    size_t sent;
    atomic_store(&server->behind, true);
    frame_bytes(bytes, 0);
    assert_true(lane_send(&hand.lane, &(struct iovec){bytes, sizeof bytes}, 1, &sent));
    frame_bytes(bytes, 100);
    assert_true(lane_send(&hand.lane, &(struct iovec){bytes, sizeof bytes}, 1, &sent));
    leave(&hand);
    WAIT_UNTIL(server, server->closed == 1);
    ASSERT_HOLDS(server, server->frames == 1);
    assert_int_equal(last_status(server), TN_ECLOSED);
    probe_close(server);
}

/* Clients that never use their lane, or send a wrong descriptor, hold no resources for long. */
static void listener_survives_its_clients(void **state)
{
    (void)state;
    probe_lanes = true;
    struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK, .echo = true});
    const unsigned before = open_descriptors();
    struct doorbell doorbell;
    struct lane_nonce nonce;
    char reason[LANE_REASON_MAX];
    assert_true(doorbell_open(&doorbell, true));
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    for (unsigned i = 0; i < 3 * LANE_PREPARED_MAX; i++) {
        /* A pipe is not a doorbell. */
        int request = lane_request(PROBE_CLUSTER, server->address + 6,
                                   i % 2 ? doorbell.fd : pipes[0], &nonce, reason);
        if (request < 0) { continue; }
        (void)poll(&(struct pollfd){.fd = request, .events = POLLIN}, 1, -1);
        struct lane lane;
        assert_int_equal(lane_request_answer(request, &nonce, &lane, reason), i % 2);
        if (i % 2 != 0) { lane_close(&lane); }
        close(request);
    }
    close(pipes[0]);
    close(pipes[1]);
    doorbell_close(&doorbell);
    struct hand hand = shake(server);
    leave(&hand);
    WAIT_UNTIL(server, server->closed == 1);
    wait_descriptors(before);
    probe_close(server);
}

/* --------------------------------------------------------------- SIGKILL */

static void send_until_killed(const char *address)
{
    probe_lanes = true;
    struct probe *client = probe_open((struct probe_options){0});
    conn_id conn = probe_dial(client, address);
    for (uint64_t i = 1;; i++) {
        probe_send(client, conn, i, 100000 * (i % 5));
        for (bool full = true; full;) {
            pthread_mutex_lock(&client->mutex);
            full = client->frames + 100 < i;
            pthread_mutex_unlock(&client->mutex);
            if (full) { (void)poll(NULL, 0, 1); }
        }
    }
}

/* The end that survives delivers whole frames only, in order, learns of the death, and keeps no
 * descriptor. */
static void killed_peers_leave_nothing(void **state)
{
    (void)state;
    enum { ROUNDS = 20 };
    pid_t children[ROUNDS];
    int addresses[ROUNDS][2];
    /* Forked before this process has threads. */
    for (unsigned i = 0; i < ROUNDS; i++) {
        assert_int_equal(pipe(addresses[i]), 0);
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] > 0) { continue; }
        char address[TRANSPORT_ADDRESS_MAX] = "";
        if (read(addresses[i][0], address, sizeof address) > 0) { send_until_killed(address); }
        _exit(1);
    }
    probe_lanes = true;
    struct probe *server = probe_open((struct probe_options){.listen = LOOPBACK, .echo = true});
    const unsigned before = open_descriptors();
    unsigned lanes = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        assert_true(write(addresses[i][1], server->address, strlen(server->address)) > 0);
        pthread_mutex_lock(&server->mutex);
        uint64_t enough = server->frames + 5 * i;
        pthread_mutex_unlock(&server->mutex);
        WAIT_UNTIL(server, server->frames > enough);
        lanes += by_lane(server);
        assert_int_equal(kill(children[i], SIGKILL), 0);
        assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
        WAIT_UNTIL(server, server->closed == i + 1);
    }
    assert_true(lanes >= ROUNDS / 2); /* A busy machine may be too late for some. */
    wait_descriptors(before);
    probe_close(server);
    for (unsigned i = 0; i < ROUNDS; i++) {
        close(addresses[i][0]);
        close(addresses[i][1]);
    }
}

/* ----------------------------------------------------------------- loans */

enum { BORROWERS = 5, LENT_BODY = 100000, LENT_SLOTS = 4 };

static struct borrowing_child {
    pid_t pid;
    int to[2], from[2]; /* The address for it; a byte from it for each body. */
} borrowers[BORROWERS];

/* Keep all bodies in use. */
static void keep_body(void *ctx, const struct transport_event *event)
{
    const int *arrived = ctx;
    if (event->type == TRANSPORT_FRAME) { (void)!write(*arrived, "", 1); }
}

static void borrow_until_killed(const char *address, int arrived)
{
    struct error error;
    struct transport *transport;
    const struct transport_config config = {.cluster = PROBE_CLUSTER,
                                            .sender = 1,
                                            .body_max = WIRE_CHUNK_BYTES,
                                            .heartbeat_ms = 2000,
                                            .pool = buffer_pool_create(0),
                                            .lanes = true,
                                            .sink = keep_body,
                                            .sink_ctx = &arrived};
    if (transport_open(&config, &transport, &error) != TN_OK) { return; }
    const struct transport_port port = transport_port_of(transport);
    const conn_id conn = port.dial(port.ctx, address);
    port.send(port.ctx, conn, &(struct frame_header){.type = FRAME_PULL, .sequence = 1}, NULL);
    for (;;) { (void)pause(); }
}

/* Before this process has threads. */
static int fork_borrowers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < BORROWERS; i++) {
        struct borrowing_child *child = &borrowers[i];
        assert_int_equal(pipe(child->to) | pipe(child->from), 0);
        child->pid = fork();
        assert_true(child->pid >= 0);
        if (child->pid > 0) { continue; }
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        char address[TRANSPORT_ADDRESS_MAX] = "";
        if (read(child->to[0], address, sizeof address) > 0) {
            borrow_until_killed(address, child->from[1]);
        }
        _exit(1);
    }
    return 0;
}

/* The kernel may release the memory of a killed process a little later. */
static void wait_unlocked(int fd)
{
    for (unsigned i = 0; i < 60000; i++) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        assert_int_equal(fcntl(fd, F_OFD_GETLK, &lock), 0);
        if (lock.l_type == F_UNLCK) { return; }
        (void)poll(NULL, 0, 1);
    }
    fail_msg("a killed process keeps its lock");
}

/* Lend all slots to the last peer, which keeps them. All are free if it has a lane. */
static void lend_all(struct probe *server, struct buffer_pool *pool, int arrived)
{
    pthread_mutex_lock(&server->mutex);
    const conn_id conn = {server->seen[server->seen_count - 1].conn};
    pthread_mutex_unlock(&server->mutex);
    struct buffer *bodies[LENT_SLOTS];
    for (unsigned i = 0; i < LENT_SLOTS; i++) {
        bodies[i] = buffer_acquire(pool, LENT_BODY);
        assert_non_null(bodies[i]);
    }
    for (unsigned i = 0; i < LENT_SLOTS; i++) {
        char byte;
        const struct frame_header header = {.type = FRAME_VALUES, .sequence = i + 1};
        server->port.send(server->port.ctx, conn, &header, bodies[i]);
        assert_int_equal(read(arrived, &byte, 1), 1);
    }
}

/* A peer that is killed while it reads lent bodies does not keep them from being written again, as
 * soon as the next peer has connected. */
static void killed_borrowers_return_all(void **state)
{
    (void)state;
    void *memory;
    static _Atomic uint64_t lent;
    struct loan_memory offered = {.bytes = LENT_SLOTS * buffer_slot_bytes(LENT_BODY),
                                  .lent = &lent};
    offered.fd = memory_file_create("test-loans", offered.bytes, &memory);
    offered.memory = memory;
    offered.pool = buffer_pool_of_slots(memory, LENT_BODY, LENT_SLOTS);
    probe_lanes = true;
    struct probe *server =
        probe_open((struct probe_options){.listen = LOOPBACK, .loans = &offered});
    unsigned lanes = 0;
    for (unsigned i = 0; i < BORROWERS; i++) {
        struct borrowing_child *child = &borrowers[i];
        assert_true(write(child->to[1], server->address, strlen(server->address)) > 0);
        WAIT_UNTIL(server, server->opened == i + 1);
        lanes += by_lane(server);
        lend_all(server, offered.pool, child->from[0]);
        assert_int_equal(kill(child->pid, SIGKILL), 0);
        assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
        WAIT_UNTIL(server, server->closed == i + 1);
        wait_unlocked(offered.fd);
        close(child->to[0]);
        close(child->to[1]);
        close(child->from[0]);
        close(child->from[1]);
    }
    assert_int_equal(lent != 0, lanes > 0);
    probe_close(server);
    buffer_pool_destroy(offered.pool); /* Asserts that no slot is in use. */
    (void)munmap(memory, offered.bytes);
    close(offered.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_peers_leave_nothing), /* First: it forks. */
        cmocka_unit_test(killed_borrowers_return_all),
        cmocka_unit_test(lane_needs_both_ends),
        cmocka_unit_test(wrong_listener_is_recognised),
        cmocka_unit_test(broken_lane_is_closed),
        cmocka_unit_test(last_frames_are_delivered),
        cmocka_unit_test(listener_survives_its_clients),
    };
    return cmocka_run_group_tests(tests, fork_borrowers, NULL);
}
