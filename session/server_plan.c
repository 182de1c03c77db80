#include "session/server_plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/minmax.h"
#include "graph/core/node.h"
#include "graph/encoding.h"
#include "graph/ops/ops.h"
#include "graph/passes/partition.h"
#include "session/message.h"

enum { NUMBER = sizeof(uint32_t), LONG_NUMBER = sizeof(uint64_t), VALUE_BITS_MAX = 62 };

_Static_assert(SERVER_PLAN_CLIENT == PARTITION_CALLER, "numbers of servers are tasks");

uint64_t server_plan_value_bytes(enum tn_type type, const struct tn_shape *shape, uint32_t examples)
{
    const uint64_t elements = (uint64_t)shape_elements(shape); /* At most 2^40. */
    const uint64_t factor = shape_has_batch(shape) ? examples : 1;
    const uint64_t bytes = elements * type_size(type, false);
    return bytes > (UINT64_C(1) << VALUE_BITS_MAX) / factor ? UINT64_MAX : bytes * factor;
}

/* ------------------------------------------------------------------------- writing */

static bool touches(const struct partition_edge *edge, uint32_t server)
{
    return edge->from == server || edge->to == server;
}

static void put_edges(struct byte_writer *writer, const struct partition *partition,
                      uint32_t server, uint32_t examples)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < partition->edge_count; i++) {
        count += touches(&partition->edges[i], server);
    }
    bytes_put_number(writer, count, NUMBER);
    for (uint32_t i = 0; i < partition->edge_count; i++) {
        const struct partition_edge *edge = &partition->edges[i];
        if (!touches(edge, server)) { continue; }
        const struct tn_shape shape = shape_with_batch(edge->shape, examples);
        bytes_put_number(writer, i, NUMBER);
        bytes_put_number(writer, edge->from, NUMBER);
        bytes_put_number(writer, edge->to, NUMBER);
        bytes_put_number(writer, edge->type, 1);
        bytes_put_number(writer, shape.rank, 1);
        for (uint32_t d = 0; d < shape.rank; d++) {
            bytes_put_number(writer, (uint64_t)shape.dims[d], LONG_NUMBER);
        }
    }
}

static enum tn_status put_parts(struct byte_writer *writer, const struct partition *partition,
                                uint32_t server, struct error *error)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < partition->part_count; i++) {
        count += partition->parts[i].task == server;
    }
    bytes_put_number(writer, count, NUMBER);
    for (uint32_t i = 0; i < partition->part_count; i++) {
        uint8_t *bytes;
        size_t size;
        if (partition->parts[i].task != server) { continue; }
        enum tn_status status = graph_encode(partition->parts[i].graph, &bytes, &size, error);
        if (status != TN_OK) { return status; }
        bytes_put_number(writer, size, LONG_NUMBER);
        bytes_put(writer, bytes, size);
        free(bytes);
    }
    return TN_OK;
}

enum tn_status server_plan_encode(const struct partition *partition, uint32_t server,
                                  uint32_t examples, const struct server_plan_variable *variables,
                                  uint32_t variable_count, uint8_t **out, size_t *size,
                                  struct error *error)
{
    struct byte_writer writer = {.bytes = NULL};
    assert(examples >= 1 && examples <= SESSION_EXAMPLES_MAX);
    *out = NULL;
    bytes_put_number(&writer, examples, NUMBER);
    put_edges(&writer, partition, server, examples);
    bytes_put_number(&writer, variable_count, NUMBER);
    for (uint32_t i = 0; i < variable_count; i++) {
        bytes_put_text(&writer, variables[i].name);
        bytes_put_number(&writer, variables[i].offset, LONG_NUMBER);
        bytes_put_number(&writer, variables[i].count, LONG_NUMBER);
    }
    enum tn_status status = put_parts(&writer, partition, server, error);
    if (status == TN_OK && writer.failed) {
        status = error_set(error, TN_ENOMEM, "out of memory for a plan");
    }
    if (status == TN_OK) {
        *out = writer.bytes;
        *size = writer.size;
    } else {
        free(writer.bytes);
    }
    return status;
}

/* ------------------------------------------------------------------------- reading */

struct decoding {
    struct byte_reader reader;
    uint32_t server, servers;
    uint64_t value_max;
    struct server_plan *plan;
};

static bool is_place(const struct decoding *decoding, uint32_t place)
{
    return place == SERVER_PLAN_CLIENT || place < decoding->servers;
}

static const char *edge_fault(const struct decoding *decoding, const struct server_plan_edge *edge,
                              const struct server_plan_edge *before)
{
    const bool is_ours = edge->from == decoding->server || edge->to == decoding->server;
    if (before != NULL && edge->number <= before->number) { return "its number is not in order"; }
    if (!is_place(decoding, edge->from) || !is_place(decoding, edge->to) || !is_ours) {
        return "it does not belong to this server";
    }
    if (edge->type < TN_FLOAT32) { return "its type is unknown"; }
    if (!shape_is_valid(&edge->shape) || shape_has_batch(&edge->shape)) {
        return "its shape is not valid";
    }
    return NULL;
}

static void take_edge(struct byte_reader *reader, struct server_plan_edge *edge)
{
    edge->number = (uint32_t)bytes_take_number(reader, NUMBER);
    edge->from = (uint32_t)bytes_take_number(reader, NUMBER);
    edge->to = (uint32_t)bytes_take_number(reader, NUMBER);
    edge->type =
        (enum tn_type)bytes_take_count(reader, 1, TN_UINT8, "the type of an edge is wrong");
    edge->shape.rank =
        (uint32_t)bytes_take_count(reader, 1, TN_RANK_MAX, "the rank of an edge is too large");
    for (uint32_t d = 0; d < edge->shape.rank; d++) {
        edge->shape.dims[d] = (int64_t)bytes_take_number(reader, LONG_NUMBER);
    }
}

static enum tn_status too_large(uint64_t bytes, uint64_t most, struct error *error)
{
    return error_set(error, TN_ENOMEM,
                     "a value of %" PRIu64 " bytes is larger than the %" PRIu64
                     " bytes that the server has left: use fewer examples, or raise its --memory",
                     bytes, most);
}

static enum tn_status take_edges(struct decoding *decoding, struct error *error)
{
    struct byte_reader *reader = &decoding->reader;
    struct server_plan *plan = decoding->plan;
    const uint32_t count = (uint32_t)bytes_take_count(reader, NUMBER, SERVER_PLAN_EDGES_MAX,
                                                      "there are too many edges");
    plan->edges = calloc((size_t)count + 1, sizeof *plan->edges);
    if (plan->edges == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a plan"); }
    for (uint32_t i = 0; i < count; i++) {
        struct server_plan_edge *edge = &plan->edges[i];
        take_edge(reader, edge);
        if (reader->fault != NULL) { return TN_OK; } /* The caller reports it. */
        const char *fault = edge_fault(decoding, edge, i > 0 ? edge - 1 : NULL);
        if (fault != NULL) {
            return error_set(error, TN_EINVAL, "edge %" PRIu32 " of a plan: %s", edge->number,
                             fault);
        }
        edge->bytes = server_plan_value_bytes(edge->type, &edge->shape, 1);
        if (edge->bytes > decoding->value_max) {
            return too_large(edge->bytes, decoding->value_max, error);
        }
        plan->edge_count = i + 1;
    }
    return TN_OK;
}

static enum tn_status take_variables(struct decoding *decoding, struct error *error)
{
    struct byte_reader *reader = &decoding->reader;
    struct server_plan *plan = decoding->plan;
    const uint32_t count = (uint32_t)bytes_take_count(reader, NUMBER, TN_VARIABLES_MAX,
                                                      "there are too many variables");
    plan->variables = calloc((size_t)count + 1, sizeof *plan->variables);
    if (plan->variables == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a plan"); }
    for (uint32_t i = 0; i < count && reader->fault == NULL; i++) {
        struct server_plan_variable *variable = &plan->variables[i];
        bytes_take_text(reader, variable->name, sizeof variable->name);
        variable->offset = bytes_take_number(reader, LONG_NUMBER);
        variable->count = bytes_take_number(reader, LONG_NUMBER);
        plan->variable_count = i + 1;
    }
    return TN_OK;
}

/* Whether all values of a graph are within bounds, also the constants that compiling computes. */
static enum tn_status check_sizes(const struct decoding *decoding, const struct tn_graph *graph,
                                  struct error *error)
{
    uint64_t constants = 0;
    bool *is_constant = calloc((size_t)graph->count + 1, sizeof *is_constant);
    if (is_constant == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a plan"); }
    enum tn_status status = TN_OK;
    for (uint32_t i = 0; i < graph->count && status == TN_OK; i++) {
        const struct node *node = &graph->nodes[i];
        is_constant[i] = node->op == &op_constant || node->input_count > 0;
        for (uint32_t k = 0; k < node->input_count; k++) {
            is_constant[i] = is_constant[i] && is_constant[tensor_node(node->inputs[k])];
        }
        for (uint32_t o = 0; o < node->op->outputs && status == TN_OK; o++) {
            const uint64_t bytes =
                server_plan_value_bytes(node->types[o], &node->shapes[o], decoding->plan->examples);
            if (is_constant[i] && bytes <= decoding->value_max) { constants += bytes; }
            const uint64_t most = u64_max(bytes, constants);
            if (most > decoding->value_max) {
                status = too_large(most, decoding->value_max, error);
            }
        }
    }
    free(is_constant);
    return status;
}

/* A graph, of `size` encoded bytes with its constants, and the copy that its program has. A node
 * takes a multiple of its encoded bytes. */
static uint64_t graph_memory_bytes(const struct tn_graph *graph, uint64_t size)
{
    return 2 * (size + (uint64_t)graph->count * sizeof(struct node));
}

static enum tn_status take_parts(struct decoding *decoding, struct error *error)
{
    struct byte_reader *reader = &decoding->reader;
    struct server_plan *plan = decoding->plan;
    const uint32_t count = (uint32_t)bytes_take_count(reader, NUMBER, SERVER_PLAN_PARTS_MAX,
                                                      "there are too many parts");
    plan->graphs = calloc((size_t)count + 1, sizeof *plan->graphs);
    if (plan->graphs == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a plan"); }
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t size = bytes_take_number(reader, LONG_NUMBER);
        const uint8_t *bytes = bytes_take(reader, size);
        if (reader->fault != NULL) { return TN_OK; }
        enum tn_status status = graph_decode(bytes, (size_t)size, &plan->graphs[i], error);
        if (status != TN_OK) { return status; }
        plan->part_count = i + 1;
        plan->bytes += graph_memory_bytes(plan->graphs[i], size);
        if (plan->bytes > decoding->value_max) {
            return error_set(error, TN_ENOMEM,
                             "the graph of a plan takes more than the %" PRIu64
                             " bytes that the server has left: raise its --memory",
                             decoding->value_max);
        }
        status = check_sizes(decoding, plan->graphs[i], error);
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

enum tn_status server_plan_decode(const uint8_t *bytes, size_t size, uint32_t server,
                                  uint32_t servers, uint64_t value_max, struct server_plan *out,
                                  struct error *error)
{
    assert(server < servers);
    struct decoding decoding = {
        .reader = {.bytes = bytes, .size = size},
        .server = server,
        .servers = servers,
        .value_max = value_max,
        .plan = out,
    };
    *out = (struct server_plan){.examples = 0};
    out->examples = (uint32_t)bytes_take_count(&decoding.reader, NUMBER, SESSION_EXAMPLES_MAX,
                                               "there are too many examples");
    enum tn_status status = take_edges(&decoding, error);
    if (status == TN_OK) { status = take_variables(&decoding, error); }
    if (status == TN_OK && out->examples == 0 && decoding.reader.fault == NULL) {
        decoding.reader.fault = "it has no examples";
    }
    if (status == TN_OK && decoding.reader.fault == NULL) { status = take_parts(&decoding, error); }
    const struct byte_reader *reader = &decoding.reader;
    const char *fault = reader->fault;
    if (fault == NULL && reader->at != reader->size) { fault = "bytes follow it"; }
    if (status != TN_OK || fault == NULL) { return status; }
    return error_set(error, TN_EINVAL, "message PLAN: %s", fault);
}

void server_plan_free(struct server_plan *plan)
{
    assert(plan != NULL);
    for (uint32_t i = 0; i < plan->part_count; i++) { tn_graph_destroy(plan->graphs[i]); }
    free(plan->graphs);
    free(plan->edges);
    free(plan->variables);
    *plan = (struct server_plan){.examples = 0};
}

const struct server_plan_edge *server_plan_find_edge(const struct server_plan *plan,
                                                     uint32_t number)
{
    uint32_t low = 0, high = plan->edge_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (plan->edges[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const bool found = low < plan->edge_count && plan->edges[low].number == number;
    return found ? &plan->edges[low] : NULL;
}
