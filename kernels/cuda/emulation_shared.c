/* kernels/cuda/emulation_shared.c: shared memory of a block, with the phase and the thread of the
 * last accesses to each float. A phase ends at a barrier. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "kernels/cuda/emulation_private.h"

/* As much as a block of any GPU has: 48 KiB. */
enum { FLOATS_MAX = 48 * 1024 / 4, ARRAYS_MAX = 16, SEVERAL = UINT16_MAX };

struct cell {
    float x;
    bool is_written;
    uint16_t writer, reader; /* In the phases below. */
    uint32_t written, read;
};

struct emulation_shared {
    const char *name;
    struct cell *cells;
    size_t count;
};

static struct {
    struct cell cells[FLOATS_MAX];
    struct emulation_shared arrays[ARRAYS_MAX];
    size_t array_count, used;
    uint32_t phase;
} memory;

void emulation_clear_shared(void)
{
    memset(memory.cells, 0, memory.used * sizeof memory.cells[0]);
    memory.array_count = 0;
    memory.used = 0;
    memory.phase = 1; /* No cell has been accessed in it. */
}

void emulation_next_phase(void)
{
    memory.phase++;
}

/* The array of this declaration, which the first thread of a block creates. */
struct emulation_shared *emulation_shared(const char *name, size_t count)
{
    for (size_t i = 0; i < memory.array_count; i++) {
        if (memory.arrays[i].name == name) { return &memory.arrays[i]; }
    }
    assert(memory.array_count < ARRAYS_MAX);
    assert(count <= FLOATS_MAX - memory.used);
    struct emulation_shared *shared = &memory.arrays[memory.array_count++];
    *shared = (struct emulation_shared){name, memory.cells + memory.used, count};
    memory.used += count;
    return shared;
}

static struct cell *cell_at(struct emulation_shared *shared, size_t at, int line)
{
    if (at >= shared->count) {
        emulation_fault(FAULT_OUT_OF_RANGE, line, "%s[%zu] is out of range: it has %zu floats",
                        shared->name, at, shared->count);
    }
    return &shared->cells[at];
}

static void check_race(const struct emulation_shared *shared, size_t at, bool is_race,
                       uint16_t other, int line)
{
    if (!is_race) { return; }
    if (other == SEVERAL) {
        emulation_fault(FAULT_RACE, line, "a race on %s[%zu] with several threads", shared->name,
                        at);
    }
    emulation_fault(FAULT_RACE, line, "a race on %s[%zu] with thread %u: no barrier in between",
                    shared->name, at, other);
}

float emulation_load(struct emulation_shared *shared, size_t at, int line)
{
    struct cell *cell = cell_at(shared, at, line);
    const uint16_t self = (uint16_t)emulation_place.thread;
    check_race(shared, at, cell->written == memory.phase && cell->writer != self, cell->writer,
               line);
    if (!cell->is_written) {
        emulation_fault(FAULT_UNINITIALIZED, line, "%s[%zu] is read before it is written",
                        shared->name, at);
    }
    cell->reader = cell->read == memory.phase && cell->reader != self ? SEVERAL : self;
    cell->read = memory.phase;
    return cell->x;
}

void emulation_store(struct emulation_shared *shared, size_t at, float x, int line)
{
    struct cell *cell = cell_at(shared, at, line);
    const uint16_t self = (uint16_t)emulation_place.thread;
    check_race(shared, at, cell->written == memory.phase && cell->writer != self, cell->writer,
               line);
    check_race(shared, at, cell->read == memory.phase && cell->reader != self, cell->reader, line);
    cell->x = x;
    cell->is_written = true;
    cell->writer = self;
    cell->written = memory.phase;
}
