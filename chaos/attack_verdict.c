/* Checks of a cluster whose logs and disks cannot be read: the history is the only evidence. */
#include <assert.h>
#include <string.h>

#include "chaos/attack.h"
#include "chaos/history/json_member.h"
#include "chaos/judge/verdict_checks.h"

/* The values of a number that must not decrease. */
struct course {
    json_int_t highest;   /* -1: no value. */
    json_int_t decreased; /* The last value that was too small; -1: none. */
    unsigned count;
};

/* Of member `name` in the lines of a kind; `strictly`: an equal value counts as a decrease too. */
static struct course follow(const json_t *history, const char *kind, const char *name,
                            bool strictly)
{
    struct course course = {.highest = -1, .decreased = -1};
    size_t i;
    const json_t *line;
    assert(kind != NULL);
    assert(name != NULL);
    json_array_foreach(history, i, line)
    {
        if (!line_is(line, kind)) { continue; }
        json_int_t now = json_member_integer(line, name, 0);
        if (now < course.highest || (strictly && now == course.highest)) { course.decreased = now; }
        if (now > course.highest) { course.highest = now; }
        course.count++;
    }
    return course;
}

static void check_epochs(json_t *checks, const json_t *history)
{
    const struct course course = follow(history, "chief", "epoch", true);
    if (course.decreased >= 0) {
        verdict_add(checks, "epochs", false,
                    "a chief of epoch %" JSON_INTEGER_FORMAT
                    " after one of epoch %" JSON_INTEGER_FORMAT,
                    course.decreased, course.highest);
    } else {
        verdict_add(checks, "epochs", course.count > 0,
                    "%u chiefs, each with a higher epoch than the one before; the last is "
                    "%" JSON_INTEGER_FORMAT,
                    course.count, course.highest);
    }
}

static void check_generations(json_t *checks, const json_t *history)
{
    const struct course course = follow(history, "step", "generation", false);
    if (course.decreased >= 0) {
        verdict_add(checks, "generations", false,
                    "generation %" JSON_INTEGER_FORMAT " after %" JSON_INTEGER_FORMAT,
                    course.decreased, course.highest);
    } else {
        verdict_add(checks, "generations", course.count > 0,
                    "%u samples, in which the generation never decreases; the last is "
                    "%" JSON_INTEGER_FORMAT,
                    course.count, course.highest);
    }
}

static void check_alive(json_t *checks, const json_t *history)
{
    const char *phase = "not observed";
    size_t i;
    const json_t *line;
    json_array_foreach(history, i, line)
    {
        if (line_is(line, "step")) { phase = json_member_text(line, "phase", "unknown"); }
    }
    bool alive = strcmp(phase, "running") == 0 || strcmp(phase, "stopping") == 0 ||
                 strcmp(phase, "done") == 0;
    verdict_add(checks, "alive", alive, "the last phase of the cluster is %s", phase);
}

/* Without a fault nothing was tested. */
static void check_faults(json_t *checks, const json_t *history)
{
    unsigned injected = 0;
    const char *reason = "the plan has none";
    size_t i;
    const json_t *line;
    json_array_foreach(history, i, line)
    {
        injected += line_is(line, "fault");
        if (line_is(line, "skipped")) { reason = json_member_text(line, "text", "unknown"); }
    }
    if (injected > 0) {
        verdict_add(checks, "faults", true, "%u faults were injected", injected);
    } else {
        verdict_add(checks, "faults", false, "no fault was injected: %s", reason);
    }
}

json_t *attack_judge(const json_t *history, uint64_t within_ms)
{
    json_t *checks = json_array();
    assert(history != NULL);
    if (checks == NULL) { return NULL; }
    check_faults(checks, history);
    verdict_check_recovery(checks, history, within_ms);
    check_epochs(checks, history);
    check_generations(checks, history);
    check_alive(checks, history);
    return verdict_of_checks(checks);
}
