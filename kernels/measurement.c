#include "kernels/measurement.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"

/* The leaves of a variable: their first element, and the end. */
static uint64_t first_leaf(const struct variable *variable)
{
    return variable->offset / NORM_LEAF * NORM_LEAF;
}

static uint64_t end_of(const struct variable *variable)
{
    return variable->offset + variable->count;
}

static bool is_split(const struct measurement *m, const struct variable *variable)
{
    return variable->offset < m->first || end_of(variable) > m->end;
}

void measurement_shape(struct measurement *m, const struct optimizer *optimizer, uint64_t first,
                       uint64_t count)
{
    assert(count > 0);
    measurement_begin(m, first, count);
    m->whole = norm_nodes(first, count);
    const struct variable_table *table = optimizer->variables;
    for (uint32_t v = optimizer_variable_at(table, first); v < table->count; v++) {
        const struct variable *variable = &table->variables[v];
        if (variable->offset >= m->end) { return; }
        if (!optimizer->rules[v].adapts || !is_split(m, variable)) { continue; }
        uint64_t from = u64_max(first_leaf(variable), first);
        assert(m->split_count < 2);
        struct split_variable *split = &m->split[m->split_count++];
        split->variable = v;
        split->values = split->gradient =
            norm_nodes(from, u64_min(end_of(variable), m->end) - from);
    }
}

void measurement_begin(struct measurement *m, uint64_t first, uint64_t count)
{
    memset(m, 0, sizeof *m);
    m->first = first;
    m->end = first + count;
    m->whole = norm_begin(first);
}

/* The elements of an update, which begin at `at`. */
struct elements {
    const struct optimizer *optimizer;
    uint64_t step, at, count;
    const float *const *arrays, *gradient;
};

enum kind_of_norm { NORM_OF_VALUES, NORM_OF_GRADIENT };

/* Elements [begin, end) of the flat vector, which belong to variable `v`, of which a norm is
 * taken. */
static void copy_elements(const struct elements *from, uint32_t v, enum kind_of_norm kind,
                          uint64_t begin, uint64_t end, float *out)
{
    const uint64_t offset = begin - from->at, count = end - begin;
    if (kind == NORM_OF_GRADIENT && from->optimizer->rules[v].optimizer == OPTIMIZER_LAMB) {
        const float *const in[OPTIMIZER_ARRAYS_MAX] = {
            from->arrays[0] + offset, from->arrays[1] + offset, from->arrays[2] + offset};
        optimizer_change(from->optimizer, from->step, v, count, from->gradient + offset, in, out);
        return;
    }
    const float *elements = kind == NORM_OF_VALUES ? from->arrays[0] : from->gradient;
    memcpy(out, elements + offset, count * sizeof *out);
}

/* Add the elements that belong to the variable; others are zeros. */
static void add_variable(struct norm_part *part, const struct elements *elements, uint32_t v,
                         enum kind_of_norm kind)
{
    const struct variable *variable = &elements->optimizer->variables->variables[v];
    const uint64_t at = elements->at, count = elements->count;
    enum { PIECE = 64 * NORM_LEAF };
    uint64_t from = u64_max(first_leaf(variable), at);
    uint64_t to = u64_min(end_of(variable), at + count);
    for (; from < to; from += PIECE) {
        float piece[PIECE] = {0};
        uint64_t end = u64_min(from + PIECE, to);
        uint64_t begin = u64_max(from, variable->offset);
        copy_elements(elements, v, kind, begin, end, piece + (begin - from));
        norm_add(part, end - from, piece);
    }
}

/* The last elements of the open variable in this range were added. */
static void close_variable(struct measurement *m, struct optimizer *optimizer)
{
    const uint32_t v = m->open.variable;
    if (is_split(m, &optimizer->variables->variables[v])) {
        assert(m->split_count < 2);
        m->split[m->split_count++] = m->open;
        return;
    }
    optimizer->norms[v] =
        (struct variable_norms){norm_of(&m->open.values), norm_of(&m->open.gradient)};
}

void measurement_add(struct measurement *m, struct optimizer *optimizer, uint64_t step,
                     uint64_t count, const float *const arrays[static OPTIMIZER_ARRAYS_MAX],
                     const float *gradient)
{
    const struct variable_table *table = optimizer->variables;
    const uint64_t at = m->whole.end * NORM_LEAF;
    const struct elements elements = {optimizer, step, at, count, arrays, gradient};
    assert(count > 0 && at + count <= m->end);
    optimizer_add_norm(table, at, count, gradient, &m->whole);
    for (uint32_t v = optimizer_variable_at(table, at); v < table->count; v++) {
        const struct variable *variable = &table->variables[v];
        if (variable->offset >= at + count) { return; }
        if (!optimizer->rules[v].adapts) { continue; }
        if (at == m->first || variable->offset >= at) {
            const uint64_t from = u64_max(first_leaf(variable), m->first);
            m->open = (struct split_variable){v, norm_begin(from), norm_begin(from)};
        }
        add_variable(&m->open.values, &elements, v, NORM_OF_VALUES);
        add_variable(&m->open.gradient, &elements, v, NORM_OF_GRADIENT);
        if (u64_min(end_of(variable), m->end) <= at + count) { close_variable(m, optimizer); }
    }
}

uint32_t measurement_parts(struct measurement *m, struct norm_part *out[MEASUREMENT_PARTS_MAX])
{
    uint32_t count = 0;
    out[count++] = &m->whole;
    for (uint32_t i = 0; i < m->split_count; i++) {
        out[count++] = &m->split[i].values;
        out[count++] = &m->split[i].gradient;
    }
    assert(count <= MEASUREMENT_PARTS_MAX);
    return count;
}

void measurement_join(const struct measurement *all, uint32_t count, struct optimizer *optimizer)
{
    struct norm_part whole = norm_begin(0);
    struct split_variable joined = {.variable = UINT32_MAX};
    for (uint32_t p = 0; p < count; p++) {
        norm_append(&whole, &all[p].whole);
        for (uint32_t i = 0; i < all[p].split_count; i++) {
            const struct split_variable *split = &all[p].split[i];
            if (split->variable == joined.variable) {
                norm_append(&joined.values, &split->values);
                norm_append(&joined.gradient, &split->gradient);
            } else {
                joined = *split;
            }
            optimizer->norms[joined.variable] =
                (struct variable_norms){norm_of(&joined.values), norm_of(&joined.gradient)};
        }
    }
    optimizer->norm = norm_of(&whole);
}
