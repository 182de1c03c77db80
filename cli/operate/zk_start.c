/* cli/operate/zk_start.c: `tanist zk start`. */
#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/ensemble/zoo_ports.h"
#include "agent/log_pipe.h"
#include "agent/process.h"
#include "cli/commands.h"
#include "cli/operate/zk.h"
#include "cli/operate/zk_servers.h"
#include "cli/output.h"
#include "cli/wait_notice.h"
#include "common/base/clock.h"
#include "common/base/log_file.h"
#include "common/base/stop_signals.h"

enum {
    PROBE_MS = 500,
    POLL_MS = 100,
    HEAP_MIB = 512,
    HEAP_LEAST_MIB = 32,
    HEAP_MOST_MIB = 1024 * 1024,
    WAIT_S = 60,
};

extern char **environ;

enum phase { STARTING, SERVING, ENDED };

struct start_options {
    bool foreground, quiet;
    const char *output;
    struct option_number wait_s, heap_mib;
};

/* A server that this command has started, or has found running. */
struct started {
    const struct zoo_server_files *server;
    struct ensemble_command command;
    struct log_pipe *log; /* In the foreground; owned. */
    pid_t pid;            /* 0: not started. */
    bool found;           /* It was running before, so it is not our child. */
    enum phase phase;
    enum tn_status answer; /* To the last probe. */
};

struct starter {
    struct started *list;
    size_t count;
};

static bool is_running_child(const struct started *one)
{
    return one->pid != 0 && !one->found && one->phase != ENDED;
}

/* ----------------------------------------------------------------- starting */

static enum tn_status start_attached(struct started *one, struct error *error)
{
    assert(one->pid == 0);
    enum tn_status status =
        log_pipe_open(one->server->log_path, LOG_FILE_DEFAULT_BYTES, &one->log, error);
    if (status != TN_OK) { return status; }
    struct process_config config = {.program = one->command.argv[0],
                                    .arguments = one->command.argv,
                                    .environment = environ,
                                    .output = log_pipe_fd(one->log)};
    struct process process;
    status = process_start(&config, &process, error);
    if (status != TN_OK) { return status; }
    close(process.pidfd); /* SIGCHLD reports its end. */
    one->pid = process.pid;
    return TN_OK;
}

/* The server of `one` is not running: prepare its files and start it. */
static enum tn_status start_process(struct started *one, const struct start_options *options,
                                    struct error *error)
{
    struct zoo_server_files server = *one->server;
    char name[ZK_SERVER_NAME_MAX];
    const bool writes_id = server.id != 0 && server.id_missing && !options->quiet;
    assert(!one->found);
    enum tn_status status = zoo_server_prepare(&server, error);
    if (status != TN_OK) { return status; }
    if (writes_id) {
        fprintf(stderr, "%s: wrote %s/myid; its address gives its number\n",
                zk_server_name(&server, name), server.cfg.data_dir);
    }
    status = options->foreground ? start_attached(one, error)
                                 : zoo_server_detach(&server, &one->command, &one->pid, error);
    return status == TN_OK ? zoo_server_note_pid(&server, one->pid, error) : status;
}

/* Before any server is started: one that is running already, or cannot listen. */
static enum tn_status check_one(struct started *one, bool foreground, struct error *error)
{
    char name[ZK_SERVER_NAME_MAX];
    one->pid = zoo_server_pid(one->server);
    one->found = one->pid != 0;
    if (!one->found) { return zoo_ports_check(one->server, error); }
    if (!foreground) { return TN_OK; }
    return error_set(error, TN_EEXIST,
                     "%s is already running (pid %ld): stop it first with `tanist zk stop %s`",
                     zk_server_name(one->server, name), (long)one->pid, one->server->cfg_path);
}

static enum tn_status start_one(struct started *one, const struct start_options *options,
                                struct error *error)
{
    char name[ZK_SERVER_NAME_MAX];
    if (!one->found) { return start_process(one, options, error); }
    if (options->quiet) { return TN_OK; }
    fprintf(stderr, "%s is already running (pid %ld)\n", zk_server_name(one->server, name),
            (long)one->pid);
    return TN_OK;
}

static enum tn_status start_all(struct starter *starter, const struct zk_servers *servers,
                                const struct start_options *options, struct error *error)
{
    assert(starter->count == servers->count);
    for (size_t i = 0; i < servers->count; i++) {
        struct started *one = &starter->list[i];
        one->server = &servers->list[i];
        enum tn_status status = ensemble_command(
            one->server->cfg_path, (uint32_t)options->heap_mib.value, &one->command, error);
        if (status == TN_OK) { status = check_one(one, options->foreground, error); }
        if (status != TN_OK) { return status; }
    }
    for (size_t i = 0; i < servers->count; i++) {
        enum tn_status status = start_one(&starter->list[i], options, error);
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

/* ----------------------------------------------------------------- watching */

static void report_end(const struct started *one, int wait_status)
{
    char name[ZK_SERVER_NAME_MAX], end[128], log[512];
    assert(one->phase == ENDED);
    if (WIFSIGNALED(wait_status)) {
        process_describe_end(0, WTERMSIG(wait_status), end, sizeof end);
    } else { /* An exit code of Java, not of our programs. */
        snprintf(end, sizeof end, "exit code %d", WEXITSTATUS(wait_status));
    }
    if (one->log != NULL) { log_pipe_flush(one->log); }
    zoo_server_last_error(one->server, log, sizeof log);
    fprintf(stderr, "tanist: %s ended: %s%s%s; its log is %s\n", zk_server_name(one->server, name),
            end, *log ? ": " : "", log, one->server->log_path);
}

/* Collect the servers that have ended. `expected`: they were sent a signal, so it is not
 * reported. */
static void reap(struct starter *starter, bool expected)
{
    for (size_t i = 0; i < starter->count; i++) {
        struct started *one = &starter->list[i];
        int wait_status = 0;
        if (!is_running_child(one)) { continue; }
        if (waitpid(one->pid, &wait_status, WNOHANG) != one->pid) { continue; }
        one->phase = ENDED;
        zoo_server_forget_pid(one->server);
        if (!expected) { report_end(one, wait_status); }
    }
}

static size_t count_in(const struct starter *starter, enum phase phase)
{
    size_t count = 0;
    for (size_t i = 0; i < starter->count; i++) { count += starter->list[i].phase == phase; }
    return count;
}

static void probe(struct starter *starter)
{
    struct ensemble_health health;
    for (size_t i = 0; i < starter->count; i++) {
        struct started *one = &starter->list[i];
        if (one->phase != STARTING) { continue; }
        one->answer = ensemble_probe(one->server->address, PROBE_MS, &health);
        if (one->answer == TN_OK) { one->phase = SERVING; }
    }
}

static void report_waiting(const struct starter *starter, uint64_t seconds)
{
    for (size_t i = 0; i < starter->count; i++) {
        const struct started *one = &starter->list[i];
        char name[ZK_SERVER_NAME_MAX];
        if (one->phase != STARTING) { continue; }
        zk_server_name(one->server, name);
        fprintf(stderr, "still waiting for %s after %" PRIu64 " s: ", name, seconds);
        if (one->answer == TN_EUNHEALTHY) {
            fputs(one->server->id != 0
                      ? "it has no quorum; check that the other servers are running\n"
                      : "it does not serve yet\n",
                  stderr);
        } else {
            fprintf(stderr, "%s; its log is %s\n", tanist_strerror(one->answer),
                    one->server->log_path);
        }
    }
}

/* Wait for one of `signals`, at most POLL_MS. Returns the number of one that asks this command to
 * end, or 0. */
static int next_signal(const sigset_t *signals)
{
    struct timespec time = {.tv_nsec = POLL_MS * 1000000};
    int number = sigtimedwait(signals, NULL, &time);
    return number == SIGINT || number == SIGTERM || number == SIGHUP ? number : 0;
}

static void stop_all(struct starter *starter)
{
    for (size_t i = 0; i < starter->count; i++) {
        if (is_running_child(&starter->list[i])) { kill(starter->list[i].pid, SIGTERM); }
    }
    const uint64_t until_ms = clock_monotonic_ms() + ZK_STOP_MS;
    for (size_t i = 0; i < starter->count; i++) {
        struct started *one = &starter->list[i];
        while (is_running_child(one)) {
            if (clock_monotonic_ms() >= until_ms) { kill(one->pid, SIGKILL); }
            (void)poll(NULL, 0, POLL_MS);
            reap(starter, true);
        }
    }
}

/* ------------------------------------------------------------------ running */

/* Until all servers serve, one has ended, the time is over, or a signal arrives. */
static int wait_until_serving(struct starter *starter, const struct start_options *options,
                              const sigset_t *signals)
{
    const uint64_t wait_s = options->wait_s.value;
    assert(starter->count > 0);
    struct wait_notice notice = wait_notice_start(clock_monotonic_ms());
    for (;;) {
        reap(starter, false);
        if (count_in(starter, ENDED) > 0) { return TN_EXIT_SERVER_ERROR; }
        probe(starter);
        if (count_in(starter, SERVING) == starter->count) { return TN_EXIT_OK; }
        const uint64_t now_ms = clock_monotonic_ms();
        if (now_ms - notice.start_ms >= wait_s * 1000) { break; }
        if (!options->quiet && wait_notice_due(&notice, now_ms)) {
            report_waiting(starter, wait_notice_seconds(&notice, now_ms));
        }
        if (next_signal(signals) != 0) { return TN_EXIT_ERROR; }
    }
    if (wait_s == 0) { return TN_EXIT_OK; }
    fprintf(stderr, "tanist: only %zu of %zu servers serve after %" PRIu64 " s; %s\n",
            count_in(starter, SERVING), starter->count, wait_s,
            options->foreground ? "stopping them (--wait 0 waits for the others without limit)"
                                : "all of them were started");
    return TN_EXIT_UNHEALTHY;
}

/* In the foreground: until a signal arrives, or the last server has ended. */
static int stay(struct starter *starter, const sigset_t *signals)
{
    for (;;) {
        if (next_signal(signals) != 0) { return TN_EXIT_OK; }
        reap(starter, false);
        if (count_in(starter, ENDED) == starter->count) { return TN_EXIT_SERVER_ERROR; }
    }
}

/* The connect string, or the same with the processes for programs. */
static int print_started(const struct starter *starter, const struct zk_servers *servers,
                         const struct start_options *options)
{
    char connect[ZK_CONNECT_MAX];
    zk_servers_connect(servers, connect);
    if (!output_is_json(options->output)) {
        if (options->quiet) { return TN_EXIT_OK; }
        return puts(connect) >= 0 && fflush(stdout) == 0 ? TN_EXIT_OK : TN_EXIT_IO;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < starter->count; i++) {
        json_array_append_new(list, zk_server_json(&servers->list[i], starter->list[i].pid));
    }
    return output_json(
        json_pack("{s:i, s:s, s:o}", "version", 1, "connect", connect, "servers", list),
        JSON_INDENT(2));
}

static int run_servers(struct starter *starter, const struct zk_servers *servers,
                       const struct start_options *options, const sigset_t *signals)
{
    struct error error = {0};
    if (start_all(starter, servers, options, &error) != TN_OK) {
        stop_all(starter);
        return command_failed(&error);
    }
    int code = wait_until_serving(starter, options, signals);
    if (code == TN_EXIT_OK) { code = print_started(starter, servers, options); }
    if (!options->foreground) {
        if (code == TN_EXIT_ERROR) { stop_all(starter); /* A signal has arrived. */ }
        return code;
    }
    if (code == TN_EXIT_OK) { code = stay(starter, signals); }
    stop_all(starter);
    return code;
}

static int start_servers(const struct zk_servers *servers, const struct start_options *options)
{
    sigset_t signals, before;
    assert(servers->count > 0);
    struct starter starter = {.count = servers->count};
    starter.list = calloc(servers->count, sizeof *starter.list);
    if (starter.list == NULL) { return TN_EXIT_ERROR; }
    stop_signals_set(&signals);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, &before);
    int code = run_servers(&starter, servers, options, &signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
    for (size_t i = 0; i < starter.count; i++) { log_pipe_close(starter.list[i].log); }
    free(starter.list);
    return code;
}

int zk_start(int argc, char **argv)
{
    struct start_options start = {.heap_mib = {.value = HEAP_MIB}, .wait_s = {.value = WAIT_S}};
    struct options options = {
        .command = "zk start",
        .synopsis = "ZOO.cfg... [OPTION]...",
        .about =
            "Start the ZooKeeper server of each file in the background, and wait until all\n"
            "serve. Prints the connect string. Creates a missing dataDir or myid. The dataDir\n"
            "also holds the pid (tanist.pid) and the log (tanist.log) of the server.\n"
            "Exit status 5: the servers do not serve in time; those in the background keep "
            "running.",
        .examples = "  tanist zk start deploy/zookeeper/zoo1.cfg deploy/zookeeper/zoo2.cfg "
                    "deploy/zookeeper/zoo3.cfg\n"
                    "  tanist zk start --foreground /etc/zookeeper/conf/zoo.cfg\n",
        .arguments_least = 1,
        .arguments_most = ARGUMENTS_MAX,
    };
    struct zk_servers servers;
    int code = TN_EXIT_OK;
    options_flag(
        &options, 'f', "foreground", &start.foreground,
        "Keep running, and stop the servers when this command ends (Ctrl-C, SIGTERM, SIGKILL).");
    options_flag(&options, 'q', "quiet", &start.quiet,
                 "Print only errors: no messages about waiting, and no connect string.");
    options_seconds(
        &options, "wait", &start.wait_s, 0,
        "How long to wait until all serve; default 60. 0: do not wait, or without limit "
        "with --foreground.");
    options_range(&options, "heap", &start.heap_mib, "MIB", HEAP_LEAST_MIB, HEAP_MOST_MIB,
                  "Java heap of each server; default 512.");
    output_option_text(&options, &start.output);
    if (!zk_servers_parse(&options, argc, argv, &servers, &code)) { return code; }
    code = start_servers(&servers, &start);
    zk_servers_free(&servers);
    return code;
}
