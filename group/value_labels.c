#include "group/value_labels.h"

#include <assert.h>
#include <string.h>

static const struct value_label nothing = {0, STEP_NONE};

static bool is_equal(struct value_label a, struct value_label b)
{
    return a.generation == b.generation && a.step == b.step;
}

void value_labels_init(struct value_labels *labels, uint32_t ps, const bool *owns)
{
    assert(ps <= PS_MAX);
    *labels = (struct value_labels){.ps = ps};
    memcpy(labels->owns, owns, ps * sizeof *owns);
    value_labels_reset(labels);
}

void value_labels_reset(struct value_labels *labels)
{
    value_labels_forget(labels);
    labels->current = nothing;
    for (uint32_t p = 0; p < labels->ps; p++) {
        labels->answers[p] = (struct value_answer){.here = nothing, .taken = nothing};
    }
}

void value_labels_answered(struct value_labels *labels, uint32_t ps, struct value_label label)
{
    assert(ps < labels->ps && labels->owns[ps]);
    labels->answers[ps].is_here = true;
    labels->answers[ps].here = label;
}

bool value_labels_take(struct value_labels *labels, uint32_t ps, struct value_label label)
{
    assert(ps < labels->ps);
    struct value_answer *answer = &labels->answers[ps];
    if (!answer->is_here || !is_equal(answer->here, label)) { return false; }
    answer->taken = label;
    answer->is_here = false;
    return true;
}

bool value_labels_swap(struct value_labels *labels, struct value_label label)
{
    for (uint32_t p = 0; p < labels->ps; p++) {
        if (labels->owns[p] && !is_equal(labels->answers[p].taken, label)) { return false; }
    }
    labels->current = label;
    labels->version++;
    value_labels_forget(labels);
    return true;
}

void value_labels_forget(struct value_labels *labels)
{
    labels->node_count = 0;
    labels->is_forgotten = true;
}

bool value_labels_are_current(const struct value_labels *labels, struct value_label label)
{
    return is_equal(labels->current, label);
}

bool value_labels_begin(struct value_labels *labels, struct value_label label)
{
    if (!is_equal(labels->current, label) || labels->node_count == SLICES_MAX) { return false; }
    labels->is_forgotten = false;
    return true;
}

bool value_labels_computed(struct value_labels *labels, struct slice_node node)
{
    if (labels->is_forgotten) { return false; }
    assert(labels->node_count < SLICES_MAX);
    labels->nodes[labels->node_count++] = node;
    return true;
}

bool value_labels_find(const struct value_labels *labels, struct value_label label,
                       struct slice_node node, uint32_t *index)
{
    if (!is_equal(labels->current, label)) { return false; }
    for (*index = 0; *index < labels->node_count; (*index)++) {
        const struct slice_node *own = &labels->nodes[*index];
        if (own->first == node.first && own->count == node.count) { return true; }
    }
    return false;
}
