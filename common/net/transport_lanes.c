#include "common/net/transport_lanes.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/clock.h"

enum { POLLED_MAX = 1 + 1 + LANE_CLIENTS_MAX + LANE_REQUESTS_MAX };

/* --------------------------------------------------------------- polling */

bool lanes_poll(struct lanes *lanes, size_t behind_max)
{
    bool done = false;
    pthread_mutex_lock(&lanes->polling);
    for (unsigned i = 0; i < lanes->polled_count; i++) {
        done = connection_poll(lanes->polled[i], behind_max) || done;
    }
    pthread_mutex_unlock(&lanes->polling);
    return done;
}

bool lanes_are_polled(struct lanes *lanes)
{
    return atomic_load(&lanes->polled_count) > 0;
}

void lanes_add(struct lanes *lanes, struct connection *connection)
{
    pthread_mutex_lock(&lanes->polling);
    assert(lanes->polled_count < TRANSPORT_CONNECTIONS_MAX);
    lanes->polled[lanes->polled_count] = connection;
    atomic_fetch_add(&lanes->polled_count, 1);
    pthread_mutex_unlock(&lanes->polling);
    (void)lanes_poll(lanes, 0); /* The peer may have sent before. */
    /* The owner may sleep where peers cannot wake it: streams_prepare_sleep() decides again. */
    doorbell_wake(&lanes->doorbell, DOORBELL_OWNER);
}

void lanes_remove(struct lanes *lanes, struct connection *connection)
{
    if (lanes == NULL) { return; }
    pthread_mutex_lock(&lanes->polling);
    for (unsigned i = 0; i < lanes->polled_count; i++) {
        if (lanes->polled[i] != connection) { continue; }
        lanes->polled[i] = lanes->polled[atomic_fetch_sub(&lanes->polled_count, 1) - 1];
        break;
    }
    pthread_mutex_unlock(&lanes->polling);
}

static void *run_helper(void *arg)
{
    struct lanes *lanes = arg;
    const enum doorbell_waiter who = lanes->helper_waits_as;
    while (!atomic_load(&lanes->stopping)) {
        const uint32_t ticket = doorbell_announce(&lanes->doorbell, who);
        if (!atomic_load(&lanes->stopping) && !lanes_poll(lanes, 0)) {
            doorbell_sleep(&lanes->doorbell, ticket, who, UINT64_MAX);
        }
        doorbell_withdraw(&lanes->doorbell, who);
    }
    return NULL;
}

/* ------------------------------------------------------------ open, close */

static void release(struct lanes *lanes)
{
    if (lanes->wake_fd >= 0) { close(lanes->wake_fd); }
    lane_listener_close(&lanes->listener);
    loans_close(lanes->loans);
    doorbell_close(&lanes->doorbell);
    pthread_mutex_destroy(&lanes->polling);
    pthread_mutex_destroy(&lanes->requests_mutex);
    free(lanes);
}

struct lanes *lanes_open(const struct transport_config *config, const char *address,
                         char reason[static LANE_REASON_MAX])
{
    struct lanes *lanes = calloc(1, sizeof *lanes);
    if (lanes == NULL) {
        (void)snprintf(reason, LANE_REASON_MAX, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&lanes->polling, NULL);
    pthread_mutex_init(&lanes->requests_mutex, NULL);
    lanes->helper_waits_as = config->owner_polls ? DOORBELL_HELPER : DOORBELL_OWNER;
    const bool shared = doorbell_open(&lanes->doorbell, true);
    if (!shared) { (void)snprintf(reason, LANE_REASON_MAX, "memfd: %s", strerror(errno)); }
    const bool opened = lane_listener_open(&lanes->listener, config->cluster,
                                           shared ? address : NULL, lanes->doorbell.fd, reason);
    if (config->loans != NULL && address != NULL) { lanes->loans = loans_open(config->loans); }
    lanes->listener.loans = lanes->loans;
    lanes->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (shared && opened && lanes->wake_fd < 0) {
        (void)snprintf(reason, LANE_REASON_MAX, "eventfd: %s", strerror(errno));
    }
    if (shared && opened && lanes->wake_fd >= 0) {
        const int failed = pthread_create(&lanes->helper, NULL, run_helper, lanes);
        if (failed == 0) { return lanes; }
        (void)snprintf(reason, LANE_REASON_MAX, "cannot start a thread: %s", strerror(failed));
    }
    release(lanes);
    return NULL;
}

void lanes_close(struct lanes *lanes)
{
    if (lanes == NULL) { return; }
    atomic_store(&lanes->stopping, true);
    doorbell_wake(&lanes->doorbell, lanes->helper_waits_as);
    pthread_join(lanes->helper, NULL);
    assert(lanes->polled_count == 0 && lanes->request_count == 0);
    release(lanes);
}

/* ---------------------------------------------------- listener and requests */

void lanes_wake(struct lanes *lanes)
{
    const uint64_t one = 1;
    ssize_t written = write(lanes->wake_fd, &one, sizeof one);
    assert(written == (ssize_t)sizeof one);
}

bool lanes_add_request(struct lanes *lanes, struct connection *connection, int fd)
{
    assert(fd >= 0);
    pthread_mutex_lock(&lanes->requests_mutex);
    const bool added = lanes->request_count < LANE_REQUESTS_MAX;
    if (added) {
        lanes->requests[lanes->request_count++] = (struct lane_request_waiting){
            .connection = connection, .fd = fd, .since_ms = clock_monotonic_ms()};
    }
    pthread_mutex_unlock(&lanes->requests_mutex);
    if (added) { lanes_wake(lanes); }
    return added;
}

static unsigned add_requests(struct lanes *lanes, struct pollfd *polled)
{
    pthread_mutex_lock(&lanes->requests_mutex);
    const unsigned count = lanes->request_count;
    for (unsigned i = 0; i < count; i++) {
        polled[i] = (struct pollfd){.fd = lanes->requests[i].fd, .events = POLLIN};
    }
    pthread_mutex_unlock(&lanes->requests_mutex);
    return count;
}

/* A request that is answered, or has waited for too long. False: there is none. */
static bool take_request(struct lanes *lanes, uint64_t now_ms, struct lane_request_waiting *out)
{
    bool taken = false;
    pthread_mutex_lock(&lanes->requests_mutex);
    for (unsigned i = 0; i < lanes->request_count && !taken; i++) {
        struct lane_request_waiting *request = &lanes->requests[i];
        struct pollfd polled = {.fd = request->fd, .events = POLLIN};
        taken = poll(&polled, 1, 0) > 0 || now_ms - request->since_ms > LANE_REQUEST_MS;
        if (!taken) { continue; }
        *out = *request;
        *request = lanes->requests[--lanes->request_count];
    }
    pthread_mutex_unlock(&lanes->requests_mutex);
    return taken;
}

void lanes_wait(struct lanes *lanes, uint64_t deadline_ms)
{
    struct pollfd polled[POLLED_MAX] = {{.fd = lanes->wake_fd, .events = POLLIN}};
    uint64_t now_ms = clock_monotonic_ms(), wakes;
    unsigned count = 1;
    count += lane_listener_polled(&lanes->listener, polled + count);
    count += add_requests(lanes, polled + count);
    (void)poll(polled, count, deadline_ms > now_ms ? (int)(deadline_ms - now_ms) : 0);
    if (polled[0].revents != 0) { (void)!read(lanes->wake_fd, &wakes, sizeof wakes); }
    now_ms = clock_monotonic_ms();
    lane_listener_handle(&lanes->listener, now_ms);
    struct lane_request_waiting request;
    while (take_request(lanes, now_ms, &request)) {
        connection_lane_answered(request.connection, request.fd);
    }
}
