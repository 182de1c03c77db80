#include "agent/observe/table_totals.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/cluster/row_loads.h"

/* ------------------------------------------------------------------ collecting */

void table_totals_free(struct table_totals *totals)
{
    free(totals->tables);
    free(totals->parts);
    free(totals->known);
    free(totals->sources);
    *totals = (struct table_totals){0};
}

static void add(struct table_stats *sum, const struct table_stats *part)
{
    sum->rows += part->rows;
    sum->bytes += part->bytes;
    sum->lookups += part->lookups;
    sum->updates += part->updates;
    sum->hottest += part->hottest;
    sum->hot += part->hot;
}

static bool same_tables(const struct table_stats *first, const struct table_stats *second,
                        uint32_t count)
{
    for (uint32_t t = 0; t < count; t++) {
        if (strcmp(first[t].name, second[t].name) != 0) { return false; }
    }
    return true;
}

static bool allocate(struct table_totals *totals, uint32_t count, uint32_t ps_count)
{
    *totals = (struct table_totals){
        .count = count,
        .ps_count = ps_count,
        .tables = calloc(count, sizeof *totals->tables),
        .parts = calloc((size_t)count * ps_count, sizeof *totals->parts),
        .known = calloc(ps_count, sizeof *totals->known),
        .sources = calloc(ps_count, sizeof *totals->sources),
    };
    if (totals->tables != NULL && totals->parts != NULL && totals->known != NULL &&
        totals->sources != NULL) {
        return true;
    }
    table_totals_free(totals);
    return false;
}

static void collect(struct table_totals *totals, uint32_t first,
                    const struct table_stats (*parts)[ROW_TABLES_MAX],
                    const struct table_source *sources)
{
    for (uint32_t t = 0; t < totals->count; t++) {
        memcpy(totals->tables[t].name, parts[first][t].name, sizeof totals->tables[t].name);
    }
    for (uint32_t ps = first; ps < totals->ps_count; ps++) {
        if (sources[ps].count != totals->count) { continue; }
        if (!same_tables(parts[ps], totals->tables, totals->count)) { continue; }
        totals->known[ps] = true;
        totals->sources[ps] = sources[ps];
        totals->answered++;
        for (uint32_t t = 0; t < totals->count; t++) {
            totals->parts[(size_t)t * totals->ps_count + ps] = parts[ps][t];
            add(&totals->tables[t], &parts[ps][t]);
        }
    }
}

void table_totals_set(struct table_totals *totals, uint32_t ps_count,
                      const struct table_stats (*parts)[ROW_TABLES_MAX],
                      const struct table_source *sources)
{
    struct table_totals fresh = {0};
    uint32_t first = 0;
    while (first < ps_count && sources[first].count == 0) { first++; }
    if (first < ps_count && allocate(&fresh, sources[first].count, ps_count)) {
        collect(&fresh, first, parts, sources);
    }
    table_totals_free(totals);
    *totals = fresh;
}

void table_totals_read(struct table_totals *totals, struct step_poller *poller, uint32_t ps_count,
                       uint64_t generation)
{
    struct table_stats(*parts)[ROW_TABLES_MAX] = calloc(u32_max(ps_count, 1), sizeof *parts);
    struct table_source sources[HOLDERS_MAX] = {0};
    assert(ps_count <= HOLDERS_MAX);
    if (parts == NULL) {
        table_totals_free(totals);
        return;
    }
    for (uint32_t ps = 0; ps < ps_count; ps++) {
        (void)step_poller_get_tables(poller, ps, generation, parts[ps], &sources[ps]);
    }
    table_totals_set(totals, ps_count, (const struct table_stats(*)[ROW_TABLES_MAX])parts, sources);
    free(parts);
}

/* ------------------------------------------------------------------- questions */

static const struct table_stats *part_of(const struct table_totals *totals, uint32_t table,
                                         uint32_t ps)
{
    assert(table < totals->count && ps < totals->ps_count);
    return &totals->parts[(size_t)table * totals->ps_count + ps];
}

struct table_stats table_totals_of_ps(const struct table_totals *totals, uint32_t ps)
{
    struct table_stats sum = {0};
    for (uint32_t t = 0; t < totals->count; t++) { add(&sum, part_of(totals, t, ps)); }
    sum.hot = sum.hottest = 0; /* Buckets of several tables do not add up. */
    return sum;
}

struct table_stats table_totals_all(const struct table_totals *totals)
{
    struct table_stats sum = {0};
    for (uint32_t t = 0; t < totals->count; t++) { add(&sum, &totals->tables[t]); }
    sum.hot = sum.hottest = 0;
    return sum;
}

uint32_t table_totals_largest(const struct table_totals *totals, uint32_t most, uint32_t *out)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < totals->count; t++) {
        uint32_t at = count;
        while (at > 0 && totals->tables[t].bytes > totals->tables[out[at - 1]].bytes) { at--; }
        if (at == most) { continue; }
        count = u32_min(count + 1, most);
        memmove(out + at + 1, out + at, (count - at - 1) * sizeof *out);
        out[at] = t;
    }
    return count;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : NAN;
}

double table_hot_share(const struct table_stats *stats)
{
    return share(stats->hot, stats->lookups);
}

/* As if ps `ps` had made `most` updates. */
static double lookups_of(const struct table_totals *totals, uint32_t table, uint32_t ps,
                         uint64_t most)
{
    const uint64_t counted = table < totals->count ? part_of(totals, table, ps)->lookups
                                                   : table_totals_of_ps(totals, ps).lookups;
    return (double)counted * row_loads_factor(totals->sources[ps].updates, most);
}

static uint64_t most_updates(const struct table_totals *totals)
{
    uint64_t most = 0;
    for (uint32_t ps = 0; ps < totals->ps_count; ps++) {
        most = u64_max(most, totals->sources[ps].updates);
    }
    return most;
}

/* Over the ps that have made an update; 0: there are none. */
static double mean_lookups(const struct table_totals *totals, uint32_t table, uint64_t most)
{
    double sum = 0;
    uint32_t counting = 0;
    for (uint32_t ps = 0; ps < totals->ps_count; ps++) {
        sum += lookups_of(totals, table, ps, most);
        counting += totals->sources[ps].updates > 0;
    }
    return counting > 0 ? sum / counting : 0;
}

double table_load(const struct table_totals *totals, uint32_t table, uint32_t ps)
{
    assert(table <= totals->count && ps < totals->ps_count);
    const uint64_t most = most_updates(totals);
    const double mean = mean_lookups(totals, table, most);
    const bool counts = mean > 0 && totals->sources[ps].updates > 0;
    return counts ? lookups_of(totals, table, ps, most) / mean : (double)NAN;
}

double table_imbalance(const struct table_totals *totals, uint32_t table)
{
    assert(table <= totals->count);
    const uint64_t most = most_updates(totals);
    const double mean = mean_lookups(totals, table, most);
    double largest = 0;
    for (uint32_t ps = 0; ps < totals->ps_count; ps++) {
        largest = double_max(largest, lookups_of(totals, table, ps, most));
    }
    return mean > 0 ? largest / mean : (double)NAN;
}

/* ------------------------------------------------------------------------ JSON */

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *part_json(const struct table_stats *part)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "rows", (json_int_t)part->rows, "bytes",
                     (json_int_t)part->bytes, "lookups", (json_int_t)part->lookups, "updates",
                     (json_int_t)part->updates);
}

static json_t *parts_json(const struct table_totals *totals, uint32_t table)
{
    json_t *list = json_array();
    for (uint32_t ps = 0; ps < totals->ps_count; ps++) {
        json_array_append_new(list, totals->known[ps] ? part_json(part_of(totals, table, ps))
                                                      : json_null());
    }
    return list;
}

json_t *table_totals_json(const struct table_totals *totals, bool by_ps)
{
    json_t *list = json_array();
    for (uint32_t t = 0; t < totals->count; t++) {
        const struct table_stats *stats = &totals->tables[t];
        json_t *table =
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "name", stats->name, "rows",
                      (json_int_t)stats->rows, "bytes", (json_int_t)stats->bytes, "lookups",
                      (json_int_t)stats->lookups, "updates", (json_int_t)stats->updates,
                      "hot_share", real(table_hot_share(stats)), "hottest_share",
                      real(share(stats->hottest, stats->lookups)), "imbalance",
                      real(table_imbalance(totals, t)));
        if (table != NULL && by_ps) { json_object_set_new(table, "ps", parts_json(totals, t)); }
        json_array_append_new(list, table);
    }
    return list;
}
