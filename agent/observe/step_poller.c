#include "agent/observe/step_poller.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/net/transport.h"

enum { HEARTBEAT_MS = 1000, BODY_MAX_BYTES = 4096 };

struct seat {
    conn_id conn; /* 0: none. */
    uint64_t incarnation;
    bool known, fresh; /* fresh: answered since it was asked last. */
    uint64_t generation, step;
};

struct step_poller {
    pthread_mutex_t lock; /* Guards the seats. */
    struct seat seats[PS_MAX];
    struct transport *transport;
    struct buffer_pool *pool;
};

static struct seat *seat_of(struct step_poller *steps, conn_id conn)
{
    for (int i = 0; i < PS_MAX; i++) {
        if (conn.v != 0 && steps->seats[i].conn.v == conn.v) { return &steps->seats[i]; }
    }
    return NULL;
}

static void on_event(void *ctx, const struct transport_event *event)
{
    struct step_poller *steps = ctx;
    pthread_mutex_lock(&steps->lock);
    struct seat *seat = seat_of(steps, event->conn);
    if (seat != NULL && event->type == TRANSPORT_FRAME && event->header.type == FRAME_REFUSED) {
        seat->known = seat->fresh = true;
        seat->generation = event->header.generation;
        seat->step = event->header.step;
    } else if (seat != NULL && event->type == TRANSPORT_CLOSED) {
        seat->conn.v = 0;
    }
    pthread_mutex_unlock(&steps->lock);
    if (event->type == TRANSPORT_FRAME) { buffer_release(event->body); }
}

enum tn_status step_poller_open(uint64_t cluster_key, struct step_poller **out, struct error *error)
{
    struct step_poller *steps = calloc(1, sizeof *steps);
    struct buffer_pool *pool = buffer_pool_create(0);
    *out = NULL;
    if (steps == NULL || pool == NULL) {
        free(steps);
        buffer_pool_destroy(pool);
        return error_set(error, TN_ENOMEM, "out of memory");
    }
    pthread_mutex_init(&steps->lock, NULL);
    steps->pool = pool;
    const struct transport_config config = {.cluster = cluster_key,
                                            .sender = clock_new_incarnation(),
                                            .body_max = BODY_MAX_BYTES,
                                            .heartbeat_ms = HEARTBEAT_MS,
                                            .pool = pool,
                                            .sink = on_event,
                                            .sink_ctx = steps};
    enum tn_status status = transport_open(&config, &steps->transport, error);
    if (status == TN_OK) {
        *out = steps;
    } else {
        step_poller_close(steps);
    }
    return status;
}

void step_poller_close(struct step_poller *steps)
{
    if (steps == NULL) { return; }
    transport_close(steps->transport);
    buffer_pool_destroy(steps->pool);
    pthread_mutex_destroy(&steps->lock);
    free(steps);
}

void step_poller_ask(struct step_poller *steps, uint32_t index, const char *address,
                     uint64_t incarnation)
{
    struct transport_port port = transport_port_of(steps->transport);
    struct seat *seat = &steps->seats[index];
    pthread_mutex_lock(&steps->lock);
    conn_id conn = seat->conn, old = {0};
    if (seat->incarnation != incarnation) {
        old = conn;
        conn.v = 0;
    }
    seat->conn = conn;
    seat->incarnation = incarnation;
    seat->fresh = false;
    if (conn.v == 0) {
        /* Its answer may come before we have noted the id: noted under the lock. */
        conn = seat->conn = port.dial(port.ctx, address);
    }
    pthread_mutex_unlock(&steps->lock);
    if (old.v != 0) { port.close(port.ctx, old); }
    const struct frame_header pull = {
        .type = FRAME_PULL, .generation = UINT64_MAX, .step = STEP_LATEST};
    port.send(port.ctx, conn, &pull, NULL);
}

void step_poller_ask_all(struct step_poller *steps, const struct observer *observer)
{
    for (uint32_t i = 0; i < observer->task_count; i++) {
        const struct observed_task *seat = &observer->tasks[i];
        if (seat->task.role == ROLE_PS && seat->present) {
            step_poller_ask(steps, seat->task.index, seat->member.address,
                            seat->member.incarnation);
        }
    }
}

bool step_poller_reached(struct step_poller *steps, const struct observer *observer, uint64_t *step)
{
    uint64_t least = UINT64_MAX, generation = 0, one = 0;
    if (!observer->has_run) { return false; }
    for (uint32_t i = 0; i < observer->task_count; i++) {
        const struct task task = observer->tasks[i].task;
        if (task.role != ROLE_PS) { continue; }
        bool known = step_poller_get(steps, task.index, &generation, &one);
        if (!known || generation != observer->run.generation) { return false; }
        if (one < least) { least = one; }
    }
    const struct evaluation *evaluation = &observer->run.evaluation;
    if (evaluation->step != STEP_NONE && evaluation->step > least) { least = evaluation->step; }
    *step = least;
    return least != UINT64_MAX;
}

bool step_poller_get(struct step_poller *steps, uint32_t index, uint64_t *generation,
                     uint64_t *step)
{
    pthread_mutex_lock(&steps->lock);
    const struct seat *seat = &steps->seats[index];
    bool known = seat->known;
    *generation = seat->generation;
    *step = seat->step;
    pthread_mutex_unlock(&steps->lock);
    return known;
}

uint32_t step_poller_answered(struct step_poller *steps, uint32_t count)
{
    uint32_t answered = 0;
    pthread_mutex_lock(&steps->lock);
    for (uint32_t i = 0; i < count; i++) { answered += steps->seats[i].fresh; }
    pthread_mutex_unlock(&steps->lock);
    return answered;
}
