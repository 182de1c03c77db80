#include "agent/ensemble/networks.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/files.h"

enum { FILE_MAX = 256 * 1024, FILE_VERSION = 1 };

/* Copies the text of a field; false: the field is missing, is not a text, or does not fit. */
static bool copy_text(const json_t *object, const char *field, char *out, size_t size)
{
    assert(size > 0);
    const char *text = json_string_value(json_object_get(object, field));
    return text != NULL && *text && snprintf(out, size, "%s", text) < (int)size;
}

static enum tn_status read_network(struct network *network, const char *child, const json_t *object,
                                   struct error *error)
{
    struct in_addr address;
    assert(network != NULL && child != NULL);
    if (!*child || snprintf(network->child, sizeof network->child, "%s", child) >=
                       (int)sizeof network->child) {
        return error_set(error, TN_EINVAL, "networks: \"%s\" is not the name of a child", child);
    }
    if (!copy_text(object, "namespace", network->path, sizeof network->path)) {
        return error_set(
            error, TN_EINVAL,
            "networks: %s: namespace: give the path of a network namespace, at most %d "
            "bytes",
            child, NETWORK_PATH_MAX - 1);
    }
    if (access(network->path, R_OK) != 0) {
        return error_set(error, TN_EINVAL, "networks: %s: namespace: %s: %s", child, network->path,
                         strerror(errno));
    }
    if (!copy_text(object, "address", network->address, sizeof network->address) ||
        inet_pton(AF_INET, network->address, &address) != 1) {
        return error_set(error, TN_EINVAL, "networks: %s: address: give an IPv4 address", child);
    }
    return TN_OK;
}

static enum tn_status read_places(struct networks *networks, json_t *root, struct error *error)
{
    const char *name;
    json_t *object, *children = json_object_get(root, "networks");
    assert(networks->count == 0);
    if (json_integer_value(json_object_get(root, "version")) != FILE_VERSION) {
        return error_set(error, TN_EINVAL, "version: give %d", FILE_VERSION);
    }
    if (!json_is_object(children) || json_object_size(children) == 0) {
        return error_set(error, TN_EINVAL,
                         "networks: give an object with a network for each child");
    }
    json_object_foreach(children, name, object)
    {
        if (networks->count == NETWORKS_MAX) {
            return error_set(error, TN_EINVAL, "networks: at most %d", NETWORKS_MAX);
        }
        enum tn_status status =
            read_network(&networks->list[networks->count++], name, object, error);
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

enum tn_status networks_read(struct networks *networks, const char *path, struct error *error)
{
    assert(path != NULL);
    char *text = NULL;
    size_t size = 0;
    json_error_t wrong;
    memset(networks, 0, sizeof *networks);
    enum tn_status status = files_read(path, FILE_MAX, &text, &size, error);
    if (status != TN_OK) { return status; }
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &wrong);
    free(text);
    status = root != NULL ? read_places(networks, root, error)
                          : error_set(error, TN_EINVAL, "line %d: %s", wrong.line, wrong.text);
    json_decref(root);
    return status == TN_OK ? TN_OK : error_context(error, "%s", path);
}

enum tn_status networks_find(const struct networks *networks, const char *child,
                             const struct network **out, struct error *error)
{
    assert(child != NULL && out != NULL);
    *out = NULL;
    if (networks == NULL || networks->count == 0) { return TN_OK; }
    for (uint32_t i = 0; i < networks->count; i++) {
        if (strcmp(networks->list[i].child, child) == 0) { *out = &networks->list[i]; }
    }
    if (*out != NULL) { return TN_OK; }
    return error_set(error, TN_EINVAL, "networks: no network is given for %s, a child of this run",
                     child);
}
