/* cli/operate/zk.c: `tanist zk start|stop|status`: ZooKeeper servers from their zoo.cfg files. */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/ensemble/zoo_server.h"
#include "cli/commands.h"
#include "cli/operate/zk_start.h"
#include "cli/options.h"
#include "common/base/clock.h"

enum { STOP_MS = 10000, POLL_MS = 50, PROBE_MS = 1000, ZXID_TEXT = 20 };

static const char *const outputs[] = {"table", "json", NULL};

/* ------------------------------------------------------------------ reading */

void zk_servers_free(struct zk_servers *servers)
{
    free(servers->list);
    servers->list = NULL;
}

enum tn_status zk_servers_read(const char *const *paths, size_t count, struct zk_servers *out,
                               struct error *error)
{
    out->count = count;
    out->list = calloc(count, sizeof *out->list);
    if (out->list == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    for (size_t i = 0; i < count; i++) {
        enum tn_status status = zoo_server_read(paths[i], &out->list[i], error);
        if (status != TN_OK) { return status; }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(out->list[i].cfg.data_dir, out->list[j].cfg.data_dir) != 0) { continue; }
            return error_set(error, TN_EINVAL,
                             "%s and %s have the same dataDir %s: give each its own", paths[j],
                             paths[i], out->list[i].cfg.data_dir);
        }
    }
    return TN_OK;
}

const char *zk_server_name(const struct zoo_server_files *server, char *text, size_t size)
{
    if (server->id != 0) {
        snprintf(text, size, "server %u (%s)", (unsigned)server->id, server->address);
    } else {
        snprintf(text, size, "the server (%s)", server->address);
    }
    return text;
}

/* Parse the command line and read the files it names. False: over, with `*code`. */
static bool begin(struct options *options, int argc, char **argv, struct zk_servers *servers,
                  int *code)
{
    struct error error = {.text = ""};
    servers->list = NULL;
    if (!options_parse(options, argc, argv, code)) { return false; }
    *code = TN_EXIT_OK;
    if (zk_servers_read(options->arguments, options->argument_count, servers, &error) == TN_OK) {
        return true;
    }
    zk_servers_free(servers);
    *code = command_failed(&error);
    return false;
}

/* -------------------------------------------------------------------- start */

static int start_command(int argc, char **argv)
{
    struct zk_start_options start = {.heap_mib = {.value = 512}, .wait_s = {.value = 60}};
    const struct option list[] = {
        {"foreground", 'f', OPTION_FLAG, &start.foreground, NULL, NULL,
         "Stay, and stop the servers at Ctrl-C, SIGTERM or our own death."},
        {"wait", 0, OPTION_COUNT, &start.wait_s, "SECONDS", NULL,
         "How long to wait until they serve; default 60. 0: do not wait."},
        {"heap", 0, OPTION_COUNT, &start.heap_mib, "MIB", NULL,
         "Java heap of each server; default 512."},
    };
    struct options options = {
        .command = "zk start",
        .synopsis = "ZOO.cfg... [OPTION]...",
        .about =
            "Start the ZooKeeper server of each file, in the background, and wait until they\n"
            "serve. Prints the connect string. A missing dataDir or myid is made. The process\n"
            "id and the log are kept in dataDir, as tanist.pid and tanist.log.\n"
            "Exit status 5: they run, but do not serve (yet).",
        .examples = "  tanist zk start deploy/zookeeper/zoo1.cfg deploy/zookeeper/zoo2.cfg "
                    "deploy/zookeeper/zoo3.cfg\n"
                    "  tanist zk start --foreground /etc/zookeeper/conf/zoo.cfg\n",
        .list = list,
        .count = sizeof list / sizeof *list,
        .arguments_least = 1,
        .arguments_most = ARGUMENTS_MAX,
    };
    struct zk_servers servers;
    int code = TN_EXIT_OK;
    if (!begin(&options, argc, argv, &servers, &code)) { return code; }
    code = zk_start(&servers, &start);
    zk_servers_free(&servers);
    return code;
}

/* --------------------------------------------------------------------- stop */

static void pause_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static bool wait_gone(const struct zoo_server_files *server, uint64_t until_ms)
{
    while (zoo_server_pid(server) != 0) {
        if (clock_monotonic_ms() >= until_ms) { return false; }
        pause_ms(POLL_MS);
    }
    return true;
}

/* SIGTERM to all first, so that they end together; SIGKILL to who stays. */
static int stop_servers(const struct zk_servers *servers)
{
    char name[ZOO_ADDRESS_MAX + 32];
    int code = TN_EXIT_OK;
    for (size_t i = 0; i < servers->count; i++) {
        pid_t pid = zoo_server_pid(&servers->list[i]);
        if (pid != 0) { kill(pid, SIGTERM); }
    }
    uint64_t until_ms = clock_monotonic_ms() + STOP_MS;
    for (size_t i = 0; i < servers->count; i++) {
        const struct zoo_server_files *server = &servers->list[i];
        pid_t pid = zoo_server_pid(server);
        zk_server_name(server, name, sizeof name);
        if (!wait_gone(server, until_ms)) {
            fprintf(stderr, "tanist: %s does not end after SIGTERM: SIGKILL\n", name);
            kill(pid, SIGKILL);
            if (!wait_gone(server, clock_monotonic_ms() + STOP_MS)) {
                fprintf(stderr, "tanist: %s, process %ld, does not end\n", name, (long)pid);
                code = TN_EXIT_SERVER_ERROR;
                continue;
            }
        }
        fprintf(stderr, pid != 0 ? "%s is stopped\n" : "%s does not run\n", name);
        zoo_server_forget_pid(server);
    }
    return code;
}

static int stop_command(int argc, char **argv)
{
    struct options options = {
        .command = "zk stop",
        .synopsis = "ZOO.cfg...",
        .about = "Stop the ZooKeeper servers that `tanist zk start` started from these files.\n"
                 "Their data stays. A server that does not run is no error.",
        .examples = "  tanist zk stop deploy/zookeeper/zoo1.cfg deploy/zookeeper/zoo2.cfg "
                    "deploy/zookeeper/zoo3.cfg\n",
        .arguments_least = 1,
        .arguments_most = ARGUMENTS_MAX,
    };
    struct zk_servers servers;
    int code = TN_EXIT_OK;
    if (!begin(&options, argc, argv, &servers, &code)) { return code; }
    code = stop_servers(&servers);
    zk_servers_free(&servers);
    return code;
}

/* ------------------------------------------------------------------- status */

struct row {
    pid_t pid;
    enum tn_status status;
    struct ensemble_health health;
};

static const char *mode_of(const struct row *row)
{
    switch (row->status) {
    case TN_OK: return ensemble_mode_name(row->health.mode);
    case TN_EUNHEALTHY: return "no quorum";
    case TN_ETIMEDOUT: return "silent";
    case TN_EPROTO: return "no answer to srvr";
    default: return row->pid != 0 ? "starting" : "down";
    }
}

static void print_table(const struct zk_servers *servers, const struct row *rows)
{
    char zxid[ZXID_TEXT];
    printf("%-3s  %-21s  %-8s  %-10s  %-14s  %-11s  %s\n", "ID", "ADDRESS", "PID", "MODE", "ZXID",
           "CONNECTIONS", "CONFIG");
    for (size_t i = 0; i < servers->count; i++) {
        const struct row *row = &rows[i];
        bool serves = row->status == TN_OK;
        char pid[ZXID_TEXT] = "-";
        char connections[ZXID_TEXT] = "-";
        char id[ZXID_TEXT] = "-"; /* A server on its own has none. */
        snprintf(zxid, sizeof zxid, "-");
        if (row->pid != 0) { snprintf(pid, sizeof pid, "%ld", (long)row->pid); }
        uint32_t number = servers->list[i].id;
        if (number != 0) { snprintf(id, sizeof id, "%u", (unsigned)number); }
        if (serves) {
            snprintf(zxid, sizeof zxid, "0x%llx", (unsigned long long)row->health.zxid);
            snprintf(connections, sizeof connections, "%u", (unsigned)row->health.connections);
        }
        printf("%-3s  %-21s  %-8s  %-10s  %-14s  %-11s  %s\n", id, servers->list[i].address, pid,
               mode_of(row), zxid, connections, servers->list[i].cfg_path);
    }
}

static json_t *row_as_json(const struct zoo_server_files *server, const struct row *row)
{
    json_t *object = json_pack("{s:s, s:s, s:s}", "address", server->address, "config",
                               server->cfg_path, "mode", mode_of(row));
    if (object == NULL) { return NULL; }
    json_object_set_new(object, "id", server->id != 0 ? json_integer(server->id) : json_null());
    json_object_set_new(object, "pid", row->pid != 0 ? json_integer(row->pid) : json_null());
    if (row->status != TN_OK) { return object; }
    char zxid[ZXID_TEXT];
    snprintf(zxid, sizeof zxid, "0x%llx", (unsigned long long)row->health.zxid);
    json_object_set_new(object, "zxid", json_string(zxid));
    json_object_set_new(object, "connections", json_integer(row->health.connections));
    return object;
}

static bool print_json(const struct zk_servers *servers, const struct row *rows, bool healthy)
{
    char connect[ARGUMENTS_MAX * ZOO_ADDRESS_MAX];
    zk_servers_connect(servers, connect, sizeof connect);
    json_t *list = json_array();
    for (size_t i = 0; i < servers->count; i++) {
        json_array_append_new(list, row_as_json(&servers->list[i], &rows[i]));
    }
    json_t *object = json_pack("{s:i, s:s, s:b, s:o}", "version", 1, "connect", connect, "healthy",
                               (int)healthy, "servers", list);
    bool printed = object != NULL && json_dumpf(object, stdout, JSON_INDENT(2)) == 0;
    json_decref(object);
    return printed && putchar('\n') != EOF;
}

static int status_command(int argc, char **argv)
{
    const char *output = "table";
    const struct option list[] = {
        {"output", 'o', OPTION_CHOICE, &output, "table|json", outputs, "Form; default table."},
    };
    struct options options = {
        .command = "zk status",
        .synopsis = "ZOO.cfg... [OPTION]...",
        .about = "Show the ZooKeeper servers of these files: process, role, last transaction.\n"
                 "Exit status 5 when fewer serve than a majority needs.",
        .examples = "  tanist zk status deploy/zookeeper/zoo*.cfg\n"
                    "  tanist zk status deploy/zookeeper/zoo*.cfg -o json\n",
        .list = list,
        .count = 1,
        .arguments_least = 1,
        .arguments_most = ARGUMENTS_MAX,
    };
    struct zk_servers servers;
    struct row rows[ARGUMENTS_MAX] = {{.pid = 0}};
    int code = TN_EXIT_OK;
    if (!begin(&options, argc, argv, &servers, &code)) { return code; }
    size_t serving = 0;
    for (size_t i = 0; i < servers.count; i++) {
        rows[i].pid = zoo_server_pid(&servers.list[i]);
        rows[i].status = ensemble_probe(servers.list[i].address, PROBE_MS, &rows[i].health);
        if (rows[i].status == TN_OK) { serving++; }
    }
    bool healthy = serving * 2 > servers.count;
    if (strcmp(output, "json") == 0) {
        if (!print_json(&servers, rows, healthy)) { code = TN_EXIT_IO; }
    } else {
        print_table(&servers, rows);
    }
    if (code == TN_EXIT_OK && !healthy) { code = TN_EXIT_UNHEALTHY; }
    zk_servers_free(&servers);
    return code;
}

/* ----------------------------------------------------------------- dispatch */

static int print_overview(FILE *out, int code)
{
    fputs("Usage: tanist zk start|stop|status ZOO.cfg... [OPTION]...\n\n"
          "Examples:\n"
          "  tanist zk start deploy/zookeeper/zoo1.cfg deploy/zookeeper/zoo2.cfg "
          "deploy/zookeeper/zoo3.cfg\n"
          "  tanist zk status deploy/zookeeper/zoo*.cfg -o json\n"
          "  tanist zk stop deploy/zookeeper/zoo*.cfg\n\n"
          "Commands:\n"
          "  start   Start the ZooKeeper server of each file and wait until they serve.\n"
          "  stop    Stop them; their data stays.\n"
          "  status  Show process, role and last transaction of each.\n\n"
          "`tanist zk COMMAND --help` tells more.\n",
          out);
    return code;
}

int command_zk(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } commands[] = {{"start", start_command}, {"stop", stop_command}, {"status", status_command}};
    if (argc < 2) { return print_overview(stderr, TN_EXIT_ARGUMENTS); }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        return print_overview(stdout, TN_EXIT_OK);
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) { return commands[i].run(argc - 1, argv + 1); }
    }
    fprintf(stderr, "tanist: unknown command \"zk %s\": use start, stop or status\n", argv[1]);
    return TN_EXIT_ARGUMENTS;
}
