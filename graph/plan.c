#include "graph/plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"

#define NEVER UINT32_MAX /* No instruction, no value. */

/* Values that share memory, a root and its views and in-place successors; or, with a root behind
 * the values, the workspace of an instruction. */
struct lifetime {
    uint32_t root, first, last; /* First and last instruction. */
    uint64_t bytes, offset;
};

struct planner {
    const struct plan_request *request;
    uint32_t values;
    uint32_t *root;      /* By value; NEVER: not computed. */
    uint32_t *last_read; /* By value: its last reader. */
    uint32_t *last;      /* By root: the last reader of all that share its memory. */
    uint32_t *first;     /* By root. */
    bool *is_fixed;      /* By root: not in the arena, or a result. */
    struct lifetime *lifetimes;
    uint32_t lifetime_count;
};

static const struct node *node_at(const struct planner *planner, uint32_t time)
{
    return &planner->request->graph->nodes[planner->request->order[time]];
}

uint64_t plan_bytes(const struct tn_graph *graph, tn_tensor value, bool wide)
{
    uint64_t size = type_size(tn_type_of(graph, value), wide);
    uint64_t bytes = (uint64_t)shape_elements(shape_of(graph, value)) * size;
    return (bytes + PLAN_LINE - 1) / PLAN_LINE * PLAN_LINE;
}

static void find_last_readers(struct planner *planner)
{
    for (uint32_t i = 0; i < planner->values; i++) {
        planner->root[i] = NEVER;
        planner->last_read[i] = planner->request->kept[i] ? planner->request->count : 0;
    }
    for (uint32_t t = 0; t < planner->request->count; t++) {
        const struct node *node = node_at(planner, t);
        for (uint32_t k = 0; k < node->input_count; k++) {
            uint32_t *last = &planner->last_read[node->inputs[k].v - 1];
            *last = u32_max(*last, t);
        }
    }
}

/* Whether output 0 of the instruction at `time` may overwrite input `input`: this is the last
 * reader of everything in that memory, and reads it only here. */
static bool may_overwrite(const struct planner *planner, uint32_t time, uint32_t input)
{
    const struct tn_graph *graph = planner->request->graph;
    const struct node *node = node_at(planner, time);
    tn_tensor value = node->inputs[input];
    uint32_t root = planner->root[value.v - 1];
    if ((node->op->traits.inplace >> input & 1) == 0) { return false; }
    if (planner->is_fixed[root] || planner->last[root] != time) { return false; }
    if (!shape_equal(shape_of(graph, value), &node->shapes[0]) ||
        tn_type_of(graph, value) != node->types[0]) {
        return false;
    }
    for (uint32_t k = 0; k < node->input_count; k++) {
        if (k != input && planner->root[node->inputs[k].v - 1] == root) { return false; }
    }
    return true;
}

/* The root whose memory output 0 shares, or itself. */
static uint32_t root_of_output(const struct planner *planner, uint32_t time, uint32_t value)
{
    const struct node *node = node_at(planner, time);
    if (node->op->traits.view) { return planner->root[node->inputs[0].v - 1]; }
    if (planner->request->kept[value] || planner->request->fixed[value].space != SPACE_NONE) {
        return value;
    }
    for (uint32_t k = 0; k < node->input_count; k++) {
        if (may_overwrite(planner, time, k)) { return planner->root[node->inputs[k].v - 1]; }
    }
    return value;
}

static void find_roots(struct planner *planner)
{
    for (uint32_t t = 0; t < planner->request->count; t++) {
        const struct node *node = node_at(planner, t);
        for (uint32_t o = 0; o < node->op->outputs; o++) {
            uint32_t value = planner->request->order[t] * OP_OUTPUTS_MAX + o;
            uint32_t root = o == 0 ? root_of_output(planner, t, value) : value;
            bool fixed =
                planner->request->kept[value] || planner->request->fixed[value].space != SPACE_NONE;
            planner->root[value] = root;
            if (root == value) {
                planner->first[root] = t;
                planner->last[root] = t;
                planner->is_fixed[root] = false;
            }
            planner->is_fixed[root] |= fixed;
            planner->last[root] = u32_max(planner->last[root], planner->last_read[value]);
        }
    }
}

static void collect_lifetimes(struct planner *planner, struct plan *plan)
{
    const struct plan_request *request = planner->request;
    for (uint32_t t = 0; t < request->count; t++) {
        if (request->workspace[t] == 0) { continue; }
        planner->lifetimes[planner->lifetime_count++] = (struct lifetime){
            .root = planner->values + t,
            .first = t,
            .last = t,
            .bytes = request->workspace[t],
        };
    }
    for (uint32_t i = 0; i < planner->values; i++) {
        tn_tensor value = {i + 1};
        if (planner->root[i] == NEVER || request->fixed[planner->root[i]].space != SPACE_NONE) {
            continue;
        }
        uint64_t bytes = plan_bytes(request->graph, value, request->wide);
        if (!node_of(request->graph, value)->op->traits.view) {
            plan->without_reuse_bytes += bytes;
        }
        if (planner->root[i] == i) {
            planner->lifetimes[planner->lifetime_count++] = (struct lifetime){
                .root = i,
                .first = planner->first[i],
                .last = planner->last[i],
                .bytes = bytes,
            };
        }
    }
}

static enum tn_status find_lower_bound(const struct planner *planner, struct plan *plan)
{
    uint64_t *begins = calloc((size_t)planner->request->count + 2, sizeof *begins);
    uint64_t *ends = calloc((size_t)planner->request->count + 2, sizeof *ends);
    if (begins != NULL && ends != NULL) {
        uint64_t alive = 0;
        for (uint32_t i = 0; i < planner->lifetime_count; i++) {
            begins[planner->lifetimes[i].first] += planner->lifetimes[i].bytes;
            ends[planner->lifetimes[i].last + 1] += planner->lifetimes[i].bytes;
        }
        for (uint32_t t = 0; t <= planner->request->count; t++) {
            alive += begins[t] - ends[t];
            plan->lower_bound_bytes = u64_max(plan->lower_bound_bytes, alive);
        }
    }
    bool found = begins != NULL && ends != NULL;
    free(begins);
    free(ends);
    return found ? TN_OK : TN_ENOMEM;
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Largest first. */
static int by_size(const void *left, const void *right)
{
    const struct lifetime *a = left, *b = right;
    if (a->bytes != b->bytes) { return compare(b->bytes, a->bytes); }
    return compare(a->root, b->root);
}

/* Longest first, and of these the largest. */
static int by_length(const void *left, const void *right)
{
    const struct lifetime *a = left, *b = right;
    uint32_t length_a = a->last - a->first, length_b = b->last - b->first;
    return length_a != length_b ? compare(length_b, length_a) : by_size(left, right);
}

static int by_time(const void *left, const void *right)
{
    const struct lifetime *a = left, *b = right;
    return a->first != b->first ? compare(a->first, b->first) : by_size(left, right);
}

/* Place the lifetimes in their present order, each at the lowest offset that is free during its
 * time. `placed` has room for all; it holds those placed so far in ascending order of their
 * offsets. Returns the size of the arena. */
static uint64_t place_all(struct lifetime *lifetimes, uint32_t count,
                          const struct lifetime **placed)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct lifetime *lifetime = &lifetimes[i];
        lifetime->offset = 0;
        for (uint32_t k = 0; k < i; k++) {
            const struct lifetime *other = placed[k];
            if (other->last < lifetime->first || lifetime->last < other->first) { continue; }
            if (other->offset >= lifetime->offset + lifetime->bytes) { break; }
            lifetime->offset = u64_max(lifetime->offset, other->offset + other->bytes);
        }
        uint32_t at = i;
        while (at > 0 && placed[at - 1]->offset > lifetime->offset) { at--; }
        memmove(placed + at + 1, placed + at, (i - at) * sizeof *placed);
        placed[at] = lifetime;
        end = u64_max(end, lifetime->offset + lifetime->bytes);
    }
    return end;
}

/* Try several orders and keep the first of the best. */
static enum tn_status place_lifetimes(struct planner *planner, struct plan *plan)
{
    static int (*const orders[])(const void *, const void *) = {by_size, by_length, by_time};
    enum { ORDERS = sizeof orders / sizeof orders[0] };
    const struct lifetime **placed = calloc((size_t)planner->lifetime_count + 1, sizeof(void *));
    uint32_t best = 0;
    if (placed == NULL) { return TN_ENOMEM; }
    plan->arena_bytes = UINT64_MAX;
    for (uint32_t i = 0; i <= ORDERS; i++) {
        /* The last round repeats the best order. */
        qsort(planner->lifetimes, planner->lifetime_count, sizeof *planner->lifetimes,
              orders[i == ORDERS ? best : i]);
        uint64_t bytes = place_all(planner->lifetimes, planner->lifetime_count, placed);
        if (bytes < plan->arena_bytes) {
            plan->arena_bytes = bytes;
            best = i;
        }
    }
    free(placed);
    return TN_OK;
}

static void write_places(const struct planner *planner, struct plan *plan)
{
    for (uint32_t i = 0; i < planner->lifetime_count; i++) {
        const struct lifetime *lifetime = &planner->lifetimes[i];
        if (lifetime->root >= planner->values) {
            plan->workspaces[lifetime->root - planner->values] = lifetime->offset;
        } else {
            plan->places[lifetime->root] = (struct place){SPACE_ARENA, lifetime->offset};
        }
    }
    for (uint32_t i = 0; i < planner->values; i++) {
        if (planner->root[i] == NEVER) { continue; }
        const struct place *fixed = &planner->request->fixed[planner->root[i]];
        plan->places[i] = fixed->space != SPACE_NONE ? *fixed : plan->places[planner->root[i]];
    }
}

static bool planner_init(struct planner *planner, const struct plan_request *request)
{
    uint32_t values = request->graph->count * OP_OUTPUTS_MAX;
    *planner = (struct planner){.request = request, .values = values};
    planner->root = calloc((size_t)values + 1, sizeof *planner->root);
    planner->last_read = calloc((size_t)values + 1, sizeof *planner->last_read);
    planner->last = calloc((size_t)values + 1, sizeof *planner->last);
    planner->first = calloc((size_t)values + 1, sizeof *planner->first);
    planner->is_fixed = calloc((size_t)values + 1, sizeof *planner->is_fixed);
    planner->lifetimes = calloc((size_t)values + request->count + 1, sizeof *planner->lifetimes);
    return planner->root != NULL && planner->last_read != NULL && planner->last != NULL &&
           planner->first != NULL && planner->is_fixed != NULL && planner->lifetimes != NULL;
}

static void planner_free(struct planner *planner)
{
    free(planner->root);
    free(planner->last_read);
    free(planner->last);
    free(planner->first);
    free(planner->is_fixed);
    free(planner->lifetimes);
}

enum tn_status plan_create(const struct plan_request *request, struct plan *out,
                           struct error *error)
{
    assert(request->order != NULL && request->workspace != NULL);
    assert(request->fixed != NULL && request->kept != NULL);
    struct planner planner;
    enum tn_status status = planner_init(&planner, request) ? TN_OK : TN_ENOMEM;
    *out = (struct plan){
        .places = calloc((size_t)planner.values + 1, sizeof *out->places),
        .workspaces = calloc((size_t)request->count + 1, sizeof *out->workspaces),
    };
    if (out->places == NULL || out->workspaces == NULL) { status = TN_ENOMEM; }
    if (status == TN_OK) {
        find_last_readers(&planner);
        find_roots(&planner);
        collect_lifetimes(&planner, out);
        status = find_lower_bound(&planner, out);
    }
    if (status == TN_OK) { status = place_lifetimes(&planner, out); }
    if (status == TN_OK) { write_places(&planner, out); }
    planner_free(&planner);
    if (status == TN_OK) { return TN_OK; }
    plan_destroy(out);
    return error_set(error, status, "out of memory: make the model smaller");
}

void plan_destroy(struct plan *plan)
{
    free(plan->places);
    free(plan->workspaces);
    *plan = (struct plan){0};
}
