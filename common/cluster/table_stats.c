#include "common/cluster/table_stats.h"

#include <assert.h>
#include <string.h>

enum { NUMBERS = 6 };

static void put_number(uint8_t *out, uint64_t value)
{
    for (int i = 0; i < 8; i++) { out[i] = (uint8_t)(value >> (8 * i)); }
}

static uint64_t number_at(const uint8_t *in)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) { value |= (uint64_t)in[i] << (8 * i); }
    return value;
}

void table_stats_encode(const struct table_stats *stats, uint8_t out[static TABLE_STATS_BYTES])
{
    const uint64_t numbers[NUMBERS] = {stats->rows,    stats->bytes,   stats->lookups,
                                       stats->updates, stats->hottest, stats->hot};
    assert(memchr(stats->name, '\0', sizeof stats->name) != NULL);
    memset(out, 0, TABLE_STATS_BYTES);
    memcpy(out, stats->name, strlen(stats->name));
    for (int i = 0; i < NUMBERS; i++) {
        put_number(out + sizeof stats->name + (size_t)i * 8, numbers[i]);
    }
}

/* Printable ASCII, not empty, and terminated. */
static bool name_is_valid(const char name[static VARIABLE_NAME_MAX])
{
    for (uint32_t i = 0; i < VARIABLE_NAME_MAX; i++) {
        if (name[i] == '\0') { return i > 0; }
        if (name[i] < ' ' || name[i] > '~') { return false; }
    }
    return false;
}

bool table_stats_decode(const void *body, size_t size, uint32_t count, struct table_stats *out)
{
    const uint8_t *at = body;
    if (count > ROW_TABLES_MAX || size != (size_t)count * TABLE_STATS_BYTES) { return false; }
    for (uint32_t t = 0; t < count; t++, at += TABLE_STATS_BYTES) {
        struct table_stats *stats = &out[t];
        uint64_t *const numbers[NUMBERS] = {&stats->rows,    &stats->bytes,   &stats->lookups,
                                            &stats->updates, &stats->hottest, &stats->hot};
        memcpy(stats->name, at, sizeof stats->name);
        if (!name_is_valid(stats->name)) { return false; }
        for (int i = 0; i < NUMBERS; i++) {
            *numbers[i] = number_at(at + sizeof stats->name + (size_t)i * 8);
        }
        if (stats->hottest > stats->hot || stats->hot > stats->lookups) { return false; }
    }
    return true;
}
