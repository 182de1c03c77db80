/* The end of a round compared with the baseline run. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/judge/verdict_checks.h"
#include "chaos/plan/fault.h"

/* The accuracy of an async run depends on the order in which workers finish. */
static const double ACCURACY_TOLERANCE = 0.01;

/* -------------------------------------------------------------------- end */

void verdict_check_ended(json_t *checks, int exit_code, const json_t *result)
{
    if (result == NULL || json_is_null(result)) {
        verdict_add(checks, "ended", false, "exit code %d, and the run wrote no result", exit_code);
        return;
    }
    const char *status = json_member_text(result, "status", "missing");
    verdict_add(checks, "ended", exit_code == 0 && strcmp(status, "done") == 0,
                "exit code %d, status %s at step %.0f", exit_code, status,
                json_member_number(result, "steps", 0));
}

static const char *digest_of_result(const json_t *result)
{
    return json_member_text(result, "parameters_digest", json_member_text(result, "digest", NULL));
}

static void check_digest(json_t *checks, const json_t *baseline, const json_t *result)
{
    const char *want = digest_of_result(baseline), *have = digest_of_result(result);
    if (want == NULL || have == NULL) {
        verdict_add(checks, "digest", false, "the %s run reported no digest",
                    want == NULL ? "baseline" : "attacked");
    } else if (strcmp(want, have) == 0) {
        verdict_add(checks, "digest", true, "%s, as in the baseline run", have);
    } else {
        verdict_add(checks, "digest", false, "%s, but %s in the baseline run", have, want);
    }
}

static void check_accuracy(json_t *checks, const json_t *baseline, const json_t *result)
{
    const json_t *want = json_object_get(baseline, "accuracy");
    const json_t *have = json_object_get(result, "accuracy");
    if (!json_is_number(want) || !json_is_number(have)) {
        verdict_add(checks, "accuracy", false, "the %s run reported no accuracy",
                    json_is_number(want) ? "attacked" : "baseline");
        return;
    }
    double difference = fabs(json_number_value(have) - json_number_value(want));
    verdict_add(checks, "accuracy", difference <= ACCURACY_TOLERANCE,
                "%.4f, and %.4f in the baseline run: the difference is %.4f, %.2f is allowed",
                json_number_value(have), json_number_value(want), difference, ACCURACY_TOLERANCE);
}

void verdict_check_result(json_t *checks, enum train_mode mode, const json_t *baseline,
                          const json_t *result)
{
    assert(mode == TRAIN_SYNC || mode == TRAIN_ASYNC);
    (mode == TRAIN_SYNC ? check_digest : check_accuracy)(checks, baseline, result);
}

/* ------------------------------------------------------------------- pace */

void verdict_check_pace(json_t *checks, const struct job *job, const json_t *result, bool wiped)
{
    const json_t *evaluations = json_object_get(result, "evaluations");
    double every = (double)job_evaluate_every(job), last = 0;
    uint64_t missing = 0, found = json_array_size(evaluations);
    assert(job != NULL);
    if (!json_is_array(evaluations)) {
        verdict_add(checks, "pace", false, "the result lists no evaluations");
        return;
    }
    for (size_t i = 0; i < json_array_size(evaluations); i++) {
        double step = json_member_number(json_array_get(evaluations, i), "step", 0);
        if (step <= last) {
            verdict_add(checks, "pace", false, "evaluation of step %.0f after that of %.0f", step,
                        last);
            return;
        }
        if (every > 0) { missing += (uint64_t)(ceil(step / every) - floor(last / every) - 1); }
        last = step;
    }
    double skipped = json_member_number(result, "skipped_checkpoints", 0);
    verdict_add(checks, "pace", missing == 0 || wiped,
                "%" PRIu64 " evaluations up to step %.0f, %" PRIu64
                " missing; %.0f checkpoints skipped",
                found, last, missing, skipped);
}

/* ----------------------------------------------------------------- orders */

void verdict_check_orders(json_t *checks, const struct judgement *judgement, uint32_t ensembles)
{
    char wiped[48] = "";
    assert(judgement != NULL);
    assert(ensembles > 0);
    if (ensembles > 1) {
        (void)snprintf(wiped, sizeof wiped, " in %" PRIu32 " successive ensembles", ensembles);
    }
    verdict_add(checks, "orders", judgement->passed,
                "%" PRIu64 " transactions of %" PRIu32 " servers%s: %" PRIu64 " elections, %" PRIu64
                " loads (%" PRIu64 " restores), %" PRIu64 " checkpoints committed: %s",
                judgement->transactions, judgement->servers, wiped, judgement->elections,
                judgement->loads, judgement->restores, judgement->commits, judgement->text);
}

/* ------------------------------------------------------------ checkpoints */

static bool is_damaging(const char *name)
{
    const struct fault_descriptor *fault = fault_find(name);
    return fault != NULL && (fault->effects & EFFECT_DAMAGES_CHECKPOINT) != 0;
}

/* How many faults of this round changed bytes of a checkpoint. */
static uint64_t count_damage(const json_t *history)
{
    uint64_t count = 0;
    size_t i;
    const json_t *line;
    assert(history != NULL);
    json_array_foreach(history, i, line)
    {
        count += line_is(line, "fault") && is_damaging(json_member_text(line, "fault", ""));
    }
    return count;
}

/* A checkpoint that could not be loaded is never deleted (C4), so it is kept besides the others. */
uint64_t verdict_count_unloadable(const json_t *history)
{
    uint64_t count = count_damage(history);
    size_t i;
    const json_t *line;
    assert(history != NULL);
    json_array_foreach(history, i, line)
    {
        const char *event = json_member_text(line, "event", "");
        count += strcmp(event, "fallback") == 0 || strcmp(event, "held") == 0;
    }
    return count;
}

void verdict_check_checkpoints(json_t *checks, const json_t *verified, const json_t *history)
{
    const json_t *list = json_object_get(verified, "checkpoints");
    uint64_t count = 0, intact = 0, damaging = count_damage(history);
    const char *reason = NULL;
    size_t i;
    const json_t *checkpoint;
    assert(history != NULL);
    json_array_foreach(list, i, checkpoint)
    {
        count++;
        intact += json_is_true(json_object_get(checkpoint, "intact"));
        if (reason == NULL) { reason = json_member_text(checkpoint, "error", NULL); }
    }
    if (count == 0) {
        verdict_add(checks, "checkpoints", false, "no checkpoint is left to verify");
    } else if (intact == count) {
        verdict_add(checks, "checkpoints", true, "all %" PRIu64 " kept checkpoints are intact",
                    count);
    } else {
        verdict_add(checks, "checkpoints", intact > 0 && count - intact <= damaging,
                    "%" PRIu64 " of %" PRIu64 " kept checkpoints are intact, %" PRIu64
                    " faults damaged one: %.400s",
                    intact, count, damaging, reason != NULL ? reason : "no reason was given");
    }
}

/* ----------------------------------------------------------------- znodes */

struct bound {
    const char *what;
    uint64_t have, most;
};

void verdict_check_znodes(json_t *checks, const struct judgement *judgement, const struct job *job,
                          const json_t *baseline, uint64_t unloadable)
{
    assert(judgement != NULL);
    assert(job != NULL);
    const struct judge_census *census = &judgement->census;
    const struct task_counts counts = job_tasks(job);
    const uint64_t tasks = task_counts_sum(&counts);
    uint64_t before = (uint64_t)json_integer_value(json_object_get(baseline, "znodes"));
    if (before == 0) {
        verdict_add(checks, "znodes", false, "the znodes of the baseline run were not counted");
        return;
    }
    /* The chief trims the history from time to time, and deletes manifests after a commit.
     * Sessions that were not closed leave their last members and candidates. */
    const struct bound bounds[] = {
        {"members", census->members, tasks},
        {"candidates", census->candidates, 4 * (uint64_t)job->cluster.coordinators + 8},
        {"exits", census->exits, tasks},
        {"checkpoints", census->checkpoints, job->checkpoint.keep + 2 + unloadable},
        {"history entries", census->history, HISTORY_MAX + 200},
        {"requests", census->requests, 8},
        {"others", census->others, before},
    };
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        if (bounds[i].have <= bounds[i].most) { continue; }
        verdict_add(checks, "znodes", false, "%" PRIu64 " %s, at most %" PRIu64 " are allowed",
                    bounds[i].have, bounds[i].what, bounds[i].most);
        return;
    }
    verdict_add(checks, "znodes", true,
                "%" PRIu64 " at the end, %" PRIu64 " after the baseline run: %" PRIu64
                " history entries of %d, %" PRIu64 " checkpoints, %" PRIu64 " exits of %" PRIu64
                " tasks, %" PRIu64 " others",
                judgement->znodes, before, census->history, HISTORY_MAX, census->checkpoints,
                census->exits, tasks, census->others);
}
