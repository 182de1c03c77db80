/* chaos/history/recovery_percentiles.c: percentiles of recoveries. */
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

/* Nearest rank: the smallest value that is not below `percent` of all. */
static double rank(const double *values, size_t count, size_t percent)
{
    size_t index = (count * percent + 99) / 100;
    return values[index > 0 ? index - 1 : 0];
}

json_t *recovery_spread(double *values, size_t count)
{
    if (count == 0) { return NULL; }
    qsort(values, count, sizeof *values, compare_values);
    return json_pack("{s:I, s:f, s:f, s:f, s:f}", "count", (json_int_t)count, "p50",
                     rank(values, count, 50), "p90", rank(values, count, 90), "p99",
                     rank(values, count, 99), "max", values[count - 1]);
}

/* The values of `key` of those whose `by` is `which` (NULL: of all). */
static json_t *spread_of(const json_t *recoveries, const char *key, const char *by,
                         const char *which)
{
    size_t size = json_array_size(recoveries), count = 0;
    double *values = calloc(size + 1, sizeof *values);
    for (size_t i = 0; values != NULL && i < size; i++) {
        const json_t *recovery = json_array_get(recoveries, i);
        double value = json_member_number(recovery, key, -1);
        if (by != NULL && strcmp(json_member_text(recovery, by, ""), which) != 0) { continue; }
        if (value >= 0) { values[count++] = value; }
    }
    json_t *spread = values != NULL ? recovery_spread(values, count) : NULL;
    free(values);
    return spread;
}

/* For each that `by` names, in the order of their first recoveries. */
static json_t *spread_by(const json_t *recoveries, const char *key, const char *by)
{
    json_t *object = json_object();
    for (size_t i = 0; object != NULL && i < json_array_size(recoveries); i++) {
        const char *which = json_member_text(json_array_get(recoveries, i), by, "");
        if (json_object_get(object, which) != NULL) { continue; }
        json_t *spread = spread_of(recoveries, key, by, which);
        if (spread != NULL) { json_object_set_new(object, which, spread); }
    }
    return object;
}

json_t *recovery_percentiles(const json_t *recoveries)
{
    json_t *all = json_object();
    for (size_t i = 0; all != NULL && i <= RECOVERY_PHASES; i++) {
        json_t *spread = spread_of(recoveries, recovery_phases[i].key, NULL, NULL);
        if (spread != NULL) { json_object_set_new(all, recovery_phases[i].name, spread); }
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "phases", all, "by_fault",
                     spread_by(recoveries, "total_ms", "fault"), "by_group",
                     spread_by(recoveries, "total_ms", "group"), "failover",
                     spread_by(recoveries, "failover_ms", "group"));
}
