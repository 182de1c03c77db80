/*
 * The simulator of replicas: one seed decides everything.
 *
 *   sim_replicas FIRST COUNT [--verbose] [--stop]
 *
 * Exit status: 0, or 1 if a seed fails (--stop: after the first one), or 2 for a wrong command
 * line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "tests/sim/replicas/scene.h"

static struct scene scene;
static struct counts counts;

static void set_up(struct scene *s, struct world *world)
{
    memset(s, 0, offsetof(struct scene, processes));
    memset(s->conns, 0, sizeof *s - offsetof(struct scene, conns));
    s->world = world;
    s->counts = &counts;
    s->conn_count = 1;
    s->workers = 2 + (uint32_t)world_below(world, SCENE_WORKERS - 1);
    s->ranges =
        world_chance(world, 500) ? s->workers : 1 + (uint32_t)world_below(world, SCENE_RANGES);
    s->slices = s->workers + (uint32_t)world_below(world, SCENE_SLICES - s->workers + 1);
    s->hosts = 1 + (uint32_t)world_below(world, SCENE_HOSTS);
    s->keep_sums =
        world_chance(world, 600) ? 1 : (uint32_t)world_below(world, REPLICA_KEEP_MAX + 1);
    s->steps = 20 + world_below(world, SCENE_STEPS - 20 + 1);
    s->checkpoint_every = world_chance(world, 400) ? 4 + world_below(world, 20) : 0;
    s->evaluate_every = world_chance(world, 500) ? 3 + world_below(world, 20) : 0;
    s->job = random_next(&world->random);
    scene_make_reference(s);
}

static void fail_stuck(const struct scene *s)
{
    char text[160];
    int used = snprintf(text, sizeof text, "%s, until %" PRIu64 ":", run_phase_name(s->run.phase),
                        s->run.until);
    for (uint32_t w = 0; w < s->workers && used > 0 && used < (int)sizeof text; w++) {
        const struct process *p = s->member[w] != 0 ? &s->processes[s->member[w] - 1] : NULL;
        const char *what = p == NULL ? "absent" : p->core.whole ? "at" : "empty";
        used += snprintf(text + used, sizeof text - (size_t)used, " worker:%u %s %" PRIu64, w, what,
                         p == NULL ? 0 : p->core.step);
    }
    world_fail(s->world, "I10: not done: %s", text);
}

/* False: an invariant is broken. */
static bool run_seed(uint64_t seed, bool verbose)
{
    static struct world world;
    world_init(&world, seed, verbose);
    set_up(&scene, &world);
    scene.has_groups = seed % 4 == 0;
    for (uint32_t w = 0; w < scene.workers; w++) { scene_spawn(&scene, w); }
    scene_chief_start(&scene);
    scene_plan_faults(&scene);
    const uint64_t end_us = world.now_us + SCENE_FAULTS_US + SCENE_BOUND_US;
    while (!scene.finished && !world.failed && world_step(&world, end_us)) {}
    if (!scene.finished && !world.failed) { fail_stuck(&scene); }
    counts.seeds++;
    counts.steps += scene.run.until;
    const bool failed = world.failed;
    if (failed) {
        printf("seed %" PRIu64 ": %s\n", seed, world.failure);
        if (!verbose && counts.failed == 0) { world_print_trace(&world); }
        counts.failed++;
    }
    world_free(&world);
    return !failed;
}

static void print_counts(void)
{
    const struct counts *c = &counts;
    printf("%" PRIu64 " seeds, %" PRIu64 " failed; %" PRIu64 " steps, %" PRIu64 " pushes, %" PRIu64
           " pulls, %" PRIu64 " pushes of relays, %" PRIu64 " transfers of values\n",
           c->seeds, c->failed, c->steps, c->pushes, c->pulls, c->forwards, c->values_sent);
    printf("faults: %" PRIu64 " kills, %" PRIu64 " freezes, %" PRIu64 " breaks, %" PRIu64
           " partitions, %" PRIu64 " chiefs, %" PRIu64 " requests to stop, %" PRIu64
           " to go back, %" PRIu64 " groups incomplete\n",
           c->kills, c->freezes, c->breaks, c->cuts, c->chiefs, c->stops, c->restores,
           c->incomplete);
    printf("chief: %" PRIu64 " moves, %" PRIu64 " loads, %" PRIu64 " counts, %" PRIu64
           " commits, %" PRIu64 " skipped, %" PRIu64 " evaluations\n",
           c->moves, c->loads, c->pauses, c->commits, c->skips, c->evaluations);
    printf("kills with a replica left: the furthest step was lost by 0: %" PRIu64 ", 1: %" PRIu64
           ", 2: %" PRIu64 ", more: %" PRIu64 "\n",
           c->lost[0], c->lost[1], c->lost[2], c->lost[3]);
}

int main(int argc, char **argv)
{
    bool verbose = false, stop = false;
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0) { verbose = true; }
        if (strcmp(argv[i], "--stop") == 0) { stop = true; }
    }
    if (argc < 3) {
        (void)fprintf(stderr, "usage: sim_replicas FIRST COUNT [--verbose] [--stop]\n");
        return 2;
    }
    const uint64_t first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
    for (uint64_t seed = first; seed < first + count; seed++) {
        if (!run_seed(seed, verbose) && stop) { break; }
    }
    print_counts();
    return counts.failed > 0;
}
