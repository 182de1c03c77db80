/*
 * graph/lookups.h: tables of rows by key: those of a graph, and the lookups of a program. A program
 * does not find rows: its owner reads the keys, fills the rows before a run, and takes the
 * gradients of the rows after it.
 *
 * Threads: a graph or program belongs to one thread at a time.
 */
#ifndef GRAPH_LOOKUPS_H
#define GRAPH_LOOKUPS_H

#include "graph/program.h"

struct graph_table {
    const char *name; /* Its path; as long as the call. */
    uint32_t width;
    uint64_t rows; /* As in struct tn_table_options. */
    float scale;   /* Above 0. */
};

/* Call `add` for each table that losses, metrics and outputs depend on, in canonical order.
 * TN_ENOMEM, the graph's error, or that of `add`. */
MUST_CHECK enum tn_status graph_tables(const struct tn_graph *graph,
                                       enum tn_status (*add)(void *to,
                                                             const struct graph_table *table,
                                                             struct error *error),
                                       void *to, struct error *error);

/* The keys of an example that all lookups of the table of this path read. */
uint64_t graph_table_keys(const struct tn_graph *graph, const char *path);

/* For program_create(). TN_ENOMEM; TN_EINVAL: more than TN_LOOKUPS_MAX. */
MUST_CHECK enum tn_status program_list_lookups(struct tn_program *program, struct error *error);

struct lookup_view {
    uint32_t width;
    /* The keys of example e are keys[e * keys_each + first + i], i below `count`. */
    const int64_t *keys;
    uint32_t keys_each, first, count;
    float *rows;           /* [examples][count][width], to be filled. */
    const float *gradient; /* The same of the last run; NULL: none flows. */
};

/* The numbers of the lookups of the table of this path, in canonical order; borrowed. Sets
 * `*count`, which is 0 for a table that the program does not have. */
const uint32_t *program_lookups_of(const struct tn_program *program, const char *table,
                                   uint32_t *count);
/* The gradient is valid until the next run. `rows` is NULL: the program does not read it. */
struct lookup_view program_lookup(const struct tn_program *program, uint32_t number);

#endif
