#include "ps/table/row_admission.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"

#define COUNT_OPTIMIZER SPARSE_SGD
enum { COUNT_WIDTH = 1 };

uint64_t row_admission_count_bytes(void)
{
    return row_table_row_bytes(COUNT_WIDTH, COUNT_OPTIMIZER, true);
}

enum tn_status row_admission_open(struct row_admission *admission,
                                  const struct job_table_rule *rule,
                                  const struct row_table_spec *spec, struct row_table **counts,
                                  struct error *error)
{
    struct row_table_spec own = *spec;
    assert(rule->admit_after > 1 && rule->admit_within_steps > 0);
    own.width = COUNT_WIDTH;
    own.optimizer = COUNT_OPTIMIZER;
    own.scale = 0;
    own.expire_after = rule->admit_within_steps;
    own.counts = true;
    (void)snprintf(own.name, sizeof own.name, "counts of %.*s", ROW_TABLE_NAME_MAX - 11,
                   spec->name);
    enum tn_status status = row_table_open(&own, counts, error);
    if (status != TN_OK) { return status; }
    *admission = (struct row_admission){.after = rule->admit_after, .counts = *counts};
    return TN_OK;
}

void row_admission_close(struct row_admission *admission)
{
    free(admission->present);
    free(admission->keys);
    free(admission->counted_keys);
    free(admission->values);
    free(admission->seen);
    free(admission->changes);
    *admission = (struct row_admission){.after = 0};
}

/* Contents are lost. False: out of memory. */
static bool renew(void **list, uint64_t count, size_t size)
{
    free(*list);
    *list = malloc(count * size);
    return *list != NULL;
}

static bool reserve(struct row_admission *admission, uint64_t rows, uint32_t width)
{
    struct row_admission *a = admission;
    if (rows <= a->room) { return true; }
    const uint64_t room = u64_max(rows, 2 * a->room);
    a->room = 0;
    if (!renew((void **)&a->present, room, sizeof *a->present) ||
        !renew((void **)&a->keys, room, sizeof *a->keys) ||
        !renew((void **)&a->counted_keys, room, sizeof *a->counted_keys) ||
        !renew((void **)&a->values, room * width, sizeof *a->values) ||
        !renew((void **)&a->seen, room, sizeof *a->seen) ||
        !renew((void **)&a->changes, room, sizeof *a->changes)) {
        return false;
    }
    a->room = room;
    return true;
}

/* The keys without a row, and how often each was counted. Returns their number. */
static uint64_t look_up(struct row_admission *admission, const struct row_table *rows,
                        struct sparse_rows gradients)
{
    uint64_t count = 0;
    row_table_have(rows, gradients.keys, gradients.count, admission->present);
    for (uint64_t k = 0; k < gradients.count; k++) {
        if (!admission->present[k]) { admission->counted_keys[count++] = gradients.keys[k]; }
    }
    row_table_read(admission->counts, row_table_step(admission->counts), admission->counted_keys,
                   count, admission->seen);
    return count;
}

/* An admitted key is counted from 0 again if its row expires. */
static bool admit(struct row_admission *admission, uint64_t c)
{
    const float seen = admission->seen[c];
    const bool admitted = seen + 1 >= (float)admission->after;
    admission->changes[c] = admitted ? seen : -1;
    return admitted;
}

enum tn_status row_admission_choose(struct row_admission *admission, const struct row_table *rows,
                                    struct sparse_rows gradients, struct sparse_rows *admitted,
                                    struct sparse_rows *counted, struct error *error)
{
    const struct row_table_spec *spec = row_table_spec_of(rows);
    uint64_t kept = 0, c = 0;
    assert(admission->counts != NULL);
    assert(row_table_step(admission->counts) == row_table_step(rows));
    if (!reserve(admission, gradients.count, spec->width)) {
        return error_set(error, TN_ENOMEM, "table '%s': out of memory for its update", spec->name);
    }
    const uint64_t absent = look_up(admission, rows, gradients);
    for (uint64_t k = 0; k < gradients.count; k++) {
        if (!admission->present[k] && !admit(admission, c++)) { continue; }
        admission->keys[kept] = gradients.keys[k];
        memcpy(admission->values + kept++ * spec->width, gradients.values + k * spec->width,
               spec->width * sizeof *admission->values);
    }
    *admitted =
        (struct sparse_rows){.count = kept, .keys = admission->keys, .values = admission->values};
    *counted = (struct sparse_rows){
        .count = absent, .keys = admission->counted_keys, .values = admission->changes};
    return TN_OK;
}

/* A change is subtracted as it is: counts up to 2^24 are exact. */
struct sparse_constants row_admission_constants(void)
{
    const struct sparse_optimizer plain = {.kind = SPARSE_SGD};
    return sparse_constants_of(&plain, 1, 0);
}
