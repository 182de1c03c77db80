#include "agent/observe/step_poller.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "common/net/transport.h"

enum { HEARTBEAT_MS = 1000, BODY_MAX_BYTES = LOSSES_MAX * sizeof(double) };

struct polled_ps {
    conn_id conn; /* 0: none. */
    uint64_t incarnation;
    bool known; /* It has answered at lowest once ... */
    bool fresh; /* ... and since it was asked last. */
    uint64_t generation, step;
    uint32_t lanes; /* WIRE_LANES_SHIFT */
    /* The losses of the steps [first_loss, first_loss + loss_count). */
    uint64_t loss_generation, first_loss, losses_at_ms;
    uint32_t loss_count;
    double *losses; /* [LOSSES_MAX]; NULL: none has arrived. */
};

struct step_poller {
    pthread_mutex_t lock; /* Guards the ps. */
    struct polled_ps ps[HOLDERS_MAX];
    bool all_losses; /* Ask again until the answer is empty. */
    struct transport *transport;
    struct buffer_pool *pool;
};

static struct polled_ps *ps_of(struct step_poller *poller, conn_id conn)
{
    assert(poller != NULL);
    for (int i = 0; i < HOLDERS_MAX; i++) {
        if (conn.v != 0 && poller->ps[i].conn.v == conn.v) { return &poller->ps[i]; }
    }
    return NULL;
}

static void send_ask(struct step_poller *poller, conn_id conn, uint64_t from)
{
    const struct frame_header ask = {.type = FRAME_LOSSES, .step = from};
    struct transport_port port = transport_port_of(poller->transport);
    port.send(port.ctx, conn, &ask, NULL);
}

/* Losses that continue those of before are added to them, others replace them. Returns whether
 * there are some. */
static bool keep_losses(struct polled_ps *ps, const struct transport_event *event)
{
    const struct frame_header *header = &event->header;
    const uint32_t count = header->count;
    const size_t bytes = event->body != NULL ? event->body->size : 0;
    if (count > LOSSES_MAX || bytes != count * sizeof(double)) { return false; }
    if (ps->losses == NULL) { ps->losses = malloc(LOSSES_MAX * sizeof *ps->losses); }
    if (ps->losses == NULL) { return false; }
    const bool continues = header->generation == ps->loss_generation &&
                           header->step == ps->first_loss + ps->loss_count &&
                           ps->loss_count + count <= LOSSES_MAX;
    if (!continues) {
        ps->loss_generation = header->generation;
        ps->first_loss = header->step;
        ps->loss_count = 0;
    }
    if (bytes > 0 && event->body != NULL) {
        memcpy(ps->losses + ps->loss_count, event->body->data, bytes);
    }
    ps->loss_count += count;
    ps->losses_at_ms = clock_monotonic_ms();
    return count > 0;
}

static void on_event(void *ctx, const struct transport_event *event)
{
    struct step_poller *poller = ctx;
    bool again = false;
    uint64_t from = 0;
    assert(poller != NULL);
    pthread_mutex_lock(&poller->lock);
    struct polled_ps *ps = ps_of(poller, event->conn);
    if (ps != NULL && event->type == TRANSPORT_FRAME && event->header.type == FRAME_REFUSED) {
        ps->known = ps->fresh = true;
        ps->generation = event->header.generation;
        ps->step = event->header.step;
        ps->lanes = event->header.count;
    } else if (ps != NULL && event->type == TRANSPORT_FRAME && event->header.type == FRAME_LOSSES) {
        again = keep_losses(ps, event) && poller->all_losses;
        from = ps->first_loss + ps->loss_count;
    } else if (ps != NULL && event->type == TRANSPORT_CLOSED) {
        ps->conn.v = 0;
    }
    pthread_mutex_unlock(&poller->lock);
    if (again) { send_ask(poller, event->conn, from); }
    if (event->type == TRANSPORT_FRAME) { buffer_release(event->body); }
}

enum tn_status step_poller_open(uint64_t cluster_key, struct step_poller **out, struct error *error)
{
    struct step_poller *poller = calloc(1, sizeof *poller);
    struct buffer_pool *pool = buffer_pool_create(0);
    *out = NULL;
    if (poller == NULL || pool == NULL) {
        free(poller);
        buffer_pool_destroy(pool);
        return error_set(error, TN_ENOMEM, "out of memory");
    }
    pthread_mutex_init(&poller->lock, NULL);
    poller->pool = pool;
    const struct transport_config config = {.cluster = cluster_key,
                                            .sender = clock_new_incarnation(),
                                            .body_max = BODY_MAX_BYTES,
                                            .heartbeat_ms = HEARTBEAT_MS,
                                            .pool = pool,
                                            .sink = on_event,
                                            .sink_ctx = poller};
    enum tn_status status = transport_open(&config, &poller->transport, error);
    if (status == TN_OK) {
        *out = poller;
    } else {
        step_poller_close(poller);
    }
    return status;
}

void step_poller_close(struct step_poller *poller)
{
    if (poller == NULL) { return; }
    transport_close(poller->transport);
    buffer_pool_destroy(poller->pool);
    pthread_mutex_destroy(&poller->lock);
    for (int i = 0; i < HOLDERS_MAX; i++) { free(poller->ps[i].losses); }
    free(poller);
}

void step_poller_ask(struct step_poller *poller, uint32_t index, const char *address,
                     uint64_t incarnation)
{
    assert(index < HOLDERS_MAX);
    assert(address != NULL);
    struct transport_port port = transport_port_of(poller->transport);
    struct polled_ps *ps = &poller->ps[index];
    pthread_mutex_lock(&poller->lock);
    conn_id conn = ps->conn, old = {0};
    if (ps->incarnation != incarnation) {
        old = conn;
        conn.v = 0;
    }
    ps->conn = conn;
    ps->incarnation = incarnation;
    ps->fresh = false;
    if (conn.v == 0) {
        /* Under the lock, because the answer may arrive before the id is stored. */
        conn = ps->conn = port.dial(port.ctx, address);
    }
    pthread_mutex_unlock(&poller->lock);
    if (old.v != 0) { port.close(port.ctx, old); }
    const struct frame_header pull = {
        .type = FRAME_PULL, .generation = UINT64_MAX, .step = STEP_LATEST};
    port.send(port.ctx, conn, &pull, NULL);
}

void step_poller_ask_all(struct step_poller *poller, const struct observer *observer)
{
    const enum role holders = observer_holders(observer);
    for (uint32_t i = 0; i < observer->task_count; i++) {
        const struct observed_task *task = &observer->tasks[i];
        if (task->task.role == holders && task->present) {
            step_poller_ask(poller, task->task.index, task->member.address,
                            task->member.incarnation);
        }
    }
}

/* Without ps one worker that holds the values is enough. */
static bool furthest_worker(struct step_poller *poller, const struct observer *observer,
                            uint64_t *step)
{
    uint64_t generation = 0, answered = 0;
    bool found = false;
    *step = observer->run.evaluation.step != STEP_NONE ? observer->run.evaluation.step : 0;
    for (uint32_t i = 0; i < observer->task_count; i++) {
        const struct task task = observer->tasks[i].task;
        if (task.role != ROLE_WORKER) { continue; }
        const bool known = step_poller_get(poller, task.index, &generation, &answered);
        if (!known || generation != observer->run.generation) { continue; }
        *step = u64_max(*step, answered);
        found = true;
    }
    return found;
}

bool step_poller_reached(struct step_poller *poller, const struct observer *observer,
                         uint64_t *step)
{
    uint64_t lowest = UINT64_MAX, generation = 0, answered = 0;
    assert(step != NULL);
    if (!observer->has_run) { return false; }
    if (observer_holders(observer) == ROLE_WORKER) {
        return furthest_worker(poller, observer, step);
    }
    for (uint32_t i = 0; i < observer->task_count; i++) {
        const struct task task = observer->tasks[i].task;
        if (task.role != ROLE_PS) { continue; }
        bool known = step_poller_get(poller, task.index, &generation, &answered);
        if (!known || generation != observer->run.generation) { return false; }
        lowest = u64_min(lowest, answered);
    }
    const struct evaluation *evaluation = &observer->run.evaluation;
    if (evaluation->step != STEP_NONE) { lowest = u64_max(lowest, evaluation->step); }
    *step = lowest;
    return lowest != UINT64_MAX;
}

bool step_poller_get(struct step_poller *poller, uint32_t index, uint64_t *generation,
                     uint64_t *step)
{
    assert(index < HOLDERS_MAX);
    pthread_mutex_lock(&poller->lock);
    const struct polled_ps *ps = &poller->ps[index];
    bool known = ps->known;
    *generation = ps->generation;
    *step = ps->step;
    pthread_mutex_unlock(&poller->lock);
    return known;
}

void step_poller_lanes(struct step_poller *poller, uint32_t index, uint32_t *shm, uint32_t *tcp)
{
    assert(index < HOLDERS_MAX);
    pthread_mutex_lock(&poller->lock);
    const uint32_t lanes = poller->ps[index].lanes;
    pthread_mutex_unlock(&poller->lock);
    *shm = lanes & ((1U << WIRE_LANES_SHIFT) - 1);
    *tcp = lanes >> WIRE_LANES_SHIFT;
}

uint32_t step_poller_answered(struct step_poller *poller, uint32_t count)
{
    uint32_t answered = 0;
    assert(count <= HOLDERS_MAX);
    pthread_mutex_lock(&poller->lock);
    for (uint32_t i = 0; i < count; i++) { answered += poller->ps[i].fresh; }
    pthread_mutex_unlock(&poller->lock);
    return answered;
}

void step_poller_ask_losses(struct step_poller *poller, uint64_t from, bool all)
{
    conn_id conns[HOLDERS_MAX];
    assert(poller != NULL);
    pthread_mutex_lock(&poller->lock);
    poller->all_losses = all;
    for (int i = 0; i < HOLDERS_MAX; i++) { conns[i] = poller->ps[i].conn; }
    pthread_mutex_unlock(&poller->lock);
    for (int i = 0; i < HOLDERS_MAX; i++) {
        if (conns[i].v != 0) { send_ask(poller, conns[i], from); }
    }
}

/* A ps that has the loss of step `*from`; NULL: none has, and `*from` moves if that is certain. */
static const struct polled_ps *find_losses(const struct step_poller *poller, uint32_t ps_count,
                                           uint64_t generation, uint64_t *from)
{
    uint64_t first = UINT64_MAX;
    uint32_t answered = 0;
    for (uint32_t i = 0; i < ps_count; i++) {
        const struct polled_ps *ps = &poller->ps[i];
        if (ps->losses == NULL || ps->loss_generation != generation) { continue; }
        answered++;
        const uint64_t end = ps->first_loss + ps->loss_count;
        if (ps->first_loss <= *from && *from < end) { return ps; }
        if (ps->first_loss > *from && ps->loss_count > 0) {
            first = u64_min(first, ps->first_loss);
        }
    }
    if (answered == ps_count && first != UINT64_MAX) { *from = first; }
    return NULL;
}

uint32_t step_poller_get_losses(struct step_poller *poller, uint32_t ps_count, uint64_t generation,
                                uint64_t *from, double out[static LOSSES_MAX], uint64_t *at_ms)
{
    uint32_t count = 0;
    assert(ps_count <= HOLDERS_MAX);
    pthread_mutex_lock(&poller->lock);
    const struct polled_ps *ps = find_losses(poller, ps_count, generation, from);
    if (ps != NULL) {
        const uint64_t skip = *from - ps->first_loss;
        count = ps->loss_count - (uint32_t)skip;
        memcpy(out, ps->losses + skip, count * sizeof *out);
        *at_ms = ps->losses_at_ms;
    }
    pthread_mutex_unlock(&poller->lock);
    return count;
}
