/* cli/operate/zk_stop.c: `tanist zk stop`. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/operate/zk.h"
#include "cli/operate/zk_servers.h"
#include "cli/output.h"
#include "common/base/clock.h"
#include "tanist/status.h"

enum { POLL_MS = 50 };

static bool wait_ended(const struct zoo_server_files *server, uint64_t until_ms)
{
    while (zoo_server_pid(server) != 0) {
        if (clock_monotonic_ms() >= until_ms) { return false; }
        (void)poll(NULL, 0, POLL_MS);
    }
    return true;
}

/* Wait for a server that was sent SIGTERM, and kill it after `until_ms`. False: it still runs. */
static bool end_server(const struct zoo_server_files *server, pid_t pid, uint64_t until_ms)
{
    char name[ZK_SERVER_NAME_MAX];
    zk_server_name(server, name);
    if (!wait_ended(server, until_ms)) {
        fprintf(stderr, "tanist: %s did not exit after SIGTERM: sending SIGKILL\n", name);
        kill(pid, SIGKILL);
        if (!wait_ended(server, clock_monotonic_ms() + ZK_STOP_MS)) {
            fprintf(stderr, "tanist: %s (pid %ld) did not exit after SIGKILL\n", name, (long)pid);
            return false;
        }
    }
    fprintf(stderr, pid != 0 ? "%s stopped\n" : "%s is not running\n", name);
    zoo_server_forget_pid(server);
    return true;
}

static bool report_failure(const struct zoo_server_files *server, pid_t pid, int failure)
{
    char name[ZK_SERVER_NAME_MAX], text[128];
    assert(failure != 0);
    fprintf(stderr, "tanist: cannot stop %s (pid %ld): %s\n", zk_server_name(server, name),
            (long)pid, strerror_r(failure, text, sizeof text));
    return false;
}

/* The state of each server now: `stopped` is false if it still runs. */
static int print_json(const struct zk_servers *servers, const pid_t *pids, const bool *stopped)
{
    json_t *list = json_array();
    for (size_t i = 0; i < servers->count; i++) {
        json_t *server = zk_server_json(&servers->list[i], pids[i]);
        json_object_set_new(server, "stopped", json_boolean(stopped[i]));
        json_array_append_new(list, server);
    }
    return output_json(json_pack("{s:i, s:o}", "version", 1, "servers", list), JSON_INDENT(2));
}

/* All servers get SIGTERM first, so that they exit at the same time. */
static int stop_servers(const struct zk_servers *servers, bool json)
{
    assert(servers->count <= ARGUMENTS_MAX);
    pid_t pids[ARGUMENTS_MAX];
    int failures[ARGUMENTS_MAX] = {0};
    bool stopped[ARGUMENTS_MAX];
    int code = TN_EXIT_OK;
    for (size_t i = 0; i < servers->count; i++) {
        pids[i] = zoo_server_pid(&servers->list[i]);
        if (pids[i] != 0 && kill(pids[i], SIGTERM) != 0) { failures[i] = errno; }
    }
    const uint64_t until_ms = clock_monotonic_ms() + ZK_STOP_MS;
    for (size_t i = 0; i < servers->count; i++) {
        stopped[i] = failures[i] == 0 || failures[i] == ESRCH
                         ? end_server(&servers->list[i], pids[i], until_ms)
                         : report_failure(&servers->list[i], pids[i], failures[i]);
        if (!stopped[i]) { code = TN_EXIT_SERVER_ERROR; }
    }
    const int written = json ? print_json(servers, pids, stopped) : TN_EXIT_OK;
    return code != TN_EXIT_OK ? code : written;
}

int zk_stop(int argc, char **argv)
{
    struct options options = {
        .command = "zk stop",
        .synopsis = "ZOO.cfg... [OPTION]...",
        .about =
            "Stop the ZooKeeper servers that `tanist zk start` started from these files.\nTheir "
            "data is kept. A server that is not running is not an error. If a file cannot be read, "
            "that is\nan error, but the servers of the other files are stopped.",
        .examples = "  tanist zk stop deploy/zookeeper/zoo1.cfg deploy/zookeeper/zoo2.cfg "
                    "deploy/zookeeper/zoo3.cfg\n",
        .arguments_least = 1,
        .arguments_most = ARGUMENTS_MAX,
    };
    struct zk_servers servers;
    const char *output = NULL;
    int code = TN_EXIT_OK;
    output_option_text(&options, &output);
    if (!zk_servers_parse_each(&options, argc, argv, &servers, &code)) { return code; }
    const int stopped = stop_servers(&servers, output_is_json(output));
    zk_servers_free(&servers);
    return code != TN_EXIT_OK ? code : stopped;
}
