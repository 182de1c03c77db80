/* graph/core/scope.c: scopes, paths and devices while a graph is built. */
#include <stdio.h>
#include <string.h>

#include "graph/core/build.h"
#include "graph/core/device.h"

static bool is_name(const char *name)
{
    static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_-.";
    return name != NULL && name[0] != '\0' && name[strspn(name, characters)] == '\0';
}

/* Write the path of `name` to `out`. False: it is the graph's error. */
static bool join(struct tn_graph *graph, const char *name, char out[static GRAPH_PATH_MAX])
{
    if (!is_name(name)) {
        graph_fail(graph, TN_EINVAL,
                   "name '%s' is not valid: use letters, digits, '_', '-' and '.', at least one",
                   name == NULL ? "(null)" : name);
        return false;
    }
    int length = snprintf(out, GRAPH_PATH_MAX, "%s%s%s", graph->scope,
                          graph->scope[0] == '\0' ? "" : "/", name);
    if (length >= 0 && length < GRAPH_PATH_MAX) { return true; }
    graph_fail(graph, TN_EINVAL, "name '%s' makes a path of more than %d characters: shorten it",
               name, GRAPH_PATH_MAX - 1);
    return false;
}

const char *graph_path(struct tn_graph *graph, const char *name)
{
    char path[GRAPH_PATH_MAX];
    if (graph_failed(graph) || !join(graph, name, path)) { return NULL; }
    return graph_keep_text(graph, path);
}

void tn_scope_begin(struct tn_graph *graph, const char *name)
{
    assert(graph != NULL);
    char path[GRAPH_PATH_MAX];
    if (graph_failed(graph)) { return; }
    if (graph->scope_depth == TN_SCOPES_MAX) {
        graph_fail(graph, TN_EINVAL, "scope '%s' is nested more than %d deep: call tn_scope_end()",
                   name, TN_SCOPES_MAX);
        return;
    }
    if (!join(graph, name, path)) { return; }
    graph->scope_lengths[graph->scope_depth++] = (uint32_t)strlen(graph->scope);
    memcpy(graph->scope, path, sizeof path);
}

void tn_scope_end(struct tn_graph *graph)
{
    assert(graph != NULL);
    if (graph_failed(graph)) { return; }
    if (graph->scope_depth == 0) {
        graph_fail(graph, TN_EINVAL, "tn_scope_end() without tn_scope_begin(): remove it");
        return;
    }
    graph->scope[graph->scope_lengths[--graph->scope_depth]] = '\0';
}

void tn_device_begin(struct tn_graph *graph, const char *device)
{
    assert(graph != NULL && device != NULL);
    if (graph_failed(graph)) { return; }
    if (graph->device_depth + 1 == TN_SCOPES_MAX) {
        graph_fail(graph, TN_EINVAL,
                   "device '%s' is nested more than %d deep: call tn_device_end()", device,
                   TN_SCOPES_MAX - 1);
        return;
    }
    struct error error;
    struct device merged = device_none();
    char text[DEVICE_TEXT_MAX];
    enum tn_status status = device_parse(graph->devices[graph->device_depth], &merged, &error);
    assert(status == TN_OK);
    status = device_parse(device, &merged, &error);
    if (status != TN_OK) {
        graph_fail(graph, status, "%s", error.text);
        return;
    }
    device_format(&merged, text);
    const char *kept = graph_keep_text(graph, text);
    if (kept != NULL) { graph->devices[++graph->device_depth] = kept; }
}

void tn_device_end(struct tn_graph *graph)
{
    assert(graph != NULL);
    if (graph_failed(graph)) { return; }
    if (graph->device_depth == 0) {
        graph_fail(graph, TN_EINVAL, "tn_device_end() without tn_device_begin(): remove it");
        return;
    }
    graph->device_depth--;
}
