#include "agent/observe/run_note.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/files.h"

enum { NOTE_MAX = 64 * 1024, NOTE_VERSION = 1, NOTE_PATH_MAX = 1024 };

static void join(char path[static NOTE_PATH_MAX], const char *dir, const char *name)
{
    snprintf(path, NOTE_PATH_MAX, "%.*s/%s", NOTE_PATH_MAX - 64, dir, name);
}

static void note_from_json(const json_t *root, struct run_note *note)
{
    assert(note->server_count == 0);
    const char *connect = json_string_value(json_object_get(root, "zookeeper"));
    const char *cluster = json_string_value(json_object_get(root, "cluster"));
    const json_t *servers = json_object_get(root, "servers");
    snprintf(note->connect, sizeof note->connect, "%s", connect != NULL ? connect : "");
    snprintf(note->cluster, sizeof note->cluster, "%s", cluster != NULL ? cluster : "");
    note->agent_pid = (uint64_t)json_integer_value(json_object_get(root, "agent_pid"));
    note->network = (uint64_t)json_integer_value(json_object_get(root, "network"));
    note->cluster_made_ms = (uint64_t)json_integer_value(json_object_get(root, "cluster_made_ms"));
    for (size_t i = 0; i < json_array_size(servers) && i < ENSEMBLE_SERVERS_MAX; i++) {
        const json_t *server = json_array_get(servers, i);
        const char *address = json_string_value(json_object_get(server, "address"));
        note->server_ids[i] = (uint32_t)json_integer_value(json_object_get(server, "id"));
        snprintf(note->servers[i], sizeof note->servers[i], "%s", address != NULL ? address : "");
        note->server_count++;
    }
}

enum tn_status run_note_read(const char *dir, struct run_note *out, struct error *error)
{
    assert(dir != NULL && out != NULL);
    char path[NOTE_PATH_MAX], *text = NULL;
    size_t size = 0;
    memset(out, 0, sizeof *out);
    join(path, dir, "run.json");
    enum tn_status status = files_read(path, NOTE_MAX, &text, &size, error);
    if (status == TN_ENOENT) {
        return error_set(
            error, TN_ENOENT,
            "%s is not the folder of a run: it %s; give the --dir of `tanist run` (default "
            "runs/NAME)",
            dir, access(dir, F_OK) == 0 ? "has no run.json" : "does not exist");
    }
    if (status != TN_OK) { return status; }
    json_t *root = json_loadb(text, size, 0, NULL);
    free(text);
    if (root == NULL || json_integer_value(json_object_get(root, "version")) != NOTE_VERSION) {
        status = error_set(error, TN_ECORRUPT, "%s was not written by this version of `tanist run`",
                           path);
    } else {
        note_from_json(root, out);
    }
    json_decref(root);
    if (status == TN_OK && !*out->connect) {
        status = error_set(error, TN_ECORRUPT, "%s does not name the ZooKeeper servers", path);
    }
    return status;
}

enum tn_status run_note_write(const char *dir, const struct run_note *note, struct error *error)
{
    char path[NOTE_PATH_MAX];
    assert(note->server_count <= ENSEMBLE_SERVERS_MAX);
    join(path, dir, "run.json");
    json_t *servers = json_array();
    for (size_t i = 0; i < note->server_count; i++) {
        json_array_append_new(servers, json_pack("{s:i, s:s}", "id", (int)note->server_ids[i],
                                                 "address", note->servers[i]));
    }
    json_t *root = json_pack("{s:i, s:s, s:s, s:I, s:I, s:o}", "version", NOTE_VERSION, "cluster",
                             note->cluster, "zookeeper", note->connect, "agent_pid",
                             (json_int_t)note->agent_pid, "cluster_made_ms",
                             (json_int_t)note->cluster_made_ms, "servers", servers);
    if (root != NULL && note->network != 0) {
        json_object_set_new(root, "network", json_integer((json_int_t)note->network));
    }
    char *text = root != NULL ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    if (text == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = files_write_atomic(path, text, strlen(text), error);
    free(text);
    return status;
}

uint64_t run_server_pid(const char *dir, uint32_t id)
{
    assert(dir != NULL);
    char path[NOTE_PATH_MAX];
    uint64_t pid = 0;
    snprintf(path, sizeof path, "%s/zookeeper/%u/pid", dir, id);
    FILE *file = fopen(path, "re");
    if (file == NULL) { return 0; }
    if (fscanf(file, "%" SCNu64, &pid) != 1 || pid > INT_MAX) { pid = 0; }
    fclose(file);
    return pid > 0 && kill((pid_t)pid, 0) == 0 ? pid : 0;
}
