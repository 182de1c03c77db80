/* Hostile peers, observed with real sockets: late and repeated frames, garbage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/contract/lab_scene.h"

/* A connection that is made while a fault is active. */
static struct pair pair_through(const char *from, const char *to)
{
    int listener = listen_in(to);
    struct pair pair = {.from = connect_to(from, to), .to = -1};
    assert_true(pair.from >= 0);
    if (ready(listener, POLLIN)) { pair.to = accept4(listener, NULL, NULL, SOCK_NONBLOCK); }
    assert_true(pair.to >= 0);
    close(listener);
    return pair;
}

/* Milliseconds until a byte arrives. */
static uint64_t travel_ms(int from, int to)
{
    char byte = 'x';
    uint64_t start_ms = clock_monotonic_ms();
    assert_int_equal(send(from, &byte, 1, MSG_NOSIGNAL), 1);
    assert_true(ready(to, POLLIN));
    assert_int_equal(recv(to, &byte, 1, 0), 1);
    return clock_monotonic_ms() - start_ms;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Bytes that a node receives are late on all its connections; those it sends are not. Medians, as a
 * busy machine delays some of both. */
static void received_bytes_are_delayed(void **state)
{
    (void)state;
    begin(FAULT_DELAY, "ps:0", 100);
    struct pair in = pair_through("worker:0", "ps:0"), out = pair_through("ps:0", "worker:0");
    enum { TIMES = 21 };
    uint64_t arriving_ms[TIMES], leaving_ms[TIMES];
    for (int i = 0; i < TIMES; i++) {
        arriving_ms[i] = travel_ms(in.from, in.to) + travel_ms(out.to, out.from);
        leaving_ms[i] = travel_ms(in.to, in.from) + travel_ms(out.from, out.to);
    }
    qsort(arriving_ms, TIMES, sizeof *arriving_ms, compare);
    qsort(leaving_ms, TIMES, sizeof *leaving_ms, compare);
    /* Twice 0 to 100 ms: 100 in the mean. */
    assert_true(arriving_ms[TIMES / 2] >= 20);
    assert_true(leaving_ms[TIMES / 2] < arriving_ms[TIMES / 2] / 2);
    finish();
    close_pair(in);
    close_pair(out);
}

/* Older connections are reset, so that they are made again through the proxy; at the end those
 * through the proxy are reset, and connections are direct again. */
static void delay_resets_connections_twice(void **state)
{
    (void)state;
    struct pair before = pair_of("worker:0", "ps:0");
    begin(FAULT_DELAY, "ps:0", 0);
    assert_int_equal(send(before.from, "x", 1, MSG_NOSIGNAL), 1);
    assert_true(is_reset(before.from));
    struct pair meanwhile = pair_through("worker:0", "ps:0");
    assert_true(passes(meanwhile.from, meanwhile.to));
    finish();
    char byte;
    assert_true(ready(meanwhile.from, POLLIN) && recv(meanwhile.from, &byte, 1, 0) <= 0);
    assert_true(can_reach("worker:0", "ps:0"));
    close_pair(before);
    close_pair(meanwhile);
}

/* The end of a stream arrives after its last byte; a refused connection ends at once. */
static void proxy_passes_ends(void **state)
{
    (void)state;
    char byte;
    begin(FAULT_DELAY, "ps:0", 20);
    struct pair pair = pair_through("worker:0", "ps:0");
    assert_int_equal(send(pair.from, "x", 1, MSG_NOSIGNAL), 1);
    shutdown(pair.from, SHUT_WR);
    assert_true(ready(pair.to, POLLIN));
    assert_int_equal(recv(pair.to, &byte, 1, 0), 1);
    assert_true(ready(pair.to, POLLIN));
    assert_int_equal(recv(pair.to, &byte, 1, 0), 0);
    assert_true(passes(pair.to, pair.from));
    close_pair(pair);
    int fd = connect_to("worker:0", "ps:0"); /* No process listens. */
    if (fd >= 0) {
        assert_true(ready(fd, POLLIN) && recv(fd, &byte, 1, 0) <= 0);
        close(fd);
    }
    finish();
}

enum { FRAMES = 200, BODY = 100, FRAME = WIRE_HEADER_BYTES + BODY };

static void make_frame(uint64_t sequence, uint8_t frame[static FRAME])
{
    const struct frame_header header = {
        .type = FRAME_PUSH, .cluster = 1, .sender = 2, .sequence = sequence, .body_bytes = BODY};
    wire_encode_header(&header, frame);
    memset(frame + WIRE_HEADER_BYTES, (int)(sequence & 0x7f), BODY);
}

/* Read whole frames until none arrives, and count each. */
static void count_frames(int fd, uint32_t counts[static FRAMES])
{
    uint8_t frame[FRAME];
    struct frame_header header;
    size_t have = 0;
    uint32_t missing = FRAMES;
    while (wait_ms = missing > 0 ? PATIENCE_MS : SILENCE_MS, ready(fd, POLLIN)) {
        ssize_t size = recv(fd, frame + have, FRAME - have, 0);
        assert_true(size > 0);
        have += (size_t)size;
        if (have < FRAME) { continue; }
        have = 0;
        assert_int_equal(wire_decode_header(frame, BODY, &header, &error), TN_OK);
        assert_true(header.sequence < FRAMES);
        assert_int_equal(frame[FRAME - 1], header.sequence & 0x7f);
        missing -= counts[header.sequence]++ == 0;
    }
    wait_ms = PATIENCE_MS;
    assert_int_equal(have, 0);
}

/* Some frames that a node receives arrive twice, whole and in order; but not the first one, and
 * none that it sends. */
static void frames_arrive_twice(void **state)
{
    (void)state;
    uint32_t in[FRAMES] = {0}, out[FRAMES] = {0}, twice = 0;
    uint8_t frame[FRAME];
    begin(FAULT_DUPLICATE, "ps:0", 0);
    struct pair pair = pair_through("worker:0", "ps:0");
    for (uint32_t i = 0; i < FRAMES; i++) {
        make_frame(i, frame);
        assert_int_equal(send(pair.from, frame, FRAME, MSG_NOSIGNAL), FRAME);
        assert_int_equal(send(pair.to, frame, FRAME, MSG_NOSIGNAL), FRAME);
    }
    count_frames(pair.to, in);
    count_frames(pair.from, out);
    for (uint32_t i = 0; i < FRAMES; i++) {
        assert_in_range(in[i], 1, 2);
        assert_int_equal(out[i], 1);
        twice += in[i] - 1;
    }
    assert_int_equal(in[0], 1);
    assert_in_range(twice, FRAMES / 10, FRAMES / 2);
    finish();
    close_pair(pair);
}

/* Bytes that are not frames pass unchanged. */
static void other_bytes_pass_once(void **state)
{
    (void)state;
    char bytes[1000], got[2000];
    size_t have = 0;
    memset(bytes, 'z', sizeof bytes);
    begin(FAULT_DUPLICATE, "ps:0", 0);
    struct pair pair = pair_through("worker:0", "ps:0");
    assert_int_equal(send(pair.from, bytes, sizeof bytes, MSG_NOSIGNAL), (int)sizeof bytes);
    while (wait_ms = have < sizeof bytes ? PATIENCE_MS : SILENCE_MS, ready(pair.to, POLLIN)) {
        ssize_t size = recv(pair.to, got + have, sizeof got - have, 0);
        assert_true(size > 0);
        have += (size_t)size;
    }
    wait_ms = PATIENCE_MS;
    assert_int_equal(have, sizeof bytes);
    assert_memory_equal(got, bytes, sizeof bytes);
    finish();
    close_pair(pair);
}

/* Each port that a node listens on is attacked, again and again. */
static void listening_ports_are_attacked(void **state)
{
    (void)state;
    int listener = listen_in("ps:0"), accepted = 0;
    begin(FAULT_HOSTILE_CLIENT, "ps:0", 0);
    assert_non_null(strstr(active.text, ":4711"));
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; accepted++) { close(fd); }
    assert_int_equal(accepted, 6);
    (void)poll(NULL, 0, 210);
    injector->tick(cluster, &active);
    assert_true(ready(listener, POLLIN));
    finish();
    assert_string_equal(active.text, "12 hostile connections were made");
    close(listener);
    assert_int_equal(injector_begin(injector, cluster, &active, &error), TN_EAGAIN);
}

/* Without a lab only loopback is attacked. */
static void other_addresses_are_not_attacked(void **state)
{
    (void)state;
    struct target_cluster *bare = malloc(sizeof *bare);
    assert_non_null(bare);
    memcpy(bare, cluster, sizeof *bare);
    bare->lab = NULL;
    active = (struct active_fault){
        .injection = {.id = 7, .fault = FAULT_HOSTILE_CLIENT, .selector = "ps:0"}};
    injector = injector_of(FAULT_HOSTILE_CLIENT, false);
    struct component *component = target_cluster_component(bare, "ps:0");
    snprintf(component->address, sizeof component->address, "tcp://%s:%d", lab_address(lab, "ps:0"),
             PORT);
    int listener = listen_in("ps:0");
    assert_int_equal(injector_begin(injector, bare, &active, &error), TN_EAGAIN);
    assert_int_equal(accept(listener, NULL, NULL), -1);
    close(listener);
    free(bare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(received_bytes_are_delayed),
        cmocka_unit_test(delay_resets_connections_twice),
        cmocka_unit_test(proxy_passes_ends),
        cmocka_unit_test(frames_arrive_twice),
        cmocka_unit_test(other_bytes_pass_once),
        cmocka_unit_test(listening_ports_are_attacked),
        cmocka_unit_test(other_addresses_are_not_attacked),
    };
    return RUN_IN_LAB(tests);
}
