#include "cli/inspect/table_status.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/table.h"

enum { LISTED_MOST = 12 };

static uint32_t buckets_of(const struct row_borders *borders, uint32_t ps_count, uint32_t ps)
{
    const struct row_part part = row_part_of(borders, ps_count, ps);
    return part.end - part.first;
}

/* The imbalance is that of all tables together; null: nothing was looked up yet. */
static json_t *rows_json(const struct table_totals *totals, const struct row_borders *borders)
{
    const double imbalance = table_imbalance(totals, totals->count);
    json_t *buckets = json_array();
    for (uint32_t ps = 0; ps < totals->ps_count; ps++) {
        json_array_append_new(buckets, json_integer(buckets_of(borders, totals->ps_count, ps)));
    }
    return json_pack("{s:o, s:o}", "imbalance",
                     isfinite(imbalance) ? json_real(imbalance) : json_null(), "buckets", buckets);
}

void table_status_add(json_t *root, const struct table_totals *totals,
                      const struct row_borders *borders)
{
    assert(root != NULL);
    if (totals->count == 0) { return; }
    json_object_set_new(root, "tables", table_totals_json(totals, true));
    json_object_set_new(root, "rows", rows_json(totals, borders));
}

static void put_share(struct table *out, double share)
{
    if (isfinite(share)) {
        table_cell(out, "%.1f %%", share * 100);
    } else {
        table_no_value(out);
    }
}

static void put_ratio(struct table *out, double ratio)
{
    if (isfinite(ratio)) {
        table_cell(out, "%.2f", ratio);
    } else {
        table_no_value(out);
    }
}

static bool print_largest(const struct table_totals *totals)
{
    static const struct table_column columns[] = {
        {"TABLE", TABLE_LEFT},      {"ROWS", TABLE_RIGHT},    {"BYTES", TABLE_RIGHT},
        {"LOOKUPS", TABLE_RIGHT},   {"UPDATES", TABLE_RIGHT}, {"HOT 1 %", TABLE_RIGHT},
        {"IMBALANCE", TABLE_RIGHT},
    };
    uint32_t largest[LISTED_MOST];
    struct table out;
    const uint32_t listed = table_totals_largest(totals, LISTED_MOST, largest);
    table_init(&out, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < listed; i++) {
        const struct table_stats *stats = &totals->tables[largest[i]];
        table_cell(&out, "%s", stats->name);
        table_cell(&out, "%" PRIu64, stats->rows);
        table_cell(&out, "%" PRIu64, stats->bytes);
        table_cell(&out, "%" PRIu64, stats->lookups);
        table_cell(&out, "%" PRIu64, stats->updates);
        put_share(&out, table_hot_share(stats));
        put_ratio(&out, table_imbalance(totals, largest[i]));
    }
    const bool written = table_print(&out, stdout);
    if (listed < totals->count) {
        printf("%" PRIu32 " smaller tables: see -o json\n", totals->count - listed);
    }
    return written;
}

static bool print_parts(const struct table_totals *totals, const struct row_borders *borders)
{
    static const struct table_column columns[] = {
        {"ROWS OF", TABLE_LEFT},  {"ROWS", TABLE_RIGHT},    {"BYTES", TABLE_RIGHT},
        {"LOOKUPS", TABLE_RIGHT}, {"UPDATES", TABLE_RIGHT}, {"BUCKETS", TABLE_RIGHT},
    };
    struct table out;
    table_init(&out, columns, sizeof columns / sizeof *columns);
    for (uint32_t ps = 0; ps < totals->ps_count; ps++) {
        const struct table_stats stats = table_totals_of_ps(totals, ps);
        table_cell(&out, "ps:%" PRIu32, ps);
        table_number(&out, stats.rows, totals->known[ps]);
        table_number(&out, stats.bytes, totals->known[ps]);
        table_number(&out, stats.lookups, totals->known[ps]);
        table_number(&out, stats.updates, totals->known[ps]);
        table_cell(&out, "%" PRIu32, buckets_of(borders, totals->ps_count, ps));
    }
    return table_print(&out, stdout);
}

bool table_status_print(const struct table_totals *totals, const struct row_borders *borders)
{
    const struct table_stats all = table_totals_all(totals);
    const double imbalance = table_imbalance(totals, totals->count);
    if (totals->count == 0) { return true; }
    printf("\ntables: %" PRIu32 ", with %" PRIu64 " rows in %" PRIu64 " bytes on %" PRIu32 " ps",
           totals->count, all.rows, all.bytes, totals->answered);
    if (totals->answered < totals->ps_count) {
        printf("; %" PRIu32 " ps did not answer", totals->ps_count - totals->answered);
    }
    if (isfinite(imbalance)) { printf("; the busiest has %.2f times the mean load", imbalance); }
    printf("\n");
    const bool written = print_largest(totals);
    putchar('\n');
    return print_parts(totals, borders) && written;
}
