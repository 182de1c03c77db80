/* What a history tells of a cluster whose logs and disks are out of reach. */
#include <inttypes.h>
#include <string.h>

#include "chaos/attack.h"
#include "chaos/history/json_member.h"
#include "chaos/judge/verdict_checks.h"

/* How a number went that must not go back. */
struct course {
    json_int_t highest, fell; /* -1: none, and it never did. */
    unsigned count;
};

/* Of member `name` in the lines of a kind; `strictly`: it must not stay either. */
static struct course follow(const json_t *history, const char *kind, const char *name,
                            bool strictly)
{
    struct course course = {.highest = -1, .fell = -1};
    size_t i;
    const json_t *line;
    json_array_foreach(history, i, line)
    {
        if (!line_is(line, kind)) { continue; }
        json_int_t now = json_integer_value(json_object_get(line, name));
        if (now < course.highest || (strictly && now == course.highest)) { course.fell = now; }
        if (now > course.highest) { course.highest = now; }
        course.count++;
    }
    return course;
}

static void check_epochs(json_t *checks, const json_t *history)
{
    const struct course course = follow(history, "chief", "epoch", true);
    if (course.fell >= 0) {
        verdict_add(checks, "epochs", false,
                    "a chief of epoch %" JSON_INTEGER_FORMAT " after one of %" JSON_INTEGER_FORMAT,
                    course.fell, course.highest);
    } else {
        verdict_add(
            checks, "epochs", course.count > 0,
            "%u chiefs, each of a higher epoch than all before; the last is %" JSON_INTEGER_FORMAT,
            course.count, course.highest);
    }
}

static void check_generations(json_t *checks, const json_t *history)
{
    const struct course course = follow(history, "step", "generation", false);
    if (course.fell >= 0) {
        verdict_add(checks, "generations", false,
                    "generation %" JSON_INTEGER_FORMAT " after %" JSON_INTEGER_FORMAT, course.fell,
                    course.highest);
    } else {
        verdict_add(
            checks, "generations", course.count > 0,
            "%u looks, none at a generation that had gone; the last is %" JSON_INTEGER_FORMAT,
            course.count, course.highest);
    }
}

static void check_alive(json_t *checks, const json_t *history)
{
    const char *phase = "not seen";
    size_t i;
    const json_t *line;
    json_array_foreach(history, i, line)
    {
        if (line_is(line, "step")) { phase = json_string_value(json_object_get(line, "phase")); }
        if (phase == NULL) { phase = "not told"; }
    }
    bool alive = strcmp(phase, "running") == 0 || strcmp(phase, "stopping") == 0 ||
                 strcmp(phase, "done") == 0;
    verdict_add(checks, "alive", alive, "at the end the cluster is %s", phase);
}

/* Who attacked nobody has shown nothing. */
static void check_faults(json_t *checks, const json_t *history)
{
    unsigned done = 0;
    const char *why = "none was drawn";
    size_t i;
    const json_t *line;
    json_array_foreach(history, i, line)
    {
        done += line_is(line, "fault");
        if (line_is(line, "skipped")) { why = json_string_value(json_object_get(line, "text")); }
    }
    if (done > 0) {
        verdict_add(checks, "faults", true, "%u were done", done);
    } else {
        verdict_add(checks, "faults", false, "none was done: %s",
                    why != NULL ? why : "not told why");
    }
}

json_t *attack_judge(const json_t *history, uint64_t within_ms)
{
    json_t *checks = json_array();
    bool ok = checks != NULL;
    size_t i;
    const json_t *check;
    check_faults(checks, history);
    verdict_check_recovery(checks, history, within_ms);
    check_epochs(checks, history);
    check_generations(checks, history);
    check_alive(checks, history);
    json_array_foreach(checks, i, check)
    {
        ok = ok && json_is_true(json_object_get(check, "ok"));
    }
    return json_pack("{s:b, s:o}", "ok", (int)ok, "checks", checks);
}
