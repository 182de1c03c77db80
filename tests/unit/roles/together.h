/*
 * tests/unit/roles/together.h: a test as the chief of the world's two ps and two workers: its
 * orders, and the states it waits for.
 */
#ifndef TESTS_UNIT_ROLES_TOGETHER_H
#define TESTS_UNIT_ROLES_TOGETHER_H

#include "tests/unit/roles/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/cluster/manifest.h"
#include "common/cluster/placement.h"
#include "kernels/optimizer.h"

enum { STEPS = 12, STEPS_OF_WORLD_MAX = 200000, SEEDS = 20 };

static struct world w;
static struct run run;
static int exit_codes[NODES];

static inline void order(void)
{
    char text[ZNODE_JSON_MAX];
    run.epoch = 1;
    world_set(&w, "/tanist/test/run", text, run_encode(&run, text), 0);
}

/* Slice v belongs to worker owners[v]. */
static inline void assign(const char *owners)
{
    char text[ZNODE_JSON_MAX];
    struct assignment assignment = {.generation = run.generation, .slice_count = 5};
    for (uint32_t v = 0; v < 5; v++) { assignment.worker[v] = (uint16_t)(owners[v] - '0'); }
    world_set(&w, "/tanist/test/assignment", text, assignment_encode(&assignment, text), 0);
}

static inline bool all_ps_loaded(void)
{
    return w.nodes[0].report.generation == run.generation &&
           w.nodes[1].report.generation == run.generation;
}

static inline bool ps_reached(uint64_t step)
{
    for (uint32_t p = 0; p < PS; p++) {
        uint64_t generation, at;
        if (w.nodes[p].ps == NULL) { return false; }
        if (ps_values(w.nodes[p].ps, &generation, &at) == NULL || at < step) { return false; }
    }
    return true;
}

static inline bool all_saved(void)
{
    return w.nodes[0].report.saved_checkpoint == run.save_checkpoint &&
           w.nodes[1].report.saved_checkpoint == run.save_checkpoint;
}

static inline bool all_left(void)
{
    world_reap(&w, exit_codes);
    for (uint32_t i = 0; i < NODES; i++) {
        if (w.nodes[i].session != 0) { return false; }
    }
    return true;
}

static inline bool half_way(void)
{
    return ps_reached(STEPS / 2);
}

static inline bool at_the_end(void)
{
    return ps_reached(STEPS);
}

static inline bool evaluated(void)
{
    return w.nodes[PS].report.evaluation.step == STEPS ||
           w.nodes[PS + 1].report.evaluation.step == STEPS;
}

static inline void until(bool (*happened)(void))
{
    for (uint64_t i = 0; !happened(); i++) {
        if (i == STEPS_OF_WORLD_MAX) { fail_msg("the condition does not become true"); }
        world_step(&w);
    }
}

static inline void pass(uint64_t steps)
{
    for (uint64_t i = 0; i < steps; i++) { world_step(&w); }
}

static inline void load(uint64_t generation, uint64_t checkpoint, uint64_t step)
{
    run.phase = RUN_LOADING;
    run.generation = generation;
    run.load_checkpoint = checkpoint;
    run.load_step = step;
    run.save_checkpoint = 0;
    order();
    until(all_ps_loaded);
    run.phase = RUN_RUNNING;
    run.until = STEPS;
    order();
}

static inline void begin(uint64_t seed, const char *const *settings, const char *owners)
{
    world_open(&w, seed, settings);
    run = (struct run){.evaluate_step = STEP_NONE};
    assign(owners);
    load(1, 0, 0);
}

/* Commit checkpoint `id`, which all ps have written. */
static inline void commit(uint64_t id, uint64_t step)
{
    struct manifest manifest = {.id = id,
                                .generation = run.generation,
                                .step = step,
                                .epoch = 1,
                                .variables_hash = variable_table_hash(&w.variables),
                                .parameter_count = w.variables.parameter_count,
                                .seed = w.job.seed,
                                .slices = 5,
                                .state_arrays = 3,
                                .shard_count = PS,
                                .optimizer = "adam",
                                .mode = "sync",
                                .kernels = "reference"};
    for (uint32_t p = 0; p < PS; p++) {
        struct placement place = placement_range(manifest.parameter_count, PS, p);
        manifest.shards[p] = (struct manifest_shard){.first = place.first,
                                                     .count = place.count,
                                                     .bytes = w.nodes[p].report.saved_bytes,
                                                     .place = "here:dir"};
    }
    char *text;
    size_t size;
    char path[ZK_PATH_MAX];
    assert_int_equal(manifest_encode(&manifest, &text, &size, NULL), TN_OK);
    znode_checkpoint_path(path, "test", id);
    world_set(&w, path, text, size, 0);
    free(text);
    run.committed_checkpoint = id;
    run.committed_step = step;
}

enum { CHECKPOINT_STEP = 4 };

static inline void order_checkpoint(void)
{
    run.save_checkpoint = 1;
    run.save_step = CHECKPOINT_STEP;
    order();
}

/* After some steps of the world a ps dies; the run pauses, the ps starts again, and all ps load the
 * checkpoint as generation 2. */
static inline void lose_ps_and_load(uint64_t seed)
{
    pass(seed * 5);
    world_kill(&w, seed % PS);
    run.phase = RUN_PAUSED;
    order();
    pass(seed * 3 % 30);
    world_begin(&w, seed % PS);
    load(2, 1, CHECKPOINT_STEP);
}

/* Every ps is at the last step, and holds its range of the values that `reference` computes. */
static inline void expect_reference_bits(void (*reference)(float *values))
{
    float expected[ROLES_FLOATS_MAX];
    assert_in_range(w.variables.parameter_count, 1, ROLES_FLOATS_MAX);
    reference(expected);
    for (uint32_t p = 0; p < PS; p++) {
        uint64_t generation, step;
        struct placement place = placement_range(w.variables.parameter_count, PS, p);
        const float *values = ps_values(w.nodes[p].ps, &generation, &step);
        assert_int_equal(step, STEPS);
        assert_memory_equal(values, expected + place.first, place.count * sizeof(float));
    }
}

static inline void free_world(void)
{
    world_free(&w);
}

#endif
