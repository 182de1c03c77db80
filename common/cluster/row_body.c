#include "common/cluster/row_body.h"

#include <assert.h>
#include <string.h>

#include "common/base/finite.h"
#include "common/base/short_copy.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames are little-endian");

enum { KEY_BYTES = sizeof(uint64_t) };

#define KEY_MOST (UINT64_MAX >> 1)

struct section {
    uint32_t table, count;
};

/* ---------------------------------------------------------------------------- writing */

bool row_body_add(struct row_body *body, uint32_t table, uint64_t key, const float *values,
                  uint32_t width)
{
    struct section section = {.table = table};
    assert(body->size <= body->room);
    if (body->size > 0) { memcpy(&section, body->data + body->section, sizeof section); }
    const bool begins = body->size == 0 || section.table != table;
    const size_t bytes = KEY_BYTES + width * sizeof(float);
    if (body->room - body->size < bytes + (begins ? sizeof section : 0)) { return false; }
    if (begins) {
        section = (struct section){.table = table};
        body->section = body->size;
        body->size += sizeof section;
    }
    section.count++;
    memcpy(body->data + body->section, &section, sizeof section);
    memcpy(body->data + body->size, &key, KEY_BYTES);
    if (width > 0) { short_copy(body->data + body->size + KEY_BYTES, values, bytes - KEY_BYTES); }
    body->size += bytes;
    return true;
}

/* ---------------------------------------------------------------------------- reading */

static uint32_t width_of(const struct row_body_rules *rules, uint32_t table)
{
    return rules->variables->row_tables[table].width;
}

/* The bytes of a row in the body. */
static size_t row_bytes(const struct variable_table *variables, bool gradients, uint32_t table)
{
    return KEY_BYTES + (gradients ? variables->row_tables[table].width * sizeof(float) : 0);
}

static const char *section_fault(const struct row_body_rules *rules, const struct section *section,
                                 size_t left, bool is_first, const struct row_body_order *order)
{
    if (section->table >= rules->variables->row_table_count) { return "it names an unknown table"; }
    const bool descends = order->begun && section->table < order->table;
    if (descends || (!is_first && section->table == order->table)) {
        return "its tables do not ascend";
    }
    const size_t bytes = row_bytes(rules->variables, rules->gradients, section->table);
    if (section->count == 0 || section->count > left / bytes) {
        return "its rows are not in its body";
    }
    const uint64_t before = order->begun && order->table == section->table ? order->rows : 0;
    const uint64_t most = rules->examples * rules->variables->row_tables[section->table].keys;
    if (rules->gradients && before + section->count > most) {
        return "it has more rows than its slices have keys";
    }
    return NULL;
}

/* The rows of a section, which are in the body; `order` continues behind them. */
static const char *rows_fault(const struct row_body_rules *rules, const struct section *section,
                              const uint8_t *at, struct row_body_order *order)
{
    const struct row_hash hash = row_hash_of(section->table);
    const uint32_t width = width_of(rules, section->table);
    const size_t bytes = row_bytes(rules->variables, rules->gradients, section->table);
    const bool continues = order->begun && order->table == section->table;
    uint64_t key, before = order->key;
    for (uint32_t i = 0; i < section->count; i++, at += bytes) {
        memcpy(&key, at, KEY_BYTES);
        if (key > KEY_MOST) { return "it has a key above 2^63-1"; }
        if ((i > 0 || continues) && key <= before) { return "its keys do not ascend"; }
        if (!row_part_has_bucket(&rules->part, row_hash_bucket(hash, key))) {
            return "another ps has its rows";
        }
        if (rules->gradients && !floats_are_finite(at + KEY_BYTES, width)) {
            return "it is not finite";
        }
        before = key;
    }
    *order = (struct row_body_order){
        .begun = true,
        .table = section->table,
        .key = before,
        .rows = (continues ? order->rows : 0) + section->count,
    };
    return NULL;
}

const char *row_body_fault(const struct row_body_rules *rules, const void *body, size_t size,
                           struct row_body_order *order, uint64_t *floats)
{
    struct row_body_order next = *order;
    const uint8_t *bytes = body;
    uint64_t count = 0;
    size_t at = 0;
    if (size == 0) { return "it names no rows"; }
    while (at < size) {
        struct section section;
        if (size - at < sizeof section) { return "its end is cut off"; }
        memcpy(&section, bytes + at, sizeof section);
        at += sizeof section;
        const char *fault = section_fault(rules, &section, size - at, at == sizeof section, &next);
        if (fault != NULL) { return fault; }
        fault = rows_fault(rules, &section, bytes + at, &next);
        if (fault != NULL) { return fault; }
        at += section.count * row_bytes(rules->variables, rules->gradients, section.table);
        count += (uint64_t)section.count * width_of(rules, section.table);
    }
    *order = next;
    *floats = count;
    return NULL;
}

uint64_t row_body_floats(const struct row_body_rules *rules, const void *body, size_t size)
{
    uint64_t count = 0;
    for (size_t at = 0; at < size;) {
        struct section section;
        memcpy(&section, (const uint8_t *)body + at, sizeof section);
        at += sizeof section +
              section.count * row_bytes(rules->variables, rules->gradients, section.table);
        count += (uint64_t)section.count * width_of(rules, section.table);
    }
    return count;
}

struct row_body_reader row_body_read(const struct row_body_rules *rules, const void *body,
                                     size_t size)
{
    return (struct row_body_reader){
        .at = body,
        .end = (const uint8_t *)body + size,
        .variables = rules->variables,
        .gradients = rules->gradients,
    };
}

bool row_body_next(struct row_body_reader *reader, struct row_body_row *row)
{
    if (reader->left == 0) {
        struct section section;
        if (reader->at == reader->end) { return false; }
        memcpy(&section, reader->at, sizeof section);
        reader->at += sizeof section;
        reader->table = section.table;
        reader->left = section.count;
    }
    assert(reader->left > 0);
    *row = (struct row_body_row){.table = reader->table};
    memcpy(&row->key, reader->at, KEY_BYTES);
    if (reader->gradients) { row->values = reader->at + KEY_BYTES; }
    reader->at += row_bytes(reader->variables, reader->gradients, reader->table);
    reader->left--;
    return true;
}
