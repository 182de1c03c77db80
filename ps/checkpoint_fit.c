#include "ps/checkpoint_fit.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/job/variable_order.h"
#include "kernels/optimizer.h"

/* Whether the order of the variables is known. */
static bool find_order(const struct checkpoint_client *client, const struct manifest *manifest,
                       struct variable_move *moves, uint32_t *count)
{
    struct error ignored;
    *count = 0;
    if (manifest->variables_hash == client->variables_hash) { return true; }
    return client->variables != NULL && variable_order_of(manifest, client->job, client->variables,
                                                          moves, count, &ignored) == TN_OK;
}

bool checkpoint_fits(struct checkpoint_client *client, const struct manifest *manifest)
{
    const char *optimizer = optimizer_name(client->shard->config.optimizer.kind);
    const char *why = NULL;
    const bool same_graph = manifest->graph_hash == 0 || client->graph_hash == 0 ||
                            manifest->graph_hash == client->graph_hash;
    if (!same_graph) {
        log_error("checkpoint %" PRIu64 " cannot be loaded: its model is a graph with the hash "
                  "%016" PRIx64 ", that of the job has %016" PRIx64,
                  manifest->id, manifest->graph_hash, client->graph_hash);
        return false;
    }
    if (manifest->parameter_count != client->parameters) {
        why = "it holds another model";
    } else if (!find_order(client, manifest, client->moves, &client->move_count)) {
        why = "it holds other variables or initial values, or an order that no placement gives";
    } else if (manifest->state_arrays != client->shard->arrays ||
               strcmp(manifest->optimizer, optimizer) != 0) {
        why = "it holds the state of another optimizer";
    }
    if (why == NULL) { return true; }
    log_error("checkpoint %" PRIu64 " cannot be loaded: %s: it has %" PRIu64
              " parameters and the state of %s, the job has %" PRIu64 " and %s",
              manifest->id, why, manifest->parameter_count, manifest->optimizer, client->parameters,
              optimizer);
    return false;
}

bool checkpoint_is_ours(const struct checkpoint_client *client, const struct manifest *manifest)
{
    uint32_t count;
    assert(client->manifests != NULL);
    return manifest->parameter_count == client->parameters &&
           find_order(client, manifest, NULL, &count);
}
