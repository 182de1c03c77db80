#include "session/client_plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/core/build.h"
#include "graph/ops/ops.h"
#include "session/message.h"

static enum tn_status cut(const struct placed_graph *placed, const tn_tensor *values,
                          uint32_t count, struct partition *out, struct error *error)
{
    struct partition_result *results = calloc(count, sizeof *results);
    *out = (struct partition){.edges = NULL};
    if (results == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a plan"); }
    for (uint32_t i = 0; i < count; i++) {
        results[i] = (struct partition_result){.value = values[i], .to = PARTITION_CALLER};
    }
    enum tn_status status =
        pass_partition(placed->graph, placed->tasks, results, count, out, error);
    free(results);
    return status;
}

enum tn_status client_plan_create(const struct placed_graph *placed, const tn_tensor *results,
                                  uint32_t result_count, struct client_plan *out,
                                  struct error *error)
{
    assert(result_count >= 1);
    *out = (struct client_plan){.result_count = result_count};
    out->results = calloc(result_count, sizeof *out->results);
    if (out->results == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a plan"); }
    memcpy(out->results, results, result_count * sizeof *results);
    enum tn_status status = cut(placed, results, result_count, &out->partition, error);
    if (status != TN_OK) { return status; }
    for (uint32_t i = 0; i < out->partition.part_count; i++) {
        out->servers |= UINT64_C(1) << out->partition.parts[i].task;
    }
    out->arrived = calloc((size_t)out->partition.edge_count + 1, sizeof(struct buffer *));
    return out->arrived != NULL ? TN_OK : error_set(error, TN_ENOMEM, "out of memory for a plan");
}

void client_plan_forget_results(struct client_plan *plan)
{
    for (uint32_t i = 0; i < plan->partition.edge_count && plan->arrived != NULL; i++) {
        buffer_release(plan->arrived[i]);
        plan->arrived[i] = NULL;
    }
}

void client_plan_free(struct client_plan *plan)
{
    client_plan_forget_results(plan);
    partition_free(&plan->partition);
    free((void *)plan->arrived);
    free(plan->results);
    *plan = (struct client_plan){.number = 0};
}

bool client_plan_computes(const struct client_plan *plan, const tn_tensor *results,
                          uint32_t result_count)
{
    bool same = plan->result_count == result_count;
    for (uint32_t i = 0; i < result_count && same; i++) {
        same = plan->results[i].v == results[i].v;
    }
    return same;
}

uint32_t client_plan_result_edge(const struct client_plan *plan, uint32_t index)
{
    assert(index < plan->result_count);
    return partition_edge_to(&plan->partition, plan->results[index], PARTITION_CALLER);
}

/* ------------------------------------------------------------------------------ feeds */

static const struct node *find_field(const struct placed_graph *placed, const char *name)
{
    const tn_tensor field = graph_find(placed->graph, &op_placeholder, name);
    return field.v == 0 ? NULL : node_of(placed->graph, field);
}

static enum tn_status check_feed(const struct tn_feed *feed, const struct node *field,
                                 struct error *error)
{
    char has[SHAPE_TEXT_MAX], wants[SHAPE_TEXT_MAX];
    struct tn_shape shape = field->shapes[0];
    const struct tn_view *values = &feed->values;
    const bool counted = values->shape.rank == shape.rank && values->shape.dims[0] >= 1 &&
                         values->shape.dims[0] <= SESSION_EXAMPLES_MAX;
    if (counted) { shape.dims[0] = values->shape.dims[0]; }
    if (counted && values->type == field->types[0] && shape_equal(&values->shape, &shape)) {
        if (values->data != NULL) { return TN_OK; }
        return error_set(error, TN_EINVAL, "field '%s' is fed without data", feed->field);
    }
    return error_set(error, TN_EINVAL,
                     "field '%s' is fed as %s, but is %s in the graph: feed from 1 to %d examples",
                     feed->field, shape_format(values->type, &values->shape, has),
                     shape_format(field->types[0], &field->shapes[0], wants), SESSION_EXAMPLES_MAX);
}

static bool is_fed_again(const struct tn_feed *feeds, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(feeds[i].field, feeds[index].field) == 0) { return true; }
    }
    return false;
}

static enum tn_status check_all(const struct placed_graph *placed, const struct tn_feed *feeds,
                                uint32_t feed_count, struct error *error)
{
    for (uint32_t i = 0; i < feed_count; i++) {
        assert(feeds[i].field != NULL);
        const struct node *field = find_field(placed, feeds[i].field);
        if (field == NULL) {
            return error_set(error, TN_EINVAL,
                             "field '%s' is fed, but the graph has no such placeholder",
                             feeds[i].field);
        }
        if (is_fed_again(feeds, i)) {
            return error_set(error, TN_EINVAL, "field '%s' is fed twice: feed it once",
                             feeds[i].field);
        }
        enum tn_status status = check_feed(&feeds[i], field, error);
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

enum tn_status client_plan_check_feeds(const struct client_plan *plan,
                                       const struct placed_graph *placed,
                                       const struct tn_feed *feeds, uint32_t feed_count,
                                       uint32_t *examples, struct error *error)
{
    const char *first = NULL;
    *examples = 1;
    enum tn_status status = check_all(placed, feeds, feed_count, error);
    for (uint32_t e = 0; e < plan->partition.edge_count && status == TN_OK; e++) {
        const struct partition_edge *edge = &plan->partition.edges[e];
        uint32_t i = 0;
        if (edge->from != PARTITION_CALLER) { continue; }
        const char *name = node_of(placed->graph, edge->value)->attributes.name;
        while (i < feed_count && strcmp(feeds[i].field, name) != 0) { i++; }
        if (i == feed_count) {
            return error_set(error, TN_EINVAL, "the fetches need field '%s': feed it", name);
        }
        const uint32_t count = (uint32_t)feeds[i].values.shape.dims[0];
        if (first != NULL && count != *examples) {
            return error_set(error, TN_EINVAL,
                             "field '%s' has %" PRIu32 " examples, but field '%s' has %" PRIu32
                             ": feed equal numbers",
                             name, count, first, *examples);
        }
        first = name;
        *examples = count;
    }
    return status;
}

/* --------------------------------------------------------------------------- encoding */

/* All variables of a server are few bytes beside the graph, so each plan lists them all. */
static uint32_t list_variables(const struct placed_graph *placed, uint32_t server,
                               struct server_plan_variable *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < placed->variable_count; i++) {
        const struct placed_variable *variable = &placed->variables[i];
        if (variable->server != server) { continue; }
        const char *name = placed->graph->nodes[variable->node].attributes.name;
        memcpy(out[count].name, name, strlen(name) + 1);
        out[count].offset = variable->server_offset;
        out[count++].count = variable->count;
    }
    return count;
}

enum tn_status client_plan_encode(const struct client_plan *plan, const struct placed_graph *placed,
                                  uint32_t server, uint8_t **out, size_t *size, struct error *error)
{
    struct server_plan_variable *variables =
        calloc((size_t)placed->variable_count + 1, sizeof *variables);
    if (variables == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a plan"); }
    const uint32_t count = list_variables(placed, server, variables);
    enum tn_status status = server_plan_encode(&plan->partition, server, plan->examples, variables,
                                               count, out, size, error);
    free(variables);
    return status;
}
