/* What a history tells of a cluster whose logs and disks are out of reach. */
#include <inttypes.h>
#include <string.h>

#include "chaos/attack.h"
#include "chaos/member.h"
#include "chaos/verdict_checks.h"

static json_int_t number(const json_t *line, const char *name)
{
    return json_integer_value(json_object_get(line, name));
}

static void check_epochs(json_t *checks, const json_t *history)
{
    json_int_t last = -1, again = -1;
    unsigned chiefs = 0;
    size_t i;
    const json_t *line;
    json_array_foreach(history, i, line)
    {
        if (!line_is(line, "chief")) continue;
        json_int_t epoch = number(line, "epoch");
        if (epoch <= last) again = epoch;
        if (epoch > last) last = epoch;
        chiefs++;
    }
    if (again >= 0)
        verdict_add(checks, "epochs", false,
                    "a chief of epoch %" JSON_INTEGER_FORMAT " after one of %" JSON_INTEGER_FORMAT,
                    again, last);
    else
        verdict_add(
            checks, "epochs", chiefs > 0,
            "%u chiefs, each of a higher epoch than all before; the last is %" JSON_INTEGER_FORMAT,
            chiefs, last);
}

static void check_generations(json_t *checks, const json_t *history)
{
    json_int_t highest = -1, fell = -1;
    unsigned samples = 0;
    size_t i;
    const json_t *line;
    json_array_foreach(history, i, line)
    {
        if (!line_is(line, "step")) continue;
        json_int_t generation = number(line, "generation");
        if (generation < highest) fell = generation;
        if (generation > highest) highest = generation;
        samples++;
    }
    if (fell >= 0)
        verdict_add(checks, "generations", false,
                    "generation %" JSON_INTEGER_FORMAT " after %" JSON_INTEGER_FORMAT, fell,
                    highest);
    else
        verdict_add(
            checks, "generations", samples > 0,
            "%u looks, none at a generation that had gone; the last is %" JSON_INTEGER_FORMAT,
            samples, highest);
}

static void check_alive(json_t *checks, const json_t *history)
{
    const char *phase = "not seen";
    size_t i;
    const json_t *line;
    json_array_foreach(history, i, line)
    {
        if (line_is(line, "step")) phase = json_string_value(json_object_get(line, "phase"));
        if (!phase) phase = "not told";
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
        if (line_is(line, "skipped")) why = json_string_value(json_object_get(line, "text"));
    }
    if (done > 0)
        verdict_add(checks, "faults", true, "%u were done", done);
    else
        verdict_add(checks, "faults", false, "none was done: %s", why ? why : "not told why");
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
