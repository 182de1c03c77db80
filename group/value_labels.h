/*
 * group/value_labels.h: which values and gradients a member of a group has, as a pure state
 * machine. The owner keeps the floats, and moves them when a call returns true.
 *
 * The newest answer of each ps of the member waits until the head takes it: it is copied into the
 * next values. When those of all its ps are of one step, they become the current ones (G4). The
 * member computes and evaluates only from current values that the head names, and pushes only what
 * it has computed from them (G5, G6). Nothing is kept from one attempt to another (G2).
 *
 * Threads: the owner's. Nothing fails.
 */
#ifndef GROUP_VALUE_LABELS_H
#define GROUP_VALUE_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/slices.h"
#include "common/cluster/znodes.h"

/* Values of one step. */
struct value_label {
    uint64_t generation, step;
};

/* The answers of one ps. */
struct value_answer {
    bool is_here; /* Values that were not taken yet; they are of `here`. */
    struct value_label here;
    struct value_label taken; /* The values of this ps in the next ones. */
};

struct value_labels {
    uint64_t version;                    /* Grows each time the current values change. */
    uint32_t node_count;                 /* Nodes whose gradients were computed from them. */
    struct slice_node nodes[SLICES_MAX]; /* In the order of computation. */
    /* Private. */
    struct value_label current;
    uint32_t ps;
    bool owns[PS_MAX];
    struct value_answer answers[PS_MAX];
    bool is_forgotten; /* The present order is no longer needed. */
};

/* The member owns the ps with owns[p], of `ps` ones. It has nothing. */
void value_labels_init(struct value_labels *labels, uint32_t ps, const bool *owns);
/* An attempt is over: the member has nothing. */
void value_labels_reset(struct value_labels *labels);

/* Complete values of a ps have arrived; they replace earlier ones that were not taken. */
void value_labels_answered(struct value_labels *labels, uint32_t ps, struct value_label label);
/* True: copy the values of the ps into the next ones, and release them. False: they have not
 * arrived.
 */
bool value_labels_take(struct value_labels *labels, uint32_t ps, struct value_label label);
/* True: the next values become the current ones; release all gradients. False: some are lacking. */
bool value_labels_swap(struct value_labels *labels, struct value_label label);
/* The gradients are no longer needed, nor that of an order that is being carried out. */
void value_labels_forget(struct value_labels *labels);

bool value_labels_are_current(const struct value_labels *labels, struct value_label label);
/* An order to compute from the values of `label` begins. False: this member does not have them, or
 * no further gradient can be kept. */
bool value_labels_begin(struct value_labels *labels, struct value_label label);
/* The gradient of `node`, which the last order named, is computed. True: it is the last of nodes[].
 * False: it is no longer needed. */
bool value_labels_computed(struct value_labels *labels, struct slice_node node);
/* The index in nodes[] of the gradient of `node` from the values of `label`. False: there is
 * none. */
bool value_labels_find(const struct value_labels *labels, struct value_label label,
                       struct slice_node node, uint32_t *index);

#endif
