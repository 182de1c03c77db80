#include "agent/observe/step_poller.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "common/net/transport.h"

enum { HEARTBEAT_MS = 1000, BODY_MAX_BYTES = LOSSES_MAX * sizeof(double) };

struct polled_holder {
    conn_id conn; /* 0: none. */
    uint64_t incarnation;
    bool known; /* It has answered at least once. */
    bool fresh; /* It has answered since it was asked last. */
    bool lost;  /* Its connection has ended since it was asked last. */
    uint64_t generation, step;
    uint32_t lanes; /* WIRE_LANES_SHIFT */
    /* The losses of the steps [first_loss, first_loss + loss_count). */
    uint64_t loss_generation, first_loss, losses_at_ms;
    uint32_t loss_count;
    double *losses; /* [LOSSES_MAX]; NULL: none has arrived. */
    /* Its tables, as of this generation. */
    bool tables_known, tables_fresh; /* As `known` and `fresh`. */
    uint64_t tables_generation;
    struct table_source source;
    struct table_stats *tables; /* [ROW_TABLES_MAX]; NULL: none has arrived. */
    /* The loads of its buckets, as of this generation. */
    bool buckets_fresh;
    uint64_t buckets_generation;
    struct row_loads *buckets; /* NULL: none have arrived. */
};

struct step_poller {
    pthread_mutex_t lock; /* Guards the holders. */
    struct polled_holder holders[HOLDERS_MAX];
    bool all_losses; /* Ask again until the answer is empty. */
    struct transport *transport;
    struct buffer_pool *pool;
};

static struct polled_holder *holder_of(struct step_poller *poller, conn_id conn)
{
    assert(poller != NULL);
    for (int i = 0; i < HOLDERS_MAX; i++) {
        if (conn.v != 0 && poller->holders[i].conn.v == conn.v) { return &poller->holders[i]; }
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
static bool keep_losses(struct polled_holder *holder, const struct transport_event *event)
{
    const struct frame_header *header = &event->header;
    const uint32_t count = header->count;
    const size_t bytes = event->body != NULL ? event->body->size : 0;
    if (count > LOSSES_MAX || bytes != count * sizeof(double)) { return false; }
    if (holder->losses == NULL) { holder->losses = malloc(LOSSES_MAX * sizeof *holder->losses); }
    if (holder->losses == NULL) { return false; }
    const bool continues = header->generation == holder->loss_generation &&
                           header->step == holder->first_loss + holder->loss_count &&
                           holder->loss_count + count <= LOSSES_MAX;
    if (!continues) {
        holder->loss_generation = header->generation;
        holder->first_loss = header->step;
        holder->loss_count = 0;
    }
    if (bytes > 0 && event->body != NULL) {
        memcpy(holder->losses + holder->loss_count, event->body->data, bytes);
    }
    holder->loss_count += count;
    holder->losses_at_ms = clock_monotonic_ms();
    return count > 0;
}

static void keep_tables(struct polled_holder *holder, const struct transport_event *event)
{
    const struct frame_header *header = &event->header;
    const void *body = event->body != NULL ? event->body->data : NULL;
    const size_t size = event->body != NULL ? event->body->size : 0;
    if (holder->tables == NULL) {
        holder->tables = malloc(ROW_TABLES_MAX * sizeof *holder->tables);
    }
    if (holder->tables == NULL) { return; }
    holder->tables_known = table_stats_decode(body, size, header->count, holder->tables);
    holder->tables_fresh = true;
    holder->source = (struct table_source){
        .count = header->count, .buckets = header->first, .updates = header->sequence};
    holder->tables_generation = header->generation;
}

static void keep_buckets(struct polled_holder *holder, const struct transport_event *event)
{
    const struct frame_header *header = &event->header;
    if (holder->buckets == NULL) { holder->buckets = malloc(sizeof *holder->buckets); }
    if (holder->buckets == NULL) { return; }
    holder->buckets->updates = header->sequence;
    holder->buckets->first = header->first;
    holder->buckets->count = header->count;
    holder->buckets_generation = header->generation;
    holder->buckets_fresh =
        row_loads_decode(event->body != NULL ? event->body->data : NULL,
                         event->body != NULL ? event->body->size : 0, holder->buckets);
}

static void on_event(void *ctx, const struct transport_event *event)
{
    struct step_poller *poller = ctx;
    bool again = false;
    uint64_t from = 0;
    assert(poller != NULL);
    pthread_mutex_lock(&poller->lock);
    struct polled_holder *holder = holder_of(poller, event->conn);
    if (holder != NULL && event->type == TRANSPORT_FRAME && event->header.type == FRAME_REFUSED) {
        holder->known = holder->fresh = true;
        holder->generation = event->header.generation;
        holder->step = event->header.step;
        holder->lanes = event->header.count;
    } else if (holder != NULL && event->type == TRANSPORT_FRAME &&
               event->header.type == FRAME_LOSSES) {
        again = keep_losses(holder, event) && poller->all_losses;
        from = holder->first_loss + holder->loss_count;
    } else if (holder != NULL && event->type == TRANSPORT_FRAME &&
               event->header.type == FRAME_TABLES) {
        keep_tables(holder, event);
    } else if (holder != NULL && event->type == TRANSPORT_FRAME &&
               event->header.type == FRAME_BUCKETS) {
        keep_buckets(holder, event);
    } else if (holder != NULL && event->type == TRANSPORT_CLOSED) {
        holder->conn.v = 0;
        holder->lost = true;
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
    for (int i = 0; i < HOLDERS_MAX; i++) {
        free(poller->holders[i].losses);
        free(poller->holders[i].tables);
        free(poller->holders[i].buckets);
    }
    free(poller);
}

void step_poller_ask(struct step_poller *poller, uint32_t index, const char *address,
                     uint64_t incarnation)
{
    assert(index < HOLDERS_MAX);
    assert(address != NULL);
    struct transport_port port = transport_port_of(poller->transport);
    struct polled_holder *holder = &poller->holders[index];
    pthread_mutex_lock(&poller->lock);
    conn_id conn = holder->conn, old = {0};
    if (holder->incarnation != incarnation) {
        old = conn;
        conn.v = 0;
        holder->tables_known = false;
    }
    holder->conn = conn;
    holder->incarnation = incarnation;
    holder->fresh = holder->lost = false;
    if (conn.v == 0) {
        /* Under the lock, because the answer may arrive before the id is stored. */
        conn = holder->conn = port.dial(port.ctx, address);
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
    if (!observer_has_ps(observer)) { return furthest_worker(poller, observer, step); }
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
    const struct polled_holder *holder = &poller->holders[index];
    bool known = holder->known;
    *generation = holder->generation;
    *step = holder->step;
    pthread_mutex_unlock(&poller->lock);
    return known;
}

void step_poller_lanes(struct step_poller *poller, uint32_t index, uint32_t *shm, uint32_t *tcp)
{
    assert(index < HOLDERS_MAX);
    pthread_mutex_lock(&poller->lock);
    const uint32_t lanes = poller->holders[index].lanes;
    pthread_mutex_unlock(&poller->lock);
    *shm = lanes & ((1U << WIRE_LANES_SHIFT) - 1);
    *tcp = lanes >> WIRE_LANES_SHIFT;
}

uint32_t step_poller_settled(struct step_poller *poller, uint32_t count)
{
    uint32_t settled = 0;
    assert(count <= HOLDERS_MAX);
    pthread_mutex_lock(&poller->lock);
    for (uint32_t i = 0; i < count; i++) {
        settled += poller->holders[i].fresh || poller->holders[i].lost;
    }
    pthread_mutex_unlock(&poller->lock);
    return settled;
}

void step_poller_ask_losses(struct step_poller *poller, uint64_t from, bool all)
{
    conn_id conns[HOLDERS_MAX];
    assert(poller != NULL);
    pthread_mutex_lock(&poller->lock);
    poller->all_losses = all;
    for (int i = 0; i < HOLDERS_MAX; i++) { conns[i] = poller->holders[i].conn; }
    pthread_mutex_unlock(&poller->lock);
    for (int i = 0; i < HOLDERS_MAX; i++) {
        if (conns[i].v != 0) { send_ask(poller, conns[i], from); }
    }
}

/* A holder that has the loss of step `*from`; NULL: none has, and `*from` moves if that is
 * certain. */
static const struct polled_holder *find_losses(const struct step_poller *poller,
                                               uint32_t holder_count, uint64_t generation,
                                               uint64_t *from)
{
    uint64_t first = UINT64_MAX;
    uint32_t answered = 0;
    for (uint32_t i = 0; i < holder_count; i++) {
        const struct polled_holder *holder = &poller->holders[i];
        if (holder->losses == NULL || holder->loss_generation != generation) { continue; }
        answered++;
        const uint64_t end = holder->first_loss + holder->loss_count;
        if (holder->first_loss <= *from && *from < end) { return holder; }
        if (holder->first_loss > *from && holder->loss_count > 0) {
            first = u64_min(first, holder->first_loss);
        }
    }
    if (answered == holder_count && first != UINT64_MAX) { *from = first; }
    return NULL;
}

uint32_t step_poller_get_losses(struct step_poller *poller, uint32_t holder_count,
                                uint64_t generation, uint64_t *from, double out[static LOSSES_MAX],
                                uint64_t *at_ms)
{
    uint32_t count = 0;
    assert(holder_count <= HOLDERS_MAX);
    pthread_mutex_lock(&poller->lock);
    const struct polled_holder *holder = find_losses(poller, holder_count, generation, from);
    if (holder != NULL) {
        const uint64_t skip = *from - holder->first_loss;
        count = holder->loss_count - (uint32_t)skip;
        memcpy(out, holder->losses + skip, count * sizeof *out);
        *at_ms = holder->losses_at_ms;
    }
    pthread_mutex_unlock(&poller->lock);
    return count;
}

/* Ask every holder to which there is a connection. `forget` marks its last answer as old. */
static void ask_each(struct step_poller *poller, enum frame_type type,
                     void (*forget)(struct polled_holder *holder))
{
    conn_id conns[HOLDERS_MAX];
    const struct frame_header ask = {.type = type};
    struct transport_port port = transport_port_of(poller->transport);
    pthread_mutex_lock(&poller->lock);
    for (int i = 0; i < HOLDERS_MAX; i++) {
        conns[i] = poller->holders[i].conn;
        forget(&poller->holders[i]);
    }
    pthread_mutex_unlock(&poller->lock);
    for (int i = 0; i < HOLDERS_MAX; i++) {
        if (conns[i].v != 0) { port.send(port.ctx, conns[i], &ask, NULL); }
    }
}

static void forget_tables(struct polled_holder *holder)
{
    holder->tables_fresh = false;
}

void step_poller_ask_tables(struct step_poller *poller)
{
    ask_each(poller, FRAME_TABLES, forget_tables);
}

static void forget_buckets(struct polled_holder *holder)
{
    holder->buckets_fresh = false;
}

void step_poller_ask_buckets(struct step_poller *poller)
{
    ask_each(poller, FRAME_BUCKETS, forget_buckets);
}

bool step_poller_get_buckets(struct step_poller *poller, uint32_t index, uint64_t generation,
                             struct row_loads *out)
{
    assert(index < HOLDERS_MAX);
    pthread_mutex_lock(&poller->lock);
    const struct polled_holder *holder = &poller->holders[index];
    const bool known = holder->buckets_fresh && holder->buckets_generation == generation;
    if (known) { *out = *holder->buckets; }
    pthread_mutex_unlock(&poller->lock);
    return known;
}

bool step_poller_get_tables(struct step_poller *poller, uint32_t index, uint64_t generation,
                            struct table_stats out[static ROW_TABLES_MAX],
                            struct table_source *source)
{
    assert(index < HOLDERS_MAX);
    pthread_mutex_lock(&poller->lock);
    const struct polled_holder *holder = &poller->holders[index];
    const bool known = holder->tables_known && holder->tables_generation == generation;
    *source = known ? holder->source : (struct table_source){.count = 0};
    if (source->count > 0) { memcpy(out, holder->tables, source->count * sizeof *out); }
    pthread_mutex_unlock(&poller->lock);
    return known;
}

uint32_t step_poller_settled_tables(struct step_poller *poller, uint32_t count)
{
    uint32_t settled = 0;
    assert(count <= HOLDERS_MAX);
    pthread_mutex_lock(&poller->lock);
    for (uint32_t i = 0; i < count; i++) {
        settled += poller->holders[i].tables_fresh || poller->holders[i].lost;
    }
    pthread_mutex_unlock(&poller->lock);
    return settled;
}
