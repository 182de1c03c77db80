/*
 * check_run: judges a real run with the checker of the simulated ones (checker/judge.h).
 *
 *   check_run DIR [--trace] [--former FOLDER]...
 *
 * Reads the transactions from the logs of the servers in DIR/zookeeper. Each FOLDER, oldest first,
 * has the data of servers that were wiped: FOLDER/N/data/version-2. Exit status 1: a rule is
 * broken.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checker/judge.h"

enum { PATH_BYTES = 1024, ENSEMBLES_MAX = 64 };

static int usage(void)
{
    (void)fprintf(stderr, "usage: check_run DIR [--trace] [--former FOLDER]...\n");
    return TN_EXIT_ARGUMENTS;
}

static void print_event(void *ctx, uint64_t wall_ms, const char *text)
{
    (void)ctx;
    printf("[%.3f] %s\n", (double)wall_ms / 1e3, text);
}

static int judge(const struct judge_input *input)
{
    static struct judgement judgement;
    struct error error;
    if (judge_run(input, &judgement, &error) != TN_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        return TN_EXIT_IO;
    }
    printf("%" PRIu64 " transactions of %u servers: %" PRIu64 " elections, %" PRIu64
           " loads (%" PRIu64 " restores), %" PRIu64 " checkpoints, run %s: %s\n",
           judgement.transactions, judgement.servers, judgement.elections, judgement.loads,
           judgement.restores, judgement.commits,
           judgement.has_run ? run_phase_name(judgement.run.phase) : "absent", judgement.text);
    return judgement.passed ? 0 : 1;
}

int main(int argc, char **argv)
{
    static struct job job;
    struct error error;
    char path[PATH_BYTES];
    const char *ensembles[ENSEMBLES_MAX];
    struct judge_input input = {.job = &job, .ensembles = ensembles};
    if (argc < 2 || argv[1][0] == '-') { return usage(); }
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0) {
            input.on_event = print_event;
        } else if (strcmp(argv[i], "--former") == 0 && i + 1 < argc &&
                   input.ensemble_count < ENSEMBLES_MAX - 1) {
            ensembles[input.ensemble_count++] = argv[++i];
        } else {
            return usage();
        }
    }
    job_init(&job);
    (void)snprintf(path, sizeof path, "%s/job.json", argv[1]);
    if (job_read_file(&job, path, &error) != TN_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        return TN_EXIT_INVALID_INPUT;
    }
    (void)snprintf(path, sizeof path, "%s/zookeeper", argv[1]);
    ensembles[input.ensemble_count++] = path;
    return judge(&input);
}
