/* cli/operate/zk_status.c: `tanist zk status`. */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "cli/operate/zk.h"
#include "cli/operate/zk_servers.h"
#include "cli/output.h"
#include "cli/table.h"
#include "tanist/status.h"

enum { PROBE_MS = 1000, ZXID_TEXT_MAX = 24 };

struct server_state {
    pid_t pid; /* 0: not running. */
    enum tn_status status;
    struct ensemble_health health; /* With TN_OK. */
};

static const char *mode_of(const struct server_state *state)
{
    switch (state->status) {
    case TN_OK: return ensemble_mode_name(state->health.mode);
    case TN_EUNHEALTHY: return "no quorum";
    case TN_ETIMEDOUT: return "silent";
    case TN_EPROTO: return "no answer to srvr";
    default: return state->pid != 0 ? "starting" : "down";
    }
}

static int print_table(const struct zk_servers *servers, const struct server_state *states)
{
    static const struct table_column columns[] = {
        {"ID", TABLE_LEFT},     {"ADDRESS", TABLE_LEFT}, {"PID", TABLE_LEFT},
        {"MODE", TABLE_LEFT},   {"ZXID", TABLE_LEFT},    {"CONNECTIONS", TABLE_LEFT},
        {"CONFIG", TABLE_LEFT},
    };
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < servers->count; i++) {
        const struct server_state *state = &states[i];
        table_number(&table, servers->list[i].id, servers->list[i].id != 0); /* 0: standalone. */
        table_cell(&table, "%s", servers->list[i].address);
        table_number(&table, (uint64_t)state->pid, state->pid != 0);
        table_cell(&table, "%s", mode_of(state));
        if (state->status == TN_OK) {
            table_cell(&table, "0x%" PRIx64, state->health.zxid);
        } else {
            table_no_value(&table);
        }
        table_number(&table, state->health.connections, state->status == TN_OK);
        table_cell(&table, "%s", servers->list[i].cfg_path);
    }
    return table_print(&table, stdout) ? TN_EXIT_OK : TN_EXIT_IO;
}

static json_t *state_json(const struct zoo_server_files *server, const struct server_state *state)
{
    json_t *object = zk_server_json(server, state->pid);
    if (object == NULL) { return NULL; }
    json_object_set_new(object, "mode", json_string(mode_of(state)));
    if (state->status != TN_OK) { return object; }
    char zxid[ZXID_TEXT_MAX];
    snprintf(zxid, sizeof zxid, "0x%" PRIx64, state->health.zxid);
    json_object_set_new(object, "zxid", json_string(zxid));
    json_object_set_new(object, "connections", json_integer(state->health.connections));
    return object;
}

static int print_json(const struct zk_servers *servers, const struct server_state *states,
                      bool healthy)
{
    char connect[ZK_CONNECT_MAX];
    zk_servers_connect(servers, connect);
    json_t *list = json_array();
    for (size_t i = 0; i < servers->count; i++) {
        json_array_append_new(list, state_json(&servers->list[i], &states[i]));
    }
    return output_json(json_pack("{s:i, s:s, s:b, s:o}", "version", 1, "connect", connect,
                                 "healthy", (int)healthy, "servers", list),
                       JSON_INDENT(2));
}

/* Returns how many servers serve. */
static size_t probe(const struct zk_servers *servers, struct server_state *states)
{
    size_t serving = 0;
    assert(servers->count <= ARGUMENTS_MAX);
    for (size_t i = 0; i < servers->count; i++) {
        states[i].pid = zoo_server_pid(&servers->list[i]);
        states[i].status = ensemble_probe(servers->list[i].address, PROBE_MS, &states[i].health);
        if (states[i].status == TN_OK) { serving++; }
    }
    return serving;
}

int zk_status(int argc, char **argv)
{
    const char *output = NULL;
    struct options options = {
        .command = "zk status",
        .synopsis = "ZOO.cfg... [OPTION]...",
        .about = "Show the ZooKeeper servers of these files: process, mode, last "
                 "transaction.\nExit status 5 if fewer than a majority of them serve.",
        .examples = "  tanist zk status deploy/zookeeper/zoo*.cfg\n"
                    "  tanist zk status deploy/zookeeper/zoo*.cfg -o json\n",
        .arguments_least = 1,
        .arguments_most = ARGUMENTS_MAX,
    };
    struct zk_servers servers;
    struct server_state states[ARGUMENTS_MAX] = {0};
    int code = TN_EXIT_OK;
    output_option_table(&options, &output);
    if (!zk_servers_parse(&options, argc, argv, &servers, &code)) { return code; }
    const bool healthy = probe(&servers, states) * 2 > servers.count;
    code = output_is_json(output) ? print_json(&servers, states, healthy)
                                  : print_table(&servers, states);
    if (code == TN_EXIT_OK && !healthy) { code = TN_EXIT_UNHEALTHY; }
    zk_servers_free(&servers);
    return code;
}
