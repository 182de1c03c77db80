#include "cli/run/summaries_graph.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "graph/core/node.h"
#include "graph/core/op.h"
#include "model/job_graph.h"

enum { NAME_BYTES = TN_NAME_MAX + 48, DEVICE_BYTES = 48 };

/* The numbers of fields in TensorFlow's graph.proto and versions.proto. */
enum { GRAPH_NODE = 1, GRAPH_VERSIONS = 4, VERSIONS_PRODUCER = 1, PRODUCER = 22 };
enum { NODE_NAME = 1, NODE_OP = 2, NODE_INPUT = 3, NODE_DEVICE = 4 };

/* Variables have their names; others the scope, the operation and their number. */
static void name_of(const struct tn_graph *graph, uint32_t number, char text[static NAME_BYTES])
{
    const struct node *node = &graph->nodes[number];
    assert(number < graph->count);
    if (node->attributes.variable != NULL && node->attributes.name != NULL) {
        snprintf(text, NAME_BYTES, "%s", node->attributes.name);
        return;
    }
    snprintf(text, NAME_BYTES, "%s%s%s_%" PRIu32, node->scope, node->scope[0] != '\0' ? "/" : "",
             node->op->name, number);
}

/* The index of the ps that owns the first parameter of a variable. */
static uint32_t owner_of(const struct job *job, const struct variable_table *variables,
                         const char *name)
{
    for (uint32_t v = 0; v < variables->count; v++) {
        if (strcmp(variables->variables[v].name, name) != 0) { continue; }
        for (uint32_t ps = 0; ps < job->cluster.ps; ps++) {
            const struct placement place = variable_table_shard(variables, job->cluster.ps, ps);
            if (variables->variables[v].offset < place.first + place.count) { return ps; }
        }
    }
    return 0;
}

static void device_of(const struct job *job, const struct variable_table *variables,
                      const struct node *node, char text[static DEVICE_BYTES])
{
    if (node->attributes.variable != NULL && node->attributes.name != NULL) {
        snprintf(text, DEVICE_BYTES, "/job:ps/task:%" PRIu32,
                 owner_of(job, variables, node->attributes.name));
    } else {
        snprintf(text, DEVICE_BYTES, "/job:worker");
    }
}

static struct proto encode_node(const struct job *job, const struct variable_table *variables,
                                const struct tn_graph *graph, uint32_t number)
{
    char name[NAME_BYTES], device[DEVICE_BYTES];
    struct proto out = {0};
    const struct node *node = &graph->nodes[number];
    name_of(graph, number, name);
    proto_text(&out, NODE_NAME, name);
    proto_text(&out, NODE_OP, node->op->name);
    for (uint32_t i = 0; i < node->input_count; i++) {
        name_of(graph, tensor_node(node->inputs[i]), name);
        proto_text(&out, NODE_INPUT, name);
    }
    device_of(job, variables, node, device);
    proto_text(&out, NODE_DEVICE, device);
    return out;
}

struct proto summaries_graph_of(const struct job *job, const struct variable_table *variables)
{
    struct proto out = {0}, versions = {0};
    struct tn_graph *graph = NULL;
    struct error ignored;
    if (job_graph_create(job, &graph, &ignored) != TN_OK) { return out; }
    for (uint32_t number = 0; number < graph->count; number++) {
        struct proto node = encode_node(job, variables, graph, number);
        proto_message(&out, GRAPH_NODE, &node);
    }
    proto_uint(&versions, VERSIONS_PRODUCER, PRODUCER);
    proto_message(&out, GRAPH_VERSIONS, &versions);
    tn_graph_destroy(graph);
    return out;
}
