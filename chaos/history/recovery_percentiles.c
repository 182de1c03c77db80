/* chaos/history/recovery_percentiles.c: percentiles of recoveries. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/history/recovery.h"

static int compare_values(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* The nearest rank: the smallest value that is not below `percent` of all. */
static double nearest_rank(const double *values, size_t count, size_t percent)
{
    assert(count > 0);
    assert(percent > 0);
    assert(percent <= 100);
    return values[(count * percent + 99) / 100 - 1];
}

json_t *recovery_spread(double *values, size_t count)
{
    assert(values != NULL || count == 0);
    if (count == 0) { return NULL; }
    qsort(values, count, sizeof *values, compare_values);
    return json_pack("{s:I, s:f, s:f, s:f, s:f}", "count", (json_int_t)count, "p50",
                     nearest_rank(values, count, 50), "p90", nearest_rank(values, count, 90), "p99",
                     nearest_rank(values, count, 99), "max", values[count - 1]);
}

/* Adds as `name` the spread of `key` over the recoveries whose member `by` is `name`; `by` NULL:
 * over all. Without a value nothing is added. */
static void add_spread(json_t *object, const char *name, const json_t *recoveries, const char *key,
                       const char *by)
{
    assert(name != NULL);
    assert(key != NULL);
    size_t size = json_array_size(recoveries), count = 0;
    double *values = calloc(size + 1, sizeof *values);
    for (size_t i = 0; values != NULL && i < size; i++) {
        const json_t *recovery = json_array_get(recoveries, i);
        double value = json_member_number(recovery, key, -1);
        if (by != NULL && strcmp(json_member_text(recovery, by, ""), name) != 0) { continue; }
        if (value >= 0) { values[count++] = value; }
    }
    json_t *spread = values != NULL ? recovery_spread(values, count) : NULL;
    if (spread != NULL) { json_object_set_new(object, name, spread); }
    free(values);
}

/* A spread for each value of the member `by`, in the order of their first recoveries. */
static json_t *spread_by(const json_t *recoveries, const char *key, const char *by)
{
    json_t *object = json_object();
    for (size_t i = 0; object != NULL && i < json_array_size(recoveries); i++) {
        const char *name = json_member_text(json_array_get(recoveries, i), by, "");
        if (json_object_get(object, name) == NULL) {
            add_spread(object, name, recoveries, key, by);
        }
    }
    return object;
}

json_t *recovery_percentiles(const json_t *recoveries)
{
    json_t *phases = json_object();
    for (size_t i = 0; phases != NULL && i <= RECOVERY_PHASES; i++) {
        add_spread(phases, recovery_phases[i].name, recoveries, recovery_phases[i].key, NULL);
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "phases", phases, "by_fault",
                     spread_by(recoveries, "total_ms", "fault"), "by_group",
                     spread_by(recoveries, "total_ms", "group"), "failover",
                     spread_by(recoveries, "failover_ms", "group"));
}
