/* cli/model/session_restore.c: tn_session_restore(): values of a session from a run's
 * checkpoint. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model/saved_model.h"
#include "session/client.h"

static const struct variable *find(const struct variable_table *table, const char *name)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (strcmp(table->variables[i].name, name) == 0) { return &table->variables[i]; }
    }
    return NULL;
}

/* Read each variable of the session from its place in the model of the run. */
static enum tn_status collect(const struct saved_model *saved, const struct placed_graph *graph,
                              float *values, struct error *error)
{
    const float *trained = saved->values->data;
    for (uint32_t i = 0; i < graph->variable_count; i++) {
        const struct placed_variable *to = &graph->variables[i];
        const char *name = graph->graph->nodes[to->node].attributes.name;
        const struct variable *from = find(&saved->model->table, name);
        if (from == NULL) {
            return error_set(error, TN_EINVAL,
                             "variable '%s' is not in the model of the run: use the names of the "
                             "graph that was trained",
                             name);
        }
        if (from->count != to->count) {
            return error_set(error, TN_EINVAL,
                             "variable '%s' has %" PRIu64 " elements in the run, and %" PRIu64
                             " in the session's graph",
                             name, from->count, to->count);
        }
        memcpy(values + to->offset, trained + from->offset, (size_t)to->count * sizeof *values);
    }
    return TN_OK;
}

enum tn_status tn_session_restore(struct tn_session *session, const char *dir,
                                  const char *checkpoint, struct tn_error *error)
{
    assert(session != NULL && dir != NULL);
    struct error text = {.status = TN_OK};
    struct saved_model *saved = calloc(1, sizeof *saved);
    float *values = calloc((size_t)tn_session_parameters(session) + 1, sizeof *values);
    enum tn_status status = TN_ENOMEM;
    if (saved == NULL || values == NULL) {
        error_set(&text, status, "out of memory for a checkpoint");
    } else {
        status = saved_model_open(saved, dir, checkpoint, &text);
        if (status == TN_OK) { status = collect(saved, session_graph(session), values, &text); }
        if (status == TN_OK) { tn_session_set_values(session, values); }
        saved_model_close(saved);
    }
    free(values);
    free(saved);
    return status == TN_OK ? TN_OK : error_export(&text, error);
}
