#include "tests/sim/process.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/minmax.h"
#include "ps/kept_memory.h"

enum { POOL_LIMIT_BYTES = 16 << 20, WAIT_MAX_MS = 1000000000, WAKE_US = 50, WAKE_AGAIN_US = 1000 };

static struct process *running;

struct process *process_running(void)
{
    return running;
}

/* The monotonic clock of the process, with its drift. */
static uint64_t local_ms(const struct process *process)
{
    uint64_t us = process->config.world->now_us;
    int64_t drift = (int64_t)us * process->config.clock_drift_ppm / 1000000;
    return (uint64_t)((int64_t)us + drift) / 1000;
}

static void on_tick(struct world *world, void *target, uint64_t a, uint64_t b, void *data);

static void schedule_tick(struct process *process)
{
    struct world *world = process->config.world;
    uint64_t deadline = process->node.deadline_ms(process->node.self);
    if (deadline == UINT64_MAX || process->frozen) { return; }
    uint64_t now = local_ms(process);
    uint64_t wait_us = deadline > now ? u64_min(deadline - now, WAIT_MAX_MS) * 1000 + 1000 : 1000;
    uint64_t at_us = world->now_us + wait_us;
    if (process->tick_at_us != 0 && process->tick_at_us <= at_us) { return; }
    process->tick_at_us = at_us;
    world_at(world, at_us, on_tick, process, at_us, 0, NULL);
}

/* Workers that share rows are modelled as processes of their own, which may die alone. */
static void leave_sharing(struct process *process)
{
    if (process->sharing != NULL) { row_sharing_leave(process->sharing, process->task.index); }
    process->sharing = NULL;
}

static void end(struct process *process, int exit_code)
{
    assert(process->alive);
    leave_sharing(process);
    zk_client_close(process->zk);
    net_endpoint_kill(process->endpoint, false);
    disk_user_kill(process->store);
    process->alive = false;
    process->config.ended(process->config.ctx, process, exit_code);
}

static void freeze(struct process *process)
{
    if (!process->alive || process->frozen) { return; }
    process->frozen = true;
    process->tick_at_us = 0;
    disk_user_freeze(process->store, true);
    net_endpoint_freeze(process->endpoint, true);
    zk_client_hold(process->zk, true);
}

/* After a stop, timers and the events that waited come before the expiry of the session. After a
 * computation orders come first, because the process may compute again at each event. Then it hears
 * of the others afterwards. */
static void thaw(struct process *process, bool orders_first)
{
    if (!process->alive || !process->frozen) { return; }
    process->frozen = false;
    process->tick_at_us = 0;
    disk_user_freeze(process->store, false);
    if (orders_first && !process->frozen) { zk_client_hold(process->zk, false); }
    if (!process->frozen) { net_endpoint_freeze(process->endpoint, false); }
    if (process->frozen) { return; }
    schedule_tick(process);
    zk_client_hold(process->zk, false);
}

/* ------------------------------------------------------------------ computing */

static uint64_t read_stopwatch_ns(void *ctx, uint64_t slices)
{
    struct process *process = ctx;
    process->computed_us += slices * process->config.slice_us;
    net_endpoint_delay(process->endpoint, process->computed_us);
    return (process->config.world->now_us + process->computed_us) * 1000;
}

void process_signal(struct process *process, enum node_event_type type)
{
    if (!process->alive || process->stopped) { return; }
    if (process->computing) {
        process->signalled = true;
        process->signal = type;
        return;
    }
    if (type == NODE_LEAVE) { process->ordered_to_leave = true; }
    if (type == NODE_DRAIN) { process->drained_us = process->config.world->now_us; }
    process_deliver(process, &(struct node_event){.type = type});
}

static void on_computed(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    (void)world;
    (void)a;
    (void)b;
    (void)data;
    struct process *process = target;
    process->computing = false;
    if (!process->stopped) { thaw(process, true); }
    if (!process->signalled || process->frozen) { return; }
    process->signalled = false;
    process_signal(process, process->signal);
}

/* The process is busy with what it has computed in the last delivery. */
static void compute(struct process *process)
{
    struct world *world = process->config.world;
    if (process->computed_us == 0) { return; }
    world_after(world, process->computed_us, on_computed, process, 0, 0, NULL);
    process->computing = true;
    process->computed_us = 0;
    net_endpoint_delay(process->endpoint, 0);
    freeze(process);
}

/* ------------------------------------------------------------------- delivery */

void process_deliver(struct process *process, const struct node_event *event)
{
    if (!process->alive) {
        if (event->type == NODE_TRANSPORT) { buffer_release(event->transport->body); }
        return;
    }
    assert(!process->frozen && process->depth == 0);
    if (process->task.role == ROLE_WORKER) { net_endpoint_check_loans(process->endpoint); }
    struct node_event timed = *event;
    timed.now_ms = local_ms(process);
    timed.wall_ms = 1700000000000u + process->config.world->now_us / 1000;
    process->depth++;
    running = process;
    process->node.handle(process->node.self, &timed);
    running = NULL;
    process->depth--;
    if (process->dies) {
        process->config.died(process->config.ctx, process, 0);
        return;
    }
    int exit_code = 0;
    if (process->node.finished(process->node.self, &exit_code)) {
        end(process, exit_code);
        return;
    }
    schedule_tick(process);
    compute(process);
}

static void on_tick(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    (void)world;
    (void)b;
    (void)data;
    struct process *process = target;
    if (!process->alive || process->frozen || process->tick_at_us != a) { return; }
    process->tick_at_us = 0;
    process_deliver(process, &(struct node_event){.type = NODE_TICK});
}

static void on_wake(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    (void)a;
    (void)b;
    (void)data;
    struct process *process = target;
    if (process->frozen) {
        if (process->alive) { world_after(world, WAKE_AGAIN_US, on_wake, process, 0, 0, NULL); }
        return;
    }
    process_deliver(process, &(struct node_event){.type = NODE_ROLE});
}

void process_wake(void *ctx)
{
    struct process *process = ctx;
    world_after(process->config.world, WAKE_US, on_wake, process, 0, 0, NULL);
}

static void on_zk(void *ctx, const struct zk_event *event)
{
    process_deliver(ctx, &(struct node_event){.type = NODE_ZK, .zk = event});
}

static void on_transport(void *ctx, const struct transport_event *event)
{
    process_deliver(ctx, &(struct node_event){.type = NODE_TRANSPORT, .transport = event});
}

static void on_store(void *ctx, const struct store_event *event)
{
    process_deliver(ctx, &(struct node_event){.type = NODE_ROLE, .role = event});
}

struct process *process_create(const struct process_config *config, struct task task)
{
    struct process *process = calloc(1, sizeof *process);
    assert(process != NULL);
    process->config = *config;
    process->task = task;
    process->ports.buffers = buffer_pool_create(POOL_LIMIT_BYTES);
    assert(process->ports.buffers != NULL);
    process->zk = zk_client_open(config->zk, config->host, config->session_timeout_ms,
                                 config->session_timeout_ms, on_zk, process);
    process->endpoint =
        net_endpoint_open(config->net, config->host, config->cluster_key, config->incarnation,
                          process->ports.buffers, on_transport, process);
    process->store = disk_user_open(config->disk, on_store, process);
    process->ports.zk = zk_client_port(process->zk);
    process->ports.transport = net_endpoint_port(process->endpoint);
    process->ports.stopwatch = (struct stopwatch_port){process, read_stopwatch_ns};
    process->ports.memory = net_endpoint_memory(process->endpoint);
    return process;
}

void process_start(struct process *process)
{
    assert(!process->alive);
    assert(process->node.handle != NULL);
    process->alive = true;
    process->started_us = process->config.world->now_us;
    process_deliver(process, &(struct node_event){.type = NODE_START});
}

void process_kill(struct process *process, bool silently)
{
    if (!process->alive) { return; }
    process->alive = false;
    leave_sharing(process);
    zk_client_kill(process->zk);
    net_endpoint_kill(process->endpoint, silently);
    disk_user_kill(process->store);
}

void process_freeze(struct process *process, bool frozen)
{
    process->stopped = frozen;
    zk_client_stop(process->zk, frozen);
    net_endpoint_stop(process->endpoint, frozen);
    if (frozen) { freeze(process); }
    if (!frozen && !process->computing) { thaw(process, false); }
}

void process_free(struct process *process)
{
    if (process == NULL) { return; }
    process_kill(process, true);
    if (process->destroy != NULL) { process->destroy(process->node.self); }
    net_endpoint_end_loans(process->endpoint);
    if (process->kept != NULL) { kept_memory_close(process->kept); }
    free(process->kept);
    buffer_pool_destroy(process->ports.buffers);
    free(process);
}
