/* graph/plan_check.c: plan_check(): a plan executed with owners in place of data. */
#include <inttypes.h>
#include <stdlib.h>

#include "graph/plan.h"

#define WORKSPACE UINT32_MAX /* The owner of lines that a kernel uses for itself. */

struct checker {
    const struct plan_request *request;
    const struct plan *plan;
    uint32_t *owner;   /* By line of the arena: the value written there last, 0 for none. */
    uint32_t *content; /* By value: the value whose bytes it has: of a view, its input's. */
    uint64_t lines;
    struct error *error;
};

static enum tn_status violated(const struct checker *checker, uint32_t value, const char *what)
{
    const struct node *node = &checker->request->graph->nodes[value / OP_OUTPUTS_MAX];
    return error_set(checker->error, TN_EINTERNAL, "memory plan: output %u of %s %u in '%s' %s",
                     value % OP_OUTPUTS_MAX, node->op->name, value / OP_OUTPUTS_MAX, node->scope,
                     what);
}

/* The lines of a value of the arena. False: they are not inside it. */
static bool lines_of(const struct checker *checker, uint32_t value, uint64_t *first,
                     uint64_t *count)
{
    const struct place *place = &checker->plan->places[value];
    *first = place->offset / PLAN_LINE;
    *count = plan_bytes(checker->request->graph, (tn_tensor){value + 1}, checker->request->wide) /
             PLAN_LINE;
    return place->offset % PLAN_LINE == 0 && *first + *count <= checker->lines;
}

static enum tn_status check_read(const struct checker *checker, uint32_t value)
{
    uint64_t first = 0, count = 0;
    enum space space = checker->plan->places[value].space;
    if (space == SPACE_NONE) { return violated(checker, value, "is read but has no place"); }
    if (space != SPACE_ARENA) { return TN_OK; }
    if (!lines_of(checker, value, &first, &count)) {
        return violated(checker, value, "is outside the arena");
    }
    for (uint64_t i = first; i < first + count; i++) {
        if (checker->owner[i] != checker->content[value] + 1) {
            return violated(checker, value, "is overwritten before it is read");
        }
    }
    return TN_OK;
}

static bool overlap(const struct checker *checker, uint32_t a, uint32_t b)
{
    uint64_t first_a = 0, count_a = 0, first_b = 0, count_b = 0;
    const struct place *places = checker->plan->places;
    if (places[a].space != SPACE_ARENA || places[b].space != SPACE_ARENA) { return false; }
    return lines_of(checker, a, &first_a, &count_a) && lines_of(checker, b, &first_b, &count_b) &&
           first_a < first_b + count_b && first_b < first_a + count_a;
}

/* Outputs may not overlap inputs, except where the operation allows it. */
static enum tn_status check_overlaps(const struct checker *checker, uint32_t number)
{
    const struct node *node = &checker->request->graph->nodes[number];
    for (uint32_t o = 0; o < node->op->outputs; o++) {
        uint32_t out = number * OP_OUTPUTS_MAX + o;
        for (uint32_t k = 0; k < node->input_count; k++) {
            uint32_t in = node->inputs[k].v - 1;
            bool allowed =
                o == 0 && (node->op->traits.inplace >> k & 1) != 0 &&
                shape_equal(shape_of(checker->request->graph, node->inputs[k]), &node->shapes[0]) &&
                checker->plan->places[in].offset == checker->plan->places[out].offset;
            if (!allowed && overlap(checker, in, out)) {
                return violated(checker, out, "overlaps an input of its operation");
            }
        }
        for (uint32_t other = 0; other < o; other++) {
            if (overlap(checker, number * OP_OUTPUTS_MAX + other, out)) {
                return violated(checker, out, "overlaps another output");
            }
        }
    }
    return TN_OK;
}

static enum tn_status write_output(const struct checker *checker, uint32_t value)
{
    uint64_t first = 0, count = 0;
    checker->content[value] = value;
    if (checker->plan->places[value].space != SPACE_ARENA) { return TN_OK; }
    if (!lines_of(checker, value, &first, &count)) {
        return violated(checker, value, "is outside the arena");
    }
    for (uint64_t i = first; i < first + count; i++) { checker->owner[i] = value + 1; }
    return TN_OK;
}

static enum tn_status workspace_violated(const struct checker *checker, uint32_t time)
{
    return violated(checker, checker->request->order[time] * OP_OUTPUTS_MAX,
                    "has a workspace that overlaps a value, or is outside the arena");
}

/* The kernel may write its workspace before it reads its inputs. */
static enum tn_status write_workspace(const struct checker *checker, uint32_t time)
{
    uint64_t first = checker->plan->workspaces[time] / PLAN_LINE;
    uint64_t count = checker->request->workspace[time] / PLAN_LINE;
    if (first + count > checker->lines) { return workspace_violated(checker, time); }
    for (uint64_t i = first; i < first + count; i++) { checker->owner[i] = WORKSPACE; }
    return TN_OK;
}

/* The kernel may read its workspace after it has written its outputs. */
static enum tn_status read_workspace(const struct checker *checker, uint32_t time)
{
    uint64_t first = checker->plan->workspaces[time] / PLAN_LINE;
    uint64_t count = checker->request->workspace[time] / PLAN_LINE;
    for (uint64_t i = first; i < first + count; i++) {
        if (checker->owner[i] != WORKSPACE) { return workspace_violated(checker, time); }
    }
    return TN_OK;
}

static enum tn_status execute(const struct checker *checker, uint32_t time)
{
    uint32_t number = checker->request->order[time];
    const struct node *node = &checker->request->graph->nodes[number];
    enum tn_status status = write_workspace(checker, time);
    for (uint32_t k = 0; k < node->input_count && status == TN_OK; k++) {
        status = check_read(checker, node->inputs[k].v - 1);
    }
    if (status == TN_OK && node->op->traits.view) {
        uint32_t in = node->inputs[0].v - 1, out = number * OP_OUTPUTS_MAX;
        const struct place *places = checker->plan->places;
        bool same =
            places[in].space == places[out].space && places[in].offset == places[out].offset;
        checker->content[out] = checker->content[in];
        return same ? TN_OK : violated(checker, out, "is a view at another place than its input");
    }
    if (status == TN_OK) { status = check_overlaps(checker, number); }
    for (uint32_t o = 0; o < node->op->outputs && status == TN_OK; o++) {
        status = write_output(checker, number * OP_OUTPUTS_MAX + o);
    }
    return status == TN_OK ? read_workspace(checker, time) : status;
}

/* Check that values with a fixed place have it. */
static enum tn_status check_fixed(const struct checker *checker)
{
    const struct tn_graph *graph = checker->request->graph;
    for (uint32_t t = 0; t < checker->request->count; t++) {
        const struct node *node = &graph->nodes[checker->request->order[t]];
        for (uint32_t o = 0; o < node->op->outputs; o++) {
            uint32_t value = checker->request->order[t] * OP_OUTPUTS_MAX + o;
            const struct place *fixed = &checker->request->fixed[value];
            const struct place *place = &checker->plan->places[value];
            if (fixed->space != SPACE_NONE && !node->op->traits.view &&
                (place->space != fixed->space || place->offset != fixed->offset)) {
                return violated(checker, value, "is not at its fixed place");
            }
        }
    }
    return TN_OK;
}

enum tn_status plan_check(const struct plan_request *request, const struct plan *plan,
                          struct error *error)
{
    struct checker checker = {
        .request = request,
        .plan = plan,
        .lines = plan->arena_bytes / PLAN_LINE,
        .error = error,
    };
    enum tn_status status = TN_OK;
    checker.owner = calloc((size_t)checker.lines + 1, sizeof *checker.owner);
    checker.content =
        calloc((size_t)request->graph->count * OP_OUTPUTS_MAX + 1, sizeof *checker.content);
    if (checker.owner == NULL || checker.content == NULL) {
        status = error_set(error, TN_ENOMEM, "out of memory: make the model smaller");
    }
    for (uint32_t t = 0; t < request->count && status == TN_OK; t++) {
        status = execute(&checker, t);
    }
    for (uint32_t t = 0; t < request->count && status == TN_OK; t++) {
        uint32_t value = request->order[t] * OP_OUTPUTS_MAX;
        for (uint32_t o = 0; o < request->graph->nodes[request->order[t]].op->outputs; o++) {
            if (status == TN_OK && request->kept[value + o]) {
                status = check_read(&checker, value + o);
            }
        }
    }
    if (status == TN_OK) { status = check_fixed(&checker); }
    free(checker.owner);
    free(checker.content);
    return status;
}
