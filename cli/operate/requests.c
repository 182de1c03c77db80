/* cli/operate/requests.c: `tanist stop`, `resign`, `pause` and `resume`: an operator's wish to the
 * chief, and the wait for its effect. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/target.h"
#include "common/base/clock.h"
#include "common/cluster/requests.h"

enum { EFFECT_S = 60, LOOK_MS = 20, SAY_MS = 3000 };

/* What a wish looks at. */
struct state {
    struct run run;
    uint64_t epoch; /* Of /chief. */
};

struct wish {
    const char *name, *about;
    enum request_kind kind;
    bool (*granted)(const struct state *before, const struct state *now);
    const char *done; /* What to say then. */
};

static bool run_over(const struct state *now)
{
    return now->run.phase == RUN_DONE || now->run.phase == RUN_FAILED;
}

static bool stopped(const struct state *before, const struct state *now)
{
    (void)before;
    return run_over(now);
}

static bool resigned(const struct state *before, const struct state *now)
{
    return now->epoch > before->epoch;
}

static bool paused(const struct state *before, const struct state *now)
{
    (void)before;
    return now->run.held && now->run.phase != RUN_RUNNING;
}

static bool resumed(const struct state *before, const struct state *now)
{
    (void)before;
    return !now->run.held;
}

static enum tn_status look(struct zk_sync *sync, const char *cluster, struct state *out,
                           struct error *error)
{
    char path[256];
    struct zk_sync_data data;
    struct chief_record record = {0};
    znode_path(path, cluster, "run");
    enum tn_status status = zk_sync_read(sync, path, &data, error);
    if (status != TN_OK) { return status; }
    status = run_decode(data.data, data.size, &out->run, error);
    free(data.data);
    znode_path(path, cluster, "chief");
    if (status == TN_OK) { status = zk_sync_read(sync, path, &data, error); }
    if (status != TN_OK) { return status; }
    if (data.size > 0) { status = chief_record_decode(data.data, data.size, &record, error); }
    free(data.data);
    out->epoch = record.epoch;
    return status;
}

static enum tn_status wait_effect(const struct wish *wish, struct zk_sync *sync,
                                  const char *cluster, uint64_t patience_ms,
                                  const struct state *before, struct error *error)
{
    uint64_t start_ms = clock_monotonic_ms(), said_ms = start_ms, now_ms = start_ms;
    struct state now = *before;
    while (now_ms < start_ms + patience_ms) {
        enum tn_status status = look(sync, cluster, &now, error);
        if (status != TN_OK) { return status; }
        if (wish->granted(before, &now)) { return TN_OK; }
        if (run_over(&now)) {
            return error_set(error, TN_EUNHEALTHY, "the run is %s: there is nothing to %s",
                             run_phase_name(now.run.phase), wish->name);
        }
        (void)poll(NULL, 0, LOOK_MS);
        now_ms = clock_monotonic_ms();
        if (now_ms < said_ms + SAY_MS) { continue; }
        said_ms = now_ms;
        fprintf(stderr,
                "waiting for the chief of %s to %s since %llu s (phase %s, epoch %" PRIu64 ")\n",
                cluster, wish->name, (unsigned long long)(now_ms - start_ms) / 1000,
                run_phase_name(now.run.phase), now.epoch);
    }
    return error_set(
        error, TN_EUNHEALTHY,
        "asked %s to %s, but nothing came of it within %llu s (phase %s): does a chief "
        "live? `tanist status` shows it",
        cluster, wish->name, (unsigned long long)patience_ms / 1000, run_phase_name(now.run.phase));
}

static enum tn_status grant(const struct wish *wish, struct target *target, uint64_t patience_ms,
                            struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec = {0};
    struct state before = {0};
    enum tn_status status = target_open(target, &sync, &spec, NULL, error);
    if (status != TN_OK) { return status; }
    free(spec.job_json);
    status = look(sync, target->cluster, &before, error);
    bool already = status == TN_OK && wish->granted(&before, &before);
    if (status == TN_OK && !already && run_over(&before)) {
        status = error_set(error, TN_EUNHEALTHY, "the run is %s: there is nothing to %s",
                           run_phase_name(before.run.phase), wish->name);
    }
    if (status == TN_OK && !already) {
        status = request_send(sync, target->cluster, wish->kind, error);
    }
    if (status == TN_OK && !already) {
        status = wait_effect(wish, sync, target->cluster, patience_ms, &before, error);
    }
    zk_sync_close(sync);
    return status;
}

static int command_wish(const struct wish *wish, int argc, char **argv)
{
    struct target_options given = {0};
    struct option_number patience = {.value = EFFECT_S};
    struct option rows[TARGET_OPTIONS + 1];
    char examples[256];
    int exit_code = 0;
    target_options(&given, rows);
    rows[TARGET_OPTIONS] = (struct option){"timeout",
                                           0,
                                           OPTION_COUNT,
                                           &patience,
                                           "SECONDS",
                                           NULL,
                                           "How long to wait for the effect; default 60."};
    snprintf(
        examples, sizeof examples,
        "  tanist %s --dir runs/fashion-mnist\n  tanist %s --zk h1:2181,h2:2181 --cluster NAME\n",
        wish->name, wish->name);
    struct options options = {.command = wish->name,
                              .synopsis = "--dir DIR | --zk CONNECT [--cluster NAME] [OPTION]...",
                              .about = wish->about,
                              .examples = examples,
                              .list = rows,
                              .count = TARGET_OPTIONS + 1};
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct target *target = calloc(1, sizeof *target);
    struct error error = {0};
    if (target == NULL) { return TN_EXIT_ERROR; }
    enum tn_status status = target_find(&given, target, &error);
    if (status == TN_OK) { status = grant(wish, target, patience.value * 1000, &error); }
    if (status == TN_OK) { fprintf(stderr, "%s: %s\n", target->cluster, wish->done); }
    free(target);
    return status == TN_OK ? TN_EXIT_OK : command_failed(&error);
}

int command_stop(int argc, char **argv)
{
    static const struct wish wish = {
        "stop", "End the job early: a last checkpoint and evaluation, then all nodes leave.",
        REQUEST_STOP, stopped, "stopped"};
    return command_wish(&wish, argc, argv);
}

int command_resign(int argc, char **argv)
{
    static const struct wish wish = {
        "resign", "Ask the chief to step down: the next candidate takes office, training goes on.",
        REQUEST_RESIGN, resigned, "another chief is in office"};
    return command_wish(&wish, argc, argv);
}

int command_pause(int argc, char **argv)
{
    static const struct wish wish = {"pause", "Hold the workers until `tanist resume`.",
                                     REQUEST_PAUSE, paused, "paused"};
    return command_wish(&wish, argc, argv);
}

int command_resume(int argc, char **argv)
{
    static const struct wish wish = {"resume", "Let held workers go on.", REQUEST_RESUME, resumed,
                                     "goes on"};
    return command_wish(&wish, argc, argv);
}
