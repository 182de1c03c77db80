/*
 * graph/passes/partition.h: cuts a graph into parts, each a graph of one task, with numbered edges
 * between them. A pure function of the graph and the places of its nodes (graph/passes/place.h).
 *
 * Only what the wanted results depend on is in the parts. A value that another task reads leaves
 * its part as an output and enters that task as a placeholder, both named by the edge ("edge:3");
 * so do the fields that are fed, and the results. A task may want a result that it computes itself:
 * an edge from it to itself. A task that waits for another one in mid-graph
 * has several parts: the *level* of a part is the greatest number of changes of tasks on a way to
 * it. Every edge goes from a lower level to a higher one, so the parts of each task run in the
 * order of their levels, and no order of messages blocks them.
 *
 * Parts compute the same operations on the same values as the whole graph, and programs made from
 * them have its bits (rule A10).
 */
#ifndef GRAPH_PASSES_PARTITION_H
#define GRAPH_PASSES_PARTITION_H

#include "common/base/error.h"
#include "tanist/graph.h"

/* In place of a task: the caller, which feeds fields and takes results. */
#define PARTITION_CALLER UINT32_MAX

enum { PARTITION_NAME_MAX = 24 };

struct partition_edge {
    tn_tensor value;   /* In the whole graph. */
    uint32_t from, to; /* Tasks, or PARTITION_CALLER; equal: between parts of one task. */
    enum tn_type type;
    struct tn_shape shape; /* With TN_BATCH. */
};

struct partition_part {
    uint32_t task, level;
    struct tn_graph *graph; /* Its placeholders and outputs are edges, by their names. */
};

/* A value that is wanted, and where: by the caller, or by a task, which need not read it. */
struct partition_result {
    tn_tensor value;
    uint32_t to;
};

struct partition {
    struct partition_edge *edges;
    uint32_t edge_count;
    struct partition_part *parts; /* By level, then by task. */
    uint32_t part_count;
};

/* The name of an edge in the graphs of its parts. */
void partition_edge_name(uint32_t edge, char out[static PARTITION_NAME_MAX]);
/* The number of the edge called `name`. False: it is not the name of an edge. */
bool partition_edge_number(const char *name, uint32_t *edge);
/* The size of its value for this number of examples. */
uint64_t partition_edge_bytes(const struct partition_edge *edge, uint32_t examples);
/* The number of the edge that brings `value` to `to`. It exists. */
uint32_t partition_edge_to(const struct partition *partition, tn_tensor value, uint32_t to);

/*
 * Cut what `results` depend on. `tasks` has the task of each node of `graph`, which is canonical or
 * differentiated after that, as pass_place() writes it. `out` is released by partition_free(), also
 * after an error.
 *
 *   TN_EINVAL  more than GRAPH_MARKS_MAX values leave one part
 *   TN_ENOMEM
 */
MUST_CHECK enum tn_status pass_partition(const struct tn_graph *graph, const uint32_t *tasks,
                                         const struct partition_result *results,
                                         uint32_t result_count, struct partition *out,
                                         struct error *error);
void partition_free(struct partition *partition);

#endif
