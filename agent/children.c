#include "agent/children.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/ensemble/zoo_repair.h"
#include "agent/processors.h"
#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/log.h"
#include "common/node/node.h"
#include "common/zk/session_file.h"

extern char **environ;

enum {
    ENVIRONMENT_EXTRA = 3,
    ARGUMENTS = 30,
    /* The agent, coordinators and ZooKeeper servers run before ps and workers: they need little
     * processor time, but at once. */
    NICE_ADVANTAGE = 10,
    FORMER_CLOSE_MS = 2000,
    BROKEN_MS = 1000
};

/* Variables that a node does not inherit: those that name the task of a single node (here the
 * command line does), and those that the agent sets itself. */
static bool is_replaced(const char *entry)
{
    assert(entry != NULL);
    static const char *const names[] = {
        "TF_CONFIG=", "JOB_NAME=", "TASK_INDEX=", "PS_HOSTS=", "WORKER_HOSTS="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strncmp(entry, names[i], strlen(names[i])) == 0) { return true; }
    }
    return strncmp(entry, "OPENBLAS_NUM_THREADS=", strlen("OPENBLAS_NUM_THREADS=")) == 0 ||
           strncmp(entry, CREDENTIALS_VARIABLE "=", strlen(CREDENTIALS_VARIABLE "=")) == 0;
}

static char **make_environment(const struct agent_config *config)
{
    assert(config != NULL);
    size_t count = 0, more = 0,
           size = strlen(config->credentials != NULL ? config->credentials : "") + 64;
    while (environ[count] != NULL) { count++; }
    while (config->environment != NULL && config->environment[more] != NULL) { more++; }
    char **copy = calloc(count + more + ENVIRONMENT_EXTRA, sizeof *copy);
    char *secret = malloc(size);
    if (copy == NULL || secret == NULL) {
        free(copy);
        free(secret);
        return NULL;
    }
    size_t kept = 1;
    for (size_t i = 0; i < count; i++) {
        if (!is_replaced(environ[i])) { copy[kept++] = environ[i]; }
    }
    /* The first entry is freed by children_free(). Threads of OpenBLAS would only cost start-up
     * time. */
    snprintf(secret, size, CREDENTIALS_VARIABLE "=%s",
             config->credentials != NULL ? config->credentials : "");
    copy[0] = secret;
    static char blas[] = "OPENBLAS_NUM_THREADS=1";
    copy[kept++] = blas;
    for (size_t i = 0; i < more; i++) { copy[kept++] = config->environment[i]; }
    return copy;
}

static enum tn_status make_folder(const char *dir, const char *name, struct error *error)
{
    char path[CHILD_PATH_MAX];
    assert(dir != NULL);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (mkdir(path, 0700) == 0 || errno == EEXIST) { return TN_OK; }
    return error_set(error, errno == ENOSPC ? TN_ENOSPC : TN_EIO, "cannot make the folder %s: %s",
                     path, strerror(errno));
}

static void init_server(struct child *child, const struct ensemble_server *server)
{
    assert(server != NULL);
    child->server = server;
    child->memory = -1;
    snprintf(child->name, sizeof child->name, "zookeeper:%u", server->id);
    snprintf(child->log_path, sizeof child->log_path, "%s", server->log_path);
}

static void init_node(struct child *child, const char *dir, struct task task, uint32_t count)
{
    char file[TASK_NAME_MAX];
    assert(child->server == NULL);
    child->task = task;
    child->task_count = count;
    child->memory = -1;
    task_format_range(task, count, ':', child->name, sizeof child->name);
    task_format_range(task, count, '-', file, sizeof file);
    snprintf(child->log_path, sizeof child->log_path, "%s/logs/%s.log", dir, file);
    task_format(task, '-', file, sizeof file);
    snprintf(child->session_path, sizeof child->session_path, "%s/sessions/%s", dir, file);
}

/* Each worker joins the process of the one before it, unless that process is full. */
static void add_task(struct children *children, struct task task)
{
    const struct agent_config *config = children->config;
    struct child *last = children->count > 0 ? &children->list[children->count - 1] : NULL;
    const bool joins = last != NULL && last->server == NULL && task.role == ROLE_WORKER &&
                       last->task.role == ROLE_WORKER &&
                       last->task_count < config->job->cluster.workers_per_process &&
                       task.index == last->task.index + last->task_count;
    if (joins) {
        init_node(last, config->dir, last->task, last->task_count + 1);
    } else {
        init_node(&children->list[children->count++], config->dir, task, 1);
    }
}

static enum tn_status find_network(const struct children *children, struct child *child,
                                   struct error *error)
{
    char name[TASK_NAME_MAX];
    if (child->server == NULL) { task_format(child->task, ':', name, sizeof name); }
    return networks_find(children->config->networks, child->server != NULL ? child->name : name,
                         &child->network, error);
}

int children_nice(const struct children *children, int offset)
{
    assert(children->config != NULL);
    return children->nice + offset - getpriority(PRIO_PROCESS, 0);
}

enum tn_status children_init(struct children *children, const struct agent_config *config,
                             struct error *error)
{
    uint32_t servers = config->ensemble != NULL ? (uint32_t)config->ensemble->count : 0;
    assert(config->task_count + servers <= SUPERVISOR_CHILDREN_MAX);
    memset(children, 0, sizeof *children);
    children->config = config;
    children->nice = getpriority(PRIO_PROCESS, 0);
    (void)setpriority(PRIO_PROCESS, 0, children->nice - NICE_ADVANTAGE);
    enum tn_status status = make_folder(config->dir, "logs", error);
    if (status == TN_OK) { status = make_folder(config->dir, "sessions", error); }
    if (status != TN_OK) { return status; }
    for (uint32_t i = 0; i < servers; i++) {
        init_server(&children->list[children->count++], &config->ensemble->servers[i]);
    }
    for (uint32_t i = 0; i < config->task_count; i++) { add_task(children, config->tasks[i]); }
    for (uint32_t i = 0; status == TN_OK && i < children->count; i++) {
        status = find_network(children, &children->list[i], error);
    }
    return status;
}

enum tn_status children_add(struct children *children, struct task task, struct error *error)
{
    assert(children_find(children, task) == children->count);
    if (children->count == SUPERVISOR_CHILDREN_MAX) {
        return error_set(error, TN_ENOMEM, "this agent has %u processes, the most it can have",
                         children->count);
    }
    struct child *child = &children->list[children->count];
    init_node(child, children->config->dir, task, 1);
    enum tn_status status = find_network(children, child, error);
    if (status == TN_OK) { children->count++; }
    return status;
}

bool children_has_task(const struct child *child, struct task task)
{
    return child->server == NULL && task.role == child->task.role &&
           task.index >= child->task.index && task.index - child->task.index < child->task_count;
}

struct task children_task(const struct child *child, uint32_t place)
{
    assert(place < child->task_count);
    return (struct task){.role = child->task.role, .index = child->task.index + place};
}

uint64_t children_incarnation(const struct child *child, uint32_t place)
{
    assert(child->incarnation != 0);
    return node_incarnation(child->incarnation, place);
}

uint32_t children_find(const struct children *children, struct task task)
{
    uint32_t i = 0;
    assert(task.role < ROLE_COUNT);
    for (; i < children->count; i++) {
        if (children_has_task(&children->list[i], task)) { break; }
    }
    return i;
}

void children_free(struct children *children)
{
    for (uint32_t i = 0; i < children->count; i++) {
        log_pipe_close(children->list[i].log);
        children_drop_memory(&children->list[i]);
    }
    if (children->environment != NULL) { free(children->environment[0]); }
    free(children->environment);
    children->environment = NULL;
}

char *const *children_environment(struct children *children)
{
    assert(children->config != NULL);
    if (children->environment == NULL) {
        children->environment = make_environment(children->config);
    }
    return children->environment;
}

void children_kinds(const struct children *children,
                    enum child_kind kinds[static SUPERVISOR_CHILDREN_MAX])
{
    assert(children->count <= SUPERVISOR_CHILDREN_MAX);
    for (uint32_t i = 0; i < children->count; i++) {
        kinds[i] = children->list[i].server != NULL ? CHILD_SERVER : CHILD_NODE;
    }
}

/* Written for `tanist status`; a failure is ignored. */
static void write_pid(const char *dir, const struct child *child)
{
    char path[CHILD_PATH_MAX];
    assert(child->server != NULL);
    snprintf(path, sizeof path, "%s/zookeeper/%u/pid", dir, child->server->id);
    char text[32];
    int length = snprintf(text, sizeof text, "%ld\n", (long)child->process.pid);
    struct error error;
    if (files_write_atomic(path, text, (size_t)length, &error) != TN_OK) {
        log_debug("the pid of a server was not written: %s", error.text);
    }
}

static const char *network_path(const struct child *child)
{
    return child->network != NULL ? child->network->path : NULL;
}

static void data_folder(const struct children *children, const struct child *child,
                        char path[static CHILD_PATH_MAX])
{
    assert(child->server != NULL);
    snprintf(path, CHILD_PATH_MAX, "%s/zookeeper/%u/data", children->config->dir,
             child->server->id);
}

bool children_server_is_stuck(const struct children *children, struct child *child, uint64_t now_ms)
{
    assert(child >= children->list && child < children->list + children->count);
    char data[CHILD_PATH_MAX];
    if (child->server == NULL || child->process.pid == 0) { return false; }
    data_folder(children, child, data);
    if (!zoo_repair_needed(data)) {
        child->broken_since_ms = 0;
    } else if (child->broken_since_ms == 0) {
        child->broken_since_ms = now_ms;
    }
    return child->broken_since_ms != 0 && now_ms >= child->broken_since_ms + BROKEN_MS;
}

static enum tn_status spawn_server(const struct children *children, struct child *child,
                                   struct error *error)
{
    assert(child->server != NULL);
    if (child->log == NULL) {
        enum tn_status opened =
            log_pipe_open(child->log_path, children->config->log_bytes, &child->log, error);
        if (opened != TN_OK) { return opened; }
    }
    const struct process_config process = {.program = child->server->command.argv[0],
                                           .arguments = child->server->command.argv,
                                           .environment = environ,
                                           .output = log_pipe_fd(child->log),
                                           .network = network_path(child),
                                           .nice = children_nice(children, -NICE_ADVANTAGE)};
    char data[CHILD_PATH_MAX];
    data_folder(children, child, data);
    if (zoo_repair(data) > 0) {
        log_warn("%s: removed a transaction log without a header, left by a full or failing disk",
                 child->name);
    }
    child->broken_since_ms = 0;
    enum tn_status status = process_start(&process, &child->process, error);
    if (status == TN_OK) { write_pid(children->config->dir, child); }
    return status;
}

/* S12. Without it the ps keeps nothing. The ps gives it its size. */
static void open_memory(struct child *child)
{
    if (child->task.role != ROLE_PS || child->memory >= 0) { return; }
    child->memory = memfd_create(child->name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (child->memory < 0) {
        log_warn("%s keeps nothing if it is killed: memfd_create: %s", child->name,
                 strerror(errno));
    }
}

void children_drop_memory(struct child *child)
{
    if (child->memory >= 0) { close(child->memory); }
    child->memory = -1;
}

static enum tn_status spawn_node(struct children *children, struct child *child,
                                 struct error *error)
{
    const struct agent_config *config = children->config;
    assert(child->server == NULL);
    if (children_environment(children) == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory");
    }
    int advantage = child->task.role == ROLE_COORDINATOR ? NICE_ADVANTAGE : 0;
    cpu_set_t processor;
    char index[16], incarnation[32], listen[TRANSPORT_ADDRESS_MAX], log_bytes[32], last[16];
    open_memory(child);
    const bool has_memory = child->memory >= 0, several = child->task_count > 1;
    snprintf(last, sizeof last, "%d", has_memory ? child->memory : (int)child->task_count);
    child->incarnation = clock_new_incarnation();
    memset(child->registered, 0, sizeof child->registered);
    snprintf(index, sizeof index, "%u", child->task.index);
    snprintf(incarnation, sizeof incarnation, "%" PRIu64, child->incarnation);
    snprintf(log_bytes, sizeof log_bytes, "%" PRIu64, config->log_bytes);
    snprintf(listen, sizeof listen, "tcp://%s:0",
             child->network != NULL ? child->network->address : config->listen_host);
    const char *last_option = has_memory ? "--memory" : several ? "--workers" : NULL;
    const char *const arguments[ARGUMENTS] = {
        "tanist",         role_name(child->task.role),
        "--index",        index,
        "--job",          config->job_file,
        "--zk",           config->connect,
        "--cluster",      config->job->name,
        "--dir",          config->dir,
        "--listen",       listen,
        "--incarnation",  incarnation,
        "--session-file", child->session_path,
        "--log-format",   config->log_format != NULL ? config->log_format : "text",
        "--log-level",    config->log_level != NULL ? config->log_level : "info",
        "--log-file",     child->log_path,
        "--log-max-size", log_bytes,
        last_option,      last,
    };
    const struct process_config process = {.program = "/proc/self/exe",
                                           .arguments = arguments,
                                           .environment = children->environment,
                                           .log_path = child->log_path,
                                           .inherited = child->memory,
                                           .network = network_path(child),
                                           .blocks_faults = true,
                                           .nice = children_nice(children, -advantage),
                                           .processors =
                                               processors_of(children, child, &processor)};
    (void)unlink(child->session_path);
    return process_start(&process, &child->process, error);
}

enum tn_status children_spawn(struct children *children, uint32_t index, struct error *error)
{
    assert(index < children->count);
    struct child *child = &children->list[index];
    struct stat log;
    child->log_start = stat(child->log_path, &log) == 0 ? (uint64_t)log.st_size : 0;
    enum tn_status status = child->server != NULL ? spawn_server(children, child, error)
                                                  : spawn_node(children, child, error);
    return status == TN_OK ? TN_OK : error_context(error, "%s", child->name);
}

bool children_take_session(const char *path, struct zk_session *out)
{
    assert(path[0] != '\0');
    bool found = session_file_read(path, out, NULL) == TN_OK;
    (void)unlink(path);
    return found;
}

/* False: the session may still be open. */
static bool close_former(const struct agent_config *config, const char *name,
                         const struct zk_session *session, uint64_t until_ms)
{
    const uint64_t now_ms = clock_monotonic_ms();
    assert(config->connect != NULL);
    if (now_ms >= until_ms) { return false; }
    const enum tn_status status =
        zk_close_session(config->connect, session, (uint32_t)(until_ms - now_ms), NULL);
    log_debug("session of former %s closed: %s", name, tanist_strerror(status));
    return status == TN_OK || status == TN_EEXPIRED;
}

void children_close_former(const struct agent_config *config, struct session_reaper *reaper)
{
    assert(config->dir != NULL && config->connect != NULL);
    char folder[CHILD_PATH_MAX];
    snprintf(folder, sizeof folder, "%s/sessions", config->dir);
    DIR *stream = opendir(folder);
    if (stream == NULL) { return; }
    const uint64_t until_ms = clock_monotonic_ms() + FORMER_CLOSE_MS;
    for (struct dirent *entry; (entry = readdir(stream));) {
        char path[CHILD_PATH_MAX + 256];
        struct zk_session session;
        struct task task;
        if (!task_parse(entry->d_name, &task)) { continue; }
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        /* The file stays until the session is closed: the next agent needs it if this one is killed
         * meanwhile. */
        if (session_file_read(path, &session, NULL) == TN_OK &&
            !close_former(config, entry->d_name, &session, until_ms)) {
            session_reaper_close(reaper, entry->d_name, &session);
            continue;
        }
        (void)unlink(path);
    }
    closedir(stream);
}

void children_describe_end(const struct supervised *ended, char *text, size_t size)
{
    assert(text != NULL && size > 0);
    if (ended->kind == CHILD_SERVER && ended->signal == 0) { /* Java has exit codes of its own. */
        snprintf(text, size, "exit code %d", ended->exit_code);
    } else {
        process_describe_end(ended->exit_code, ended->signal, text, size);
    }
}

void children_log_reason(const struct child *child, char out[static LOG_REASON_MAX])
{
    assert(child->log_path[0] != '\0');
    if (child->log != NULL) { log_pipe_flush(child->log); }
    log_reason_read(child->log_path, child->log_start, out);
}
