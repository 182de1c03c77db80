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

static enum tn_status read_place(struct network *network, const char *place, const json_t *object,
                                 struct error *error)
{
    struct in_addr address;
    assert(network != NULL && place != NULL);
    if (!*place || snprintf(network->place, sizeof network->place, "%s", place) >=
                       (int)sizeof network->place) {
        return error_set(error, TN_EINVAL, "places: \"%s\" is not the name of a child", place);
    }
    if (!copy_text(object, "namespace", network->path, sizeof network->path)) {
        return error_set(error, TN_EINVAL,
                         "places: %s: namespace: give the path of a network namespace, at most %d "
                         "bytes",
                         place, NETWORK_PATH_MAX - 1);
    }
    if (access(network->path, R_OK) != 0) {
        return error_set(error, TN_EINVAL, "places: %s: namespace: %s: %s", place, network->path,
                         strerror(errno));
    }
    if (!copy_text(object, "address", network->address, sizeof network->address) ||
        inet_pton(AF_INET, network->address, &address) != 1) {
        return error_set(error, TN_EINVAL, "places: %s: address: give an IPv4 address", place);
    }
    return TN_OK;
}

static enum tn_status read_places(struct networks *networks, json_t *root, struct error *error)
{
    const char *name;
    json_t *object, *places = json_object_get(root, "places");
    assert(networks->count == 0);
    if (json_integer_value(json_object_get(root, "version")) != FILE_VERSION) {
        return error_set(error, TN_EINVAL, "version: give %d", FILE_VERSION);
    }
    if (!json_is_object(places) || json_object_size(places) == 0) {
        return error_set(error, TN_EINVAL, "places: give an object with a network for each child");
    }
    json_object_foreach(places, name, object)
    {
        if (networks->count == NETWORKS_MAX) {
            return error_set(error, TN_EINVAL, "places: at most %d", NETWORKS_MAX);
        }
        enum tn_status status = read_place(&networks->list[networks->count++], name, object, error);
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

enum tn_status networks_find(const struct networks *networks, const char *place,
                             const struct network **out, struct error *error)
{
    assert(place != NULL && out != NULL);
    *out = NULL;
    if (networks == NULL || networks->count == 0) { return TN_OK; }
    for (uint32_t i = 0; i < networks->count; i++) {
        if (strcmp(networks->list[i].place, place) == 0) { *out = &networks->list[i]; }
    }
    if (*out != NULL) { return TN_OK; }
    return error_set(error, TN_EINVAL, "places: no network is given for %s, a child of this run",
                     place);
}
