/*
 * sim: runs the cluster in the simulator, one run for each seed.
 *
 *   sim FIRST_SEED COUNT [--jobs N] [--trace] [--no-shrink] [--mask HEX] [--quiet]
 *   sim --file FILE      the seeds in FILE, one on each line: [SCENARIO] SEED [MASK]; # begins a
 *                        comment
 *   sim --scenario NAME FIRST_SEED COUNT ...     the faults of a scenario (scenarios.c), or of all
 *
 * The faults of a seed that fails are shrunk to a minimal set that still fails, and printed with
 * the command that replays it. Exit status 1 if any seed failed.
 */
#include <ctype.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "tests/sim/cluster.h"
#include "tests/sim/scenarios.h"

enum { SILENT = LOG_ERROR + 1, JOBS_MAX = 64, LARGE_BYTES = 1 << 18 };

struct options {
    uint64_t first, count, mask;
    uint32_t jobs;
    bool trace, shrink, quiet;
    const char *file, *scenario;
};

/* The scenario whose faults are injected; NULL: those of the seed. */
static const struct scenario *scenario;

static void draw(struct sim_setup *setup, uint64_t seed)
{
    if (scenario != NULL) {
        scenario_draw(scenario, setup, seed);
    } else {
        sim_setup_draw(setup, seed);
        sim_rows_draw(setup, seed);
    }
}

static bool passes(uint64_t seed, uint64_t mask, bool trace, struct coverage *coverage,
                   char failure[static 256], bool print)
{
    static struct sim_setup setup;
    static struct sim_cluster cluster;
    draw(&setup, seed);
    sim_cluster_run(&cluster, &setup, seed, mask, trace, coverage);
    const char *wrong =
        scenario != NULL && !cluster.world.failed ? scenario->judge(&cluster) : NULL;
    if (wrong != NULL) { world_fail(&cluster.world, "%s: %s", scenario->name, wrong); }
    bool passed = !cluster.world.failed;
    (void)snprintf(failure, 256, "%s", cluster.world.failure);
    if (!passed && print) { world_print_trace(&cluster.world); }
    sim_cluster_free(&cluster);
    return passed;
}

/* Whether two failures broke the same rule ("I6"): a smaller set of faults must break the same. */
static bool same_rule(const char *a, const char *b)
{
    return strncmp(a, b, 3) == 0;
}

/* Leaves out one fault after the other as long as the run still fails. Returns the mask. */
static uint64_t shrink(uint64_t seed, uint64_t mask, const char *failure)
{
    static struct sim_setup setup;
    struct coverage scrap = {0};
    char again[256];
    draw(&setup, seed);
    bool smaller = true;
    while (smaller) {
        smaller = false;
        for (uint32_t i = 0; i < setup.fault_count; i++) {
            uint64_t tried = mask & ~(1ull << i);
            if (tried == mask) { continue; }
            if (passes(seed, tried, false, &scrap, again, false)) { continue; }
            if (!same_rule(failure, again)) { continue; }
            mask = tried;
            smaller = true;
        }
    }
    return mask;
}

/* Prints the commit of the sources, if git knows it. */
static void print_commit(void)
{
    char text[80] = "";
    FILE *git = popen("git describe --always --dirty 2>/dev/null", "r");
    if (git == NULL) { return; }
    if (fgets(text, sizeof text, git) != NULL) { printf("  commit: %s", text); }
    (void)pclose(git);
}

static void report_failure(const struct options *options, uint64_t seed, char failure[static 256])
{
    struct coverage scrap = {0};
    uint64_t mask = options->mask;
    printf("seed %" PRIu64 " FAILED: %s\n", seed, failure);
    if (options->shrink) { mask = shrink(seed, mask, failure); }
    (void)passes(seed, mask, false, &scrap, failure, true);
    static struct sim_setup setup;
    draw(&setup, seed);
    for (uint32_t i = 0; i < setup.fault_count; i++) {
        if (!(mask >> i & 1)) { continue; }
        char text[160];
        fault_describe(&setup.faults[i], text, sizeof text);
        printf("  fault %u: %s\n", i, text);
    }
    print_commit();
    const char *option = scenario != NULL ? "--scenario " : "";
    const char *name = scenario != NULL ? scenario->name : "";
    printf("  replay: sim %s%s %" PRIu64 " 1 --mask %" PRIx64 " --trace\n", option, name, seed,
           mask);
}

/* The whole argument is a number. */
static bool is_number(const char *text, int base, uint64_t *out)
{
    char *end;
    *out = strtoull(text, &end, base);
    return isxdigit((unsigned char)text[0]) && *end == '\0';
}

static bool parse(int argc, char **argv, struct options *options)
{
    *options = (struct options){.mask = UINT64_MAX, .jobs = 1, .shrink = true};
    if (argc < 3) { return false; }
    if (strcmp(argv[1], "--file") == 0) {
        options->file = argv[2];
        return argc == 3;
    }
    if (strcmp(argv[1], "--scenario") == 0) {
        options->scenario = argv[2];
        argc -= 2;
        argv += 2;
        if (argc < 3) { return false; }
    }
    if (!is_number(argv[1], 10, &options->first) || !is_number(argv[2], 10, &options->count)) {
        return false;
    }
    for (int i = 3; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--trace") == 0) {
            options->trace = true;
        } else if (strcmp(argv[i], "--no-shrink") == 0) {
            options->shrink = false;
        } else if (strcmp(argv[i], "--quiet") == 0) {
            options->quiet = true;
        } else if (strcmp(argv[i], "--jobs") == 0 && has_value) {
            options->jobs = (uint32_t)strtoul(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--mask") == 0 && has_value) {
            if (!is_number(argv[++i], 16, &options->mask)) { return false; }
        } else {
            return false;
        }
    }
    return options->jobs >= 1;
}

/* Runs every `jobs`-th seed from `offset`. Returns the number of failures; stops after ten. */
static uint32_t run_seeds(const struct options *options, uint32_t offset, struct coverage *coverage)
{
    uint32_t failed = 0;
    for (uint64_t i = offset; i < options->count && failed < 10; i += options->jobs) {
        char failure[256];
        uint64_t seed = options->first + i;
        if (passes(seed, options->mask, options->trace, coverage, failure, false)) { continue; }
        failed++;
        report_failure(options, seed, failure);
        (void)fflush(stdout);
    }
    return failed;
}

/* Each job is a child process that writes its results into a pipe. */
static uint32_t run_jobs(const struct options *options, struct coverage *total)
{
    uint32_t failed = 0;
    int pipes[JOBS_MAX][2];
    uint32_t jobs = u32_min(options->jobs, JOBS_MAX);
    for (uint32_t j = 0; j < jobs; j++) {
        if (pipe(pipes[j]) != 0) { return 1; }
        (void)fflush(stdout);
        if (fork() != 0) { continue; }
        struct coverage coverage = {0};
        uint32_t bad = run_seeds(options, j, &coverage);
        bool sent = write(pipes[j][1], &bad, sizeof bad) == (ssize_t)sizeof bad &&
                    write(pipes[j][1], &coverage, sizeof coverage) == (ssize_t)sizeof coverage;
        (void)fflush(stdout);
        _exit(sent ? 0 : 1);
    }
    for (uint32_t j = 0; j < jobs; j++) {
        struct coverage coverage;
        uint32_t bad = 1;
        (void)close(pipes[j][1]);
        bool received = read(pipes[j][0], &bad, sizeof bad) == (ssize_t)sizeof bad &&
                        read(pipes[j][0], &coverage, sizeof coverage) == (ssize_t)sizeof coverage;
        if (received) { coverage_add(total, &coverage); }
        failed += received ? bad : 1;
        (void)wait(NULL);
    }
    return failed;
}

/* Choose the scenario at the start of a line, or none. The result is the rest of the line; NULL:
 * the scenario is unknown. */
static const char *choose_scenario(const char *line)
{
    const size_t length = strcspn(line, " \t\n");
    scenario = NULL;
    if (!isalpha((unsigned char)line[0])) { return line; }
    for (uint32_t i = 0; i < SCENARIOS && scenario == NULL; i++) {
        const char *name = scenarios[i].name;
        if (strlen(name) == length && strncmp(name, line, length) == 0) {
            scenario = &scenarios[i];
        }
    }
    return scenario != NULL ? line + length : NULL;
}

/* Runs the seeds of a file. Returns the number of failures. */
static uint32_t run_file(const char *path, const struct options *options, struct coverage *coverage)
{
    FILE *file = fopen(path, "r");
    char line[256];
    uint32_t failed = 0;
    if (file == NULL) {
        perror(path);
        return 1;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        struct options one = *options;
        char failure[256];
        uint64_t seed;
        const char *numbers = choose_scenario(line);
        if (numbers == NULL) {
            (void)fprintf(stderr, "unknown scenario: %s", line);
            failed++;
            continue;
        }
        if (sscanf(numbers, "%" SCNu64 " %" SCNx64, &seed, &one.mask) < 1) { continue; }
        if (passes(seed, one.mask, false, coverage, failure, false)) { continue; }
        failed++;
        report_failure(&one, seed, failure);
    }
    (void)fclose(file);
    return failed;
}

static uint32_t run(const struct options *options, struct coverage *coverage)
{
    if (options->file != NULL) { return run_file(options->file, options, coverage); }
    return options->jobs == 1 ? run_seeds(options, 0, coverage) : run_jobs(options, coverage);
}

/* Returns the number of failures; an unknown scenario is one. */
static uint32_t run_scenarios(const struct options *options, struct coverage *coverage)
{
    uint32_t failed = 0, found = 0;
    for (uint32_t i = 0; i < SCENARIOS; i++) {
        bool wanted = strcmp(options->scenario, "all") == 0 ||
                      strcmp(options->scenario, scenarios[i].name) == 0;
        if (!wanted) { continue; }
        found++;
        scenario = &scenarios[i];
        failed += run(options, coverage);
    }
    if (found == 0) { (void)fprintf(stderr, "unknown scenario \"%s\"\n", options->scenario); }
    return found == 0 ? 1 : failed;
}

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A node has megabytes for the largest job, of which a small one touches few pages. Each such block
 * has its own mapping, so that only these pages are ever cleared. */
static void keep_large_memory_lazy(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

int main(int argc, char **argv)
{
    struct options options;
    if (!parse(argc, argv, &options)) {
        (void)fprintf(stderr, "usage: sim FIRST_SEED COUNT [--jobs N] [--trace] [--no-shrink] "
                              "[--mask HEX] [--quiet]\n       sim --file FILE\n"
                              "       sim --scenario NAME FIRST_SEED COUNT ...\n");
        return 128;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    keep_large_memory_lazy();
    log_init(options.trace ? LOG_DEBUG : SILENT, LOG_TEXT, "sim");
    struct coverage coverage = {0};
    double start = seconds();
    uint32_t failed =
        options.scenario != NULL ? run_scenarios(&options, &coverage) : run(&options, &coverage);
    double took = seconds() - start;
    bool table = !options.quiet && options.file == NULL && options.scenario == NULL;
    uint32_t empty = table ? coverage_print(&coverage) : 0;
    printf("%" PRIu64 " seeds, %u failed; %.1f seeds/s; %.1f simulated hours; %" PRIu64
           " elections, %" PRIu64 " loads (%" PRIu64 " restores), %" PRIu64 " checkpoints, %" PRIu64
           " steps, %" PRIu64 " values (%" PRIu64 " lent, %" PRIu64
           " chunks sent early) and %" PRIu64 " rows checked bit for bit, %" PRIu64
           " kills; %u empty cells\n",
           coverage.seeds, failed, (double)coverage.seeds / took,
           (double)coverage.virtual_ms / 3.6e6, coverage.elections, coverage.loads,
           coverage.restores, coverage.commits, coverage.steps, coverage.values_checked,
           coverage.lent, coverage.grown, coverage.rows_checked, coverage.kills, empty);
    return failed == 0 ? 0 : 1;
}
