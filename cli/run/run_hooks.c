#include "cli/run/run_hooks.h"

#include <assert.h>
#include <math.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/cluster/requests.h"
#include "model/user_model.h"

enum { CONNECT_MS = 3000 };

void run_hooks_open(struct run_hooks *hooks, const struct job *job)
{
    const struct tn_model *model = NULL;
    *hooks = (struct run_hooks){
        .progress = {.struct_size = sizeof hooks->progress,
                     .train_loss = NAN,
                     .loss = NAN,
                     .accuracy = NAN},
        .since_wall_ms = clock_wall_ms(),
    };
    if (!job_has_code(job) || user_model_find(job, &model, NULL) != TN_OK) { return; }
    hooks->hooks = model->hooks;
    hooks->user = model->user;
}

void run_hooks_close(struct run_hooks *hooks, enum tn_status status)
{
    zk_sync_close(hooks->session);
    hooks->session = NULL;
    if (!hooks->started) { return; }
    hooks->started = false;
    if (hooks->hooks->ended != NULL) { hooks->hooks->ended(&hooks->progress, status, hooks->user); }
}

static void see_run(struct run_hooks *hooks, const struct run *run)
{
    hooks->progress.generation = run->generation;
    hooks->progress.checkpoint = run->committed_checkpoint;
}

void run_hooks_start(struct run_hooks *hooks, const struct run *run)
{
    if (hooks->hooks == NULL || hooks->started) { return; }
    hooks->started = true;
    hooks->progress.step = run->load_step;
    see_run(hooks, run);
    if (hooks->hooks->started != NULL) { hooks->hooks->started(&hooks->progress, hooks->user); }
}

void run_hooks_step(struct run_hooks *hooks, const struct run *run, uint64_t step)
{
    if (!hooks->started || step == hooks->progress.step) { return; }
    see_run(hooks, run);
    hooks->progress.step = step;
    if (hooks->hooks->stepped != NULL) { hooks->hooks->stepped(&hooks->progress, hooks->user); }
}

static void note_evaluation(struct run_hooks *hooks, const struct run *run,
                            const struct history_entry *entry)
{
    struct tn_progress progress = hooks->progress;
    progress.step = entry->step;
    progress.loss = entry->loss;
    progress.accuracy = entry->accuracy;
    if (run->evaluation.step == entry->step) { progress.train_loss = run->evaluation.train_loss; }
    if (hooks->hooks->evaluated != NULL) { hooks->hooks->evaluated(&progress, hooks->user); }
    progress.step = hooks->progress.step;
    hooks->progress = progress;
}

static void note_checkpoint(struct run_hooks *hooks, const struct history_entry *entry)
{
    struct tn_progress progress = hooks->progress;
    hooks->progress.checkpoint = progress.checkpoint = entry->checkpoint;
    progress.step = entry->step;
    if (hooks->hooks->saved != NULL) {
        hooks->hooks->saved(&progress, entry->checkpoint, hooks->user);
    }
}

void run_hooks_note(struct run_hooks *hooks, const struct run *run,
                    const struct history_entry *entry)
{
    assert(entry != NULL);
    if (hooks->hooks == NULL || entry->wall_ms < hooks->since_wall_ms) { return; }
    if (entry->kind != HISTORY_EVALUATED && entry->kind != HISTORY_CHECKPOINT) { return; }
    run_hooks_start(hooks, run);
    see_run(hooks, run);
    if (entry->kind == HISTORY_EVALUATED) {
        note_evaluation(hooks, run, entry);
    } else {
        note_checkpoint(hooks, entry);
    }
}

bool run_hooks_want_stop(struct run_hooks *hooks)
{
    if (!hooks->started || hooks->hooks->should_stop == NULL) { return false; }
    if (!hooks->stopping) {
        hooks->stopping = hooks->hooks->should_stop(&hooks->progress, hooks->user);
    }
    return hooks->stopping;
}

void run_hooks_stop_cluster(struct run_hooks *hooks, const char *connect, const char *credentials,
                            const char *cluster)
{
    struct error error = {0};
    struct sent_request sent;
    const struct request request = {.kind = REQUEST_STOP};
    if (hooks->session != NULL || !run_hooks_want_stop(hooks)) { return; }
    enum tn_status status = zk_sync_open(connect, credentials, CONNECT_MS, &hooks->session, &error);
    if (status == TN_OK) {
        status = request_send(hooks->session, cluster, &request, &sent, &error);
    }
    if (status == TN_OK) { return; }
    log_warn("the request to stop is sent again later: %s", error.text);
    zk_sync_close(hooks->session);
    hooks->session = NULL;
}
