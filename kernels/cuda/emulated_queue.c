#include "kernels/cuda/emulated_queue.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "kernels/cuda/emulated_driver.h"
#include "kernels/cuda/emulated_private.h"
#include "kernels/cuda/emulation.h"

enum { DESTROYED = 0xff /* A NaN, as new memory has. */, SETTINGS_BYTES = 256 };

struct operation {
    struct operation *next;
    uint64_t number;
    struct gpu_stream *stream;
    struct emulated_work work;
    const struct operation *record; /* A wait: it is not done. */
    bool has_begun, is_needed;
    uint8_t *staged; /* Owned. */
};

/* ORDER_LATE: no kernel or copy before a call waits for it. ORDER_COPIES: copies as early as
 * possible. ORDER_KERNELS: kernels. */
enum order { ORDER_LATE, ORDER_COPIES, ORDER_KERNELS, ORDER_RANDOM };

static struct {
    struct operation *first, **last; /* In the order of the calls. */
    uint64_t number, scan;
    enum order order;
    uint64_t seed, draws;      /* ORDER_RANDOM. */
    uint64_t done, operations; /* Operations done; those that succeed, 0: all. */
    int error;
    char settings[SETTINGS_BYTES];
} queue = {.last = &queue.first};

/* ------------------------------------------------------ settings */

void emulated_queue_configure(const char *settings)
{
    static const struct {
        const char *text;
        enum order order;
    } orders[] = {
        {"order=late", ORDER_LATE},
        {"order=copies", ORDER_COPIES},
        {"order=kernels", ORDER_KERNELS},
        {"order=random", ORDER_RANDOM},
    };
    if (settings == NULL) { settings = ""; }
    if (strncmp(settings, queue.settings, SETTINGS_BYTES - 1) == 0) { return; }
    (void)snprintf(queue.settings, SETTINGS_BYTES, "%s", settings);
    queue.order = ORDER_LATE;
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        if (strstr(settings, orders[i].text) != NULL) { queue.order = orders[i].order; }
    }
    queue.seed = emulated_setting(settings, "seed=", 0);
    queue.draws = 0;
    queue.operations = emulated_setting(settings, "operations=", 0);
    queue.error = (int)emulated_setting(settings, "error=", 0);
    queue.done = 0;
}

static uint32_t draw(uint32_t below)
{
    return (uint32_t)(random_at(queue.seed, 0, queue.draws++) % below);
}

/* ------------------------------------------------------ one operation */

static bool is_copy(const struct operation *operation)
{
    return operation->work.kind == WORK_COPY || operation->work.kind == WORK_FILL;
}

static void carry_out(const struct operation *operation)
{
    const struct emulated_work *work = &operation->work;
    const void *from = operation->staged != NULL ? operation->staged : work->from;
    switch (work->kind) {
    case WORK_COPY: memmove(work->to, from, work->bytes); break;
    case WORK_FILL: memset(work->to, work->value, work->bytes); break;
    case WORK_LAUNCH:
        emulation_launch(work->kernel->name, work->kernel->thread, work->blocks, work->threads,
                         from);
        break;
    case WORK_CALL: work->call(from); break;
    case WORK_RECORD:
        if (work->event != NULL) { work->event->launches = emulation_launches(); }
        break;
    case WORK_WAIT: break;
    }
}

/* Removes it, and lets the operations that wait for it run. */
static void drop(struct operation *operation)
{
    struct operation **link = &queue.first;
    while (*link != operation) { link = &(*link)->next; }
    *link = operation->next;
    if (*link == NULL) { queue.last = link; }
    for (struct operation *at = queue.first; at != NULL; at = at->next) {
        if (at->record == operation) { at->record = NULL; }
    }
    free(operation->staged);
    free(operation);
}

void emulated_queue_drop(const struct gpu_stream *home)
{
    struct operation *at = queue.first;
    while (at != NULL) {
        struct operation *next = at->next;
        if (home == NULL || at->stream->home == home) { drop(at); }
        at = next;
    }
    queue.done = 0;
}

/* Work behind a failure is never done. */
static void execute(struct operation *operation)
{
    const struct gpu_stream *home = operation->stream->home;
    const bool counts = queue.operations != 0 && emulated_may_break(home);
    if (counts && queue.done++ >= queue.operations) {
        emulated_break_device(home, queue.error);
        return;
    }
    carry_out(operation);
    drop(operation);
}

/* ------------------------------------------------------ orders */

/* Whether nothing before it is left; of all operations in the order of the calls. */
static bool may_run(const struct operation *operation, uint64_t scan)
{
    struct gpu_stream *stream = operation->stream, *home = stream->home;
    bool may = stream->seen != scan && operation->record == NULL;
    if (stream == home) { may = may && home->blocking_seen != scan; }
    if (stream != home && stream->is_blocking) {
        may = may && home->seen != scan;
        home->blocking_seen = scan;
    }
    stream->seen = scan;
    return may;
}

/* Events are always: then copies begin as early as possible. */
static bool is_eager(const struct operation *operation)
{
    if (is_copy(operation)) { return queue.order == ORDER_COPIES; }
    const bool computes = operation->work.kind == WORK_LAUNCH || operation->work.kind == WORK_CALL;
    return !computes || queue.order == ORDER_KERNELS;
}

/* Begins the copies that may run. Returns an operation that may run and, with `eager`, is eager:
 * the one behind `skip` others; NULL: there is none. `*count`: how many there are. */
static struct operation *scan(bool eager, uint32_t skip, uint32_t *count)
{
    struct operation *found = NULL;
    *count = 0;
    queue.scan++;
    for (struct operation *at = queue.first; at != NULL; at = at->next) {
        if (!may_run(at, queue.scan)) { continue; }
        if (is_copy(at) && !at->has_begun) { memset(at->work.to, DESTROYED, at->work.bytes); }
        at->has_begun = true;
        if (eager && !is_eager(at)) { continue; }
        if (*count == skip) { found = at; }
        *count += 1;
    }
    return found;
}

static void run_random(void)
{
    uint32_t count = 0;
    (void)scan(false, 0, &count);
    if (count > 0) { execute(scan(false, draw(count), &count)); }
}

/* Do the work that the order does before a call waits for it. */
static void run_ahead(void)
{
    uint32_t count = 0;
    struct operation *next = scan(true, 0, &count);
    while (next != NULL) {
        execute(next);
        next = scan(true, 0, &count);
    }
    if (queue.order != ORDER_RANDOM) { return; }
    for (uint32_t i = draw(3); i > 0; i--) { run_random(); }
}

/* ------------------------------------------------------ calls */

static struct operation *find(uint64_t number)
{
    struct operation *at = queue.first;
    while (at != NULL && at->number != number) { at = at->next; }
    return at;
}

bool emulated_queue_is_pending(uint64_t number)
{
    return number != 0 && find(number) != NULL;
}

uint64_t emulated_queue_add(struct gpu_stream *stream, const struct emulated_work *work)
{
    assert(stream != NULL && stream->home != NULL);
    struct operation *operation = calloc(1, sizeof *operation);
    uint8_t *staged = work->is_staged ? malloc(work->bytes + 1) : NULL;
    if (operation == NULL || (work->is_staged && staged == NULL)) {
        free(operation);
        free(staged);
        return 0;
    }
    *operation = (struct operation){
        .number = ++queue.number, .stream = stream, .work = *work, .staged = staged};
    if (staged != NULL) { memcpy(staged, work->from, work->bytes); }
    if (work->kind == WORK_WAIT) { operation->record = find(work->event->recorded); }
    if (work->kind == WORK_RECORD) { work->event->recorded = operation->number; }
    *queue.last = operation;
    queue.last = &operation->next;
    const uint64_t number = operation->number;
    run_ahead(); /* This may do and free the operation. */
    return number;
}

/* Whether `later` is done behind `earlier`, which was called before it. */
static bool follows(const struct operation *later, const struct operation *earlier)
{
    const struct gpu_stream *a = earlier->stream, *b = later->stream;
    if (a == b || later->record == earlier) { return true; }
    return a->home == b->home &&
           ((a == a->home && b->is_blocking) || (b == b->home && a->is_blocking));
}

static bool is_needed(const struct operation *operation, uint64_t number)
{
    if (operation->number == number) { return true; }
    for (const struct operation *at = operation->next; at != NULL; at = at->next) {
        if (at->is_needed && follows(at, operation)) { return true; }
    }
    return false;
}

/* From the last to the first: what is needed was called before it. */
static void mark_needed(uint64_t number)
{
    size_t count = 0;
    for (const struct operation *at = queue.first; at != NULL; at = at->next) { count++; }
    struct operation **all = calloc(count + 1, sizeof(*all));
    if (all == NULL) { abort(); }
    count = 0;
    for (struct operation *at = queue.first; at != NULL; at = at->next) { all[count++] = at; }
    while (count > 0) {
        struct operation *at = all[--count];
        at->is_needed = at->number <= number && is_needed(at, number);
    }
    free(all);
}

int emulated_queue_finish(uint64_t number)
{
    if (emulated_queue_is_pending(number)) { mark_needed(number); }
    while (emulated_queue_is_pending(number)) {
        struct operation *next = queue.first;
        while (!next->is_needed) { next = next->next; }
        if (queue.order == ORDER_RANDOM) {
            run_random();
        } else {
            execute(next);
            run_ahead();
        }
    }
    return emulated_broken();
}

int emulated_queue_finish_stream(const struct gpu_stream *stream)
{
    uint64_t number = 0;
    for (const struct operation *at = queue.first; at != NULL; at = at->next) {
        if (at->stream == stream) { number = at->number; }
    }
    return emulated_queue_finish(number);
}

int emulated_queue_finish_context(const struct gpu_stream *home)
{
    const struct operation *at = queue.first;
    while (at != NULL) {
        if (at->stream->home == home) {
            (void)emulated_queue_finish(at->number);
            at = queue.first;
        } else {
            at = at->next;
        }
    }
    return emulated_broken();
}

void emulated_queue_forget_event(const struct gpu_event *event)
{
    for (struct operation *at = queue.first; at != NULL; at = at->next) {
        if (at->work.event == event) { at->work.event = NULL; }
    }
}
