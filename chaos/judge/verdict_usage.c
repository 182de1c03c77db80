/* The resources of each task's last process compared with those of its first that trained, and with
 * the most that its role used in the baseline run: an evaluation, for example, may fall into the
 * last process only, and the first one may be killed before it has started all its threads. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/judge/verdict_checks.h"

enum {
    COMPONENTS_LIMIT = 512,
    NAME_MAX_BYTES = 24,
    FIRST_SAMPLES = 5,
    LAST_SAMPLES = 3,
    MEMORY = 0, /* Its index in usages[]. */
    USAGES = 3,
    LONG_MS = 3000, /* A process that was up for that long must have been sampled. */
};

/* `times` and `more` bound the growth: a chief, for example, has more peers than a candidate. */
static const struct usage {
    const char *check, *field, *unit;
    double divide, times, more;
} usages[USAGES] = {
    [MEMORY] = {"memory", "rss_kib", " MiB", 1024, 1.5, 64},
    {"descriptors", "descriptors", "", 1, 1, 16},
    {"threads", "threads", "", 1, 1, 8},
};

struct component_use {
    char name[NAME_MAX_BYTES];
    json_int_t pid;       /* The current process, */
    uint32_t samples;     /* and the number of its samples. */
    json_int_t first_pid; /* The first process that was sampled during training. */
    uint32_t first_count, last_count;
    double first[USAGES][FIRST_SAMPLES], last[USAGES][LAST_SAMPLES];
    double up_since_ms, longest_up_ms;
    bool up, expected;
};

struct uses {
    uint32_t count;
    struct component_use components[COMPONENTS_LIMIT];
    bool training, over;
    double now_ms;
    const json_t *baseline; /* From verdict_most_used(); NULL: not known. */
};

/* The component's entry, which is added if it is new; NULL: no name, or too many components. */
static struct component_use *use_of(struct uses *uses, const char *name)
{
    assert(uses->count <= COMPONENTS_LIMIT);
    for (uint32_t i = 0; i < uses->count && name != NULL; i++) {
        if (strcmp(uses->components[i].name, name) == 0) { return &uses->components[i]; }
    }
    if (uses->count == COMPONENTS_LIMIT || name == NULL || name[0] == '\0') { return NULL; }
    struct component_use *use = &uses->components[uses->count++];
    (void)snprintf(use->name, sizeof use->name, "%s", name);
    return use;
}

/* Every component is expected until its process is up. */
static void on_begin(struct uses *uses, const json_t *line)
{
    size_t i;
    const json_t *name;
    uses->baseline = json_object_get(json_object_get(line, "baseline"), "used");
    json_array_foreach(json_object_get(line, "components"), i, name)
    {
        struct component_use *use = use_of(uses, json_string_value(name));
        if (use != NULL) { use->expected = true; }
    }
}

static void on_component(struct uses *uses, const json_t *line)
{
    struct component_use *use = use_of(uses, json_member_text(line, "component", ""));
    const char *state = json_member_text(line, "state", "");
    if (use == NULL) { return; }
    if (use->up && uses->now_ms - use->up_since_ms > use->longest_up_ms) {
        use->longest_up_ms = uses->now_ms - use->up_since_ms;
    }
    if (strcmp(state, "up") == 0) {
        use->up_since_ms = uses->now_ms;
        use->up = true;
        use->expected = false;
    }
    if (strcmp(state, "down") == 0) { use->up = false; }
}

/* A process that has just started, and every process before training, uses less than later. */
static void add_first(struct component_use *use, const struct uses *uses, const double *values)
{
    assert(use->first_count <= FIRST_SAMPLES);
    bool settled = uses->training && use->samples > 1;
    if (!settled || use->first_count == FIRST_SAMPLES) { return; }
    if (use->first_count > 0 && use->first_pid != use->pid) { return; }
    use->first_pid = use->pid;
    for (uint32_t u = 0; u < USAGES; u++) { use->first[u][use->first_count] = values[u]; }
    use->first_count++;
}

static void add_last(struct component_use *use, const double *values)
{
    assert(use->last_count <= LAST_SAMPLES);
    bool full = use->last_count == LAST_SAMPLES;
    for (uint32_t u = 0; u < USAGES; u++) {
        double *last = use->last[u];
        if (full) { memmove(last, last + 1, (LAST_SAMPLES - 1) * sizeof *last); }
        last[full ? LAST_SAMPLES - 1 : use->last_count] = values[u];
    }
    use->last_count += !full;
}

static void on_sample(struct uses *uses, const json_t *line)
{
    struct component_use *use = use_of(uses, json_member_text(line, "component", ""));
    json_int_t pid = json_member_integer(line, "pid", 0);
    double values[USAGES];
    if (use == NULL) { return; }
    for (uint32_t u = 0; u < USAGES; u++) {
        const json_t *value = json_object_get(line, usages[u].field);
        if (!json_is_number(value)) { return; }
        values[u] = json_number_value(value) / usages[u].divide;
    }
    if (use->samples == 0 || pid != use->pid) {
        use->pid = pid;
        use->samples = use->last_count = 0;
    }
    use->samples++;
    add_first(use, uses, values);
    if (!uses->over || use->last_count == 0) { add_last(use, values); }
}

/* Once the run is done, the agent reads its last checkpoint for the result. */
static bool is_over(const json_t *line)
{
    const json_t *event = json_object_get(line, "event");
    const bool by_step =
        line_is(line, "step") && strcmp(json_member_text(line, "phase", ""), "done") == 0;
    return by_step ||
           (line_is(line, "event") && strcmp(json_member_text(event, "event", ""), "done") == 0);
}

static void on_line(struct uses *uses, const json_t *line)
{
    uses->now_ms = json_member_number(line, "t_ms", 0);
    if (line_is(line, "begin")) { on_begin(uses, line); }
    if (line_is(line, "component")) { on_component(uses, line); }
    if (line_is(line, "resources")) { on_sample(uses, line); }
    if (line_is(line, "step") && strcmp(json_member_text(line, "phase", ""), "running") == 0) {
        uses->training = true;
    }
    if (is_over(line)) { uses->over = true; }
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static double median(const double *values, uint32_t count)
{
    double sorted[FIRST_SAMPLES];
    assert(count > 0);
    assert(count <= FIRST_SAMPLES);
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, by_value);
    return sorted[count / 2];
}

/* "worker" of "worker:3". */
static void role_of(const char *component, char out[NAME_MAX_BYTES])
{
    (void)snprintf(out, NAME_MAX_BYTES, "%.*s", (int)strcspn(component, ":"), component);
}

/* The larger one of `first`, the use by the first process of the task, and the most that its role
 * used in the baseline run. */
static double usual_use(const struct uses *uses, const struct component_use *use, uint32_t u,
                        double first)
{
    char role[NAME_MAX_BYTES];
    role_of(use->name, role);
    const json_t *most = json_object_get(uses->baseline, usages[u].check);
    return fmax(first, json_member_number(most, role, 0));
}

/* A JVM fills its heap before it collects; a ZooKeeper leader has threads for each follower. */
static double most_allowed(const struct component_use *use, uint32_t u, double usual)
{
    double most = usual * usages[u].times + usages[u].more;
    bool is_server = strncmp(use->name, "zookeeper:", 10) == 0;
    if (!is_server) { return most; }
    return u == MEMORY ? most + 192 : most + 24;
}

static void check_usage(json_t *checks, const struct uses *uses, uint32_t u)
{
    assert(u < USAGES);
    const struct usage *usage = &usages[u];
    const struct component_use *worst = NULL;
    double worst_first = 0, worst_last = 0;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < uses->count; i++) {
        const struct component_use *use = &uses->components[i];
        if (use->first_count == 0) { continue; /* It was never sampled twice. */ }
        double first = median(use->first[u], use->first_count);
        double last = median(use->last[u], use->last_count);
        double most = most_allowed(use, u, usual_use(uses, use, u, first));
        seen++;
        if (last > most) {
            verdict_add(checks, usage->check, false,
                        "%s used %.0f%s in its first process and %.0f%s in its last; at most "
                        "%.0f%s are allowed",
                        use->name, first, usage->unit, last, usage->unit, most, usage->unit);
            return;
        }
        if (worst != NULL && last - first <= worst_last - worst_first) { continue; }
        worst = use;
        worst_first = first;
        worst_last = last;
    }
    if (worst == NULL) {
        verdict_add(checks, usage->check, false, "no process was sampled during training");
        return;
    }
    verdict_add(checks, usage->check, true,
                "%u tasks and servers; %s grew most, from %.0f to %.0f%s", seen, worst->name,
                worst_first, worst_last, usage->unit);
}

/* A component that was never up, or that was up for long and never sampled; NULL: none. */
static const struct component_use *find_unseen(struct uses *uses)
{
    for (uint32_t i = 0; i < uses->count; i++) {
        struct component_use *use = &uses->components[i];
        bool now = use->up && uses->now_ms - use->up_since_ms > LONG_MS;
        if (use->last_count > 0) { continue; }
        if (use->expected || now || use->longest_up_ms > LONG_MS) { return use; }
    }
    return NULL;
}

/* The largest samples of one kind. */
static json_t *most_of_roles(const json_t *history, const struct usage *usage)
{
    json_t *most = json_object();
    size_t i;
    const json_t *line;
    json_array_foreach(history, i, line)
    {
        char role[NAME_MAX_BYTES];
        if (!line_is(line, "resources")) { continue; }
        const double used = json_member_number(line, usage->field, 0) / usage->divide;
        role_of(json_member_text(line, "component", ""), role);
        json_object_set_new(most, role, json_real(fmax(used, json_member_number(most, role, 0))));
    }
    return most;
}

json_t *verdict_most_used(const json_t *history)
{
    json_t *most = json_object();
    assert(history != NULL);
    for (uint32_t u = 0; u < USAGES; u++) {
        json_object_set_new(most, usages[u].check, most_of_roles(history, &usages[u]));
    }
    return most;
}

void verdict_check_resources(json_t *checks, const json_t *history)
{
    struct uses *uses = calloc(1, sizeof *uses);
    size_t i;
    const json_t *line;
    assert(history != NULL);
    if (uses != NULL) { json_array_foreach(history, i, line) on_line(uses, line); }
    const struct component_use *unseen = uses != NULL ? find_unseen(uses) : NULL;
    for (uint32_t u = 0; u < USAGES; u++) {
        if (uses == NULL) {
            verdict_add(checks, usages[u].check, false, "out of memory");
        } else if (unseen != NULL) {
            verdict_add(checks, usages[u].check, false, "%s was %s", unseen->name,
                        unseen->expected ? "never up" : "up for long and never sampled");
        } else {
            check_usage(checks, uses, u);
        }
    }
    free(uses);
}
