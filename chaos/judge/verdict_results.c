/* What a round ended with, compared with the calm run. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/judge/verdict_checks.h"

enum { TEXT_MAX = 640 };

/* An async run's accuracy depends on who was faster. */
static const double ACCURACY_APART = 0.01;

void verdict_add(json_t *checks, const char *name, bool ok, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /* A text that is cut in the middle of a character is no UTF-8: say so instead of nothing. */
    json_t *check = json_pack("{s:s, s:b, s:s}", "name", name, "ok", (int)ok, "text", text);
    if (check == NULL) {
        check = json_pack("{s:s, s:b, s:s}", "name", name, "ok", (int)ok, "text", "not UTF-8");
    }
    (void)json_array_append_new(checks, check);
}

void verdict_add_error(json_t *checks, const char *name, const struct error *error)
{
    verdict_add(checks, name, false, "%.600s", error->text);
}

/* -------------------------------------------------------------------- end */

void verdict_check_ended(json_t *checks, int exit_code, const json_t *result)
{
    const char *status = json_string_value(json_object_get(result, "status"));
    double steps = json_number_value(json_object_get(result, "steps"));
    if (result == NULL || json_is_null(result)) {
        verdict_add(checks, "ended", false, "exit code %d, and no result was printed", exit_code);
        return;
    }
    verdict_add(checks, "ended", exit_code == 0 && status != NULL && strcmp(status, "done") == 0,
                "exit code %d, status %s at step %.0f", exit_code,
                status != NULL ? status : "missing", steps);
}

static const char *digest_of_result(const json_t *result)
{
    const char *digest = json_string_value(json_object_get(result, "parameters_digest"));
    return digest != NULL ? digest : json_string_value(json_object_get(result, "digest"));
}

static void check_digest(json_t *checks, const json_t *calm, const json_t *result)
{
    const char *want = digest_of_result(calm), *have = digest_of_result(result);
    if (want == NULL || have == NULL) {
        verdict_add(checks, "digest", false, "the %s run told no digest",
                    want == NULL ? "calm" : "attacked");
    } else if (strcmp(want, have) == 0) {
        verdict_add(checks, "digest", true, "%s: the same as the calm run", have);
    } else {
        verdict_add(checks, "digest", false, "%s, the calm run's is %s", have, want);
    }
}

void verdict_check_result(json_t *checks, enum train_mode mode, const json_t *calm,
                          const json_t *result)
{
    if (mode == TRAIN_SYNC) {
        check_digest(checks, calm, result);
        return;
    }
    const json_t *want = json_object_get(calm, "accuracy");
    const json_t *have = json_object_get(result, "accuracy");
    if (!json_is_number(want) || !json_is_number(have)) {
        verdict_add(checks, "accuracy", false, "the %s run told no accuracy",
                    json_is_number(want) ? "attacked" : "calm");
        return;
    }
    double apart = fabs(json_number_value(have) - json_number_value(want));
    verdict_add(checks, "accuracy", apart <= ACCURACY_APART,
                "%.4f, the calm run's is %.4f: %.4f apart, %.2f allowed", json_number_value(have),
                json_number_value(want), apart, ACCURACY_APART);
}

/* ----------------------------------------------------------------- orders */

void verdict_check_orders(json_t *checks, const struct judgement *judgement, uint32_t lives)
{
    char wiped[48] = "";
    if (lives > 1) { (void)snprintf(wiped, sizeof wiped, " over %u lives of the ensemble", lives); }
    verdict_add(checks, "orders", judgement->kept,
                "%" PRIu64 " transactions of %u servers%s: %" PRIu64 " elections, %" PRIu64
                " loads (%" PRIu64 " restores), %" PRIu64 " checkpoints committed: %s",
                judgement->transactions, judgement->servers, wiped, judgement->elections,
                judgement->loads, judgement->restores, judgement->commits, judgement->words);
}

/* ------------------------------------------------------------ checkpoints */

static bool is_damaging(const char *fault)
{
    static const char *const names[] = {"flip-bits", "truncate", "swap-shards", "stale-shard"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (fault != NULL && strcmp(fault, names[i]) == 0) { return true; }
    }
    return false;
}

/* How many faults of this round changed bytes of a checkpoint. */
static uint64_t count_damage(const json_t *history)
{
    uint64_t count = 0;
    size_t i;
    const json_t *line;
    json_array_foreach(history, i, line)
    {
        if (!line_is(line, "fault")) { continue; }
        count += is_damaging(json_string_value(json_object_get(line, "fault")));
    }
    return count;
}

void verdict_check_checkpoints(json_t *checks, const json_t *verified, const json_t *history)
{
    const json_t *list = json_object_get(verified, "checkpoints");
    uint64_t count = 0, intact = 0, may = count_damage(history);
    const char *wrong = NULL;
    size_t i;
    const json_t *checkpoint;
    json_array_foreach(list, i, checkpoint)
    {
        const char *error = json_string_value(json_object_get(checkpoint, "error"));
        count++;
        intact += json_is_true(json_object_get(checkpoint, "intact"));
        if (wrong == NULL) { wrong = error; }
    }
    if (!json_is_array(list) || count == 0) {
        verdict_add(checks, "checkpoints", false, "no checkpoint is left to verify");
    } else if (intact == count) {
        verdict_add(checks, "checkpoints", true, "all %" PRIu64 " kept ones verified: intact",
                    count);
    } else {
        verdict_add(checks, "checkpoints", intact > 0 && count - intact <= may,
                    "%" PRIu64 " of %" PRIu64 " kept ones are intact, %" PRIu64
                    " faults damaged one: %.400s",
                    intact, count, may, wrong != NULL ? wrong : "no reason was given");
    }
}

/* ----------------------------------------------------------------- znodes */

struct bound {
    const char *what;
    uint64_t have, most;
};

void verdict_check_znodes(json_t *checks, const struct judgement *judgement, const struct job *job,
                          const json_t *calm)
{
    const struct judge_census *census = &judgement->census;
    uint64_t tasks = job->cluster.coordinators + job->cluster.ps + job->cluster.workers;
    uint64_t before = (uint64_t)json_integer_value(json_object_get(calm, "znodes"));
    if (before == 0) {
        verdict_add(checks, "znodes", false, "those of the calm run were not counted");
        return;
    }
    /* The chief trims the history now and then, and deletes manifests after a commit.
     * Sessions that were not closed leave their last members and candidates. */
    const struct bound bounds[] = {
        {"members", census->members, tasks},
        {"candidates", census->candidates, 4 * (uint64_t)job->cluster.coordinators + 8},
        {"exits", census->exits, tasks},
        {"checkpoints", census->checkpoints, job->checkpoint.keep + 2},
        {"history entries", census->history, HISTORY_MAX + 200},
        {"requests", census->requests, 8},
        {"others", census->others, before},
    };
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        if (bounds[i].have <= bounds[i].most) { continue; }
        verdict_add(checks, "znodes", false, "%" PRIu64 " %s, at most %" PRIu64 " are right",
                    bounds[i].have, bounds[i].what, bounds[i].most);
        return;
    }
    verdict_add(checks, "znodes", true,
                "%" PRIu64 " at the end, %" PRIu64 " after the calm run: %" PRIu64
                " history entries of %d, %" PRIu64 " checkpoints, %" PRIu64 " exits of %" PRIu64
                " tasks, %" PRIu64 " others",
                judgement->znodes, before, census->history, HISTORY_MAX, census->checkpoints,
                census->exits, tasks, census->others);
}

void verdict_list_broken(const json_t *verdict, char *text, size_t size)
{
    size_t i, used = 0;
    const json_t *check;
    text[0] = '\0';
    json_array_foreach(json_object_get(verdict, "checks"), i, check)
    {
        if (json_is_true(json_object_get(check, "ok")) || used >= size) { continue; }
        int wrote = snprintf(text + used, size - used, "%s%s: %s", used ? "; " : "",
                             json_string_value(json_object_get(check, "name")),
                             json_string_value(json_object_get(check, "text")));
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}
