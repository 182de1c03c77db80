#include "cli/operate/zk_servers.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"

static enum tn_status check_data_dirs(const struct zk_servers *servers, size_t last,
                                      struct error *error)
{
    const struct zoo_server_files *list = servers->list;
    assert(last < ARGUMENTS_MAX);
    for (size_t i = 0; i < last; i++) {
        if (strcmp(list[i].cfg.data_dir, list[last].cfg.data_dir) != 0) { continue; }
        return error_set(error, TN_EINVAL,
                         "%s and %s have the same dataDir %s: give each server its own",
                         list[i].cfg_path, list[last].cfg_path, list[last].cfg.data_dir);
    }
    return TN_OK;
}

static enum tn_status read_files(const char *const *paths, size_t count, struct zk_servers *out,
                                 struct error *error)
{
    assert(count > 0);
    *out = (struct zk_servers){.list = calloc(count, sizeof *out->list), .count = count};
    if (out->list == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    for (size_t i = 0; i < count; i++) {
        enum tn_status status = zoo_server_read(paths[i], &out->list[i], error);
        if (status == TN_OK) { status = check_data_dirs(out, i, error); }
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

bool zk_servers_parse(struct options *options, int argc, char **argv, struct zk_servers *out,
                      int *code)
{
    struct error error = {0};
    assert(options->arguments_least >= 1);
    if (!options_parse(options, argc, argv, code)) { return false; }
    *code = TN_EXIT_OK;
    if (read_files(options->arguments, options->argument_count, out, &error) == TN_OK) {
        return true;
    }
    zk_servers_free(out);
    *code = command_failed(&error);
    return false;
}

bool zk_servers_parse_each(struct options *options, int argc, char **argv, struct zk_servers *out,
                           int *code)
{
    assert(options->arguments_most <= ARGUMENTS_MAX);
    if (!options_parse(options, argc, argv, code)) { return false; }
    *code = TN_EXIT_OK;
    *out = (struct zk_servers){.list = calloc(ARGUMENTS_MAX, sizeof *out->list)};
    if (out->list == NULL) {
        *code = TN_EXIT_ERROR;
        return false;
    }
    for (size_t i = 0; i < options->argument_count; i++) {
        struct error error = {0};
        enum tn_status status =
            zoo_server_read(options->arguments[i], &out->list[out->count], &error);
        if (status == TN_OK) { status = check_data_dirs(out, out->count, &error); }
        if (status == TN_OK) {
            out->count++;
        } else {
            *code = command_failed(&error);
        }
    }
    return true;
}

void zk_servers_free(struct zk_servers *servers)
{
    free(servers->list);
    servers->list = NULL;
}

const char *zk_server_name(const struct zoo_server_files *server,
                           char text[static ZK_SERVER_NAME_MAX])
{
    if (server->id != 0) {
        snprintf(text, ZK_SERVER_NAME_MAX, "server %u (%s)", server->id, server->address);
    } else {
        snprintf(text, ZK_SERVER_NAME_MAX, "the server (%s)", server->address);
    }
    return text;
}

json_t *zk_server_json(const struct zoo_server_files *server, pid_t pid)
{
    json_t *id = server->id != 0 ? json_integer(server->id) : json_null();
    json_t *process = pid != 0 ? json_integer(pid) : json_null();
    return json_pack("{s:o, s:s, s:o, s:s}", "id", id, "address", server->address, "pid", process,
                     "config", server->cfg_path);
}

void zk_servers_connect(const struct zk_servers *servers, char text[static ZK_CONNECT_MAX])
{
    size_t used = 0;
    assert(servers->count <= ARGUMENTS_MAX);
    text[0] = '\0';
    for (size_t i = 0; i < servers->count && used < ZK_CONNECT_MAX; i++) {
        used += (size_t)snprintf(text + used, ZK_CONNECT_MAX - used, "%s%s", i > 0 ? "," : "",
                                 servers->list[i].address);
    }
}
