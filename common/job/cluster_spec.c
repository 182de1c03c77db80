#include "common/job/cluster_spec.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

void cluster_spec_init(struct cluster_spec *spec)
{
    memset(spec, 0, sizeof *spec);
}

uint32_t cluster_spec_index(struct task task)
{
    assert(task.role < ROLE_COUNT);
    assert(task.index < role_limit(task.role));
    uint32_t first = 0;
    for (int role = 0; role < (int)task.role; role++) { first += role_limit((enum role)role); }
    return first + task.index;
}

/* A role by the name of a TensorFlow job. */
static enum tn_status job_name_role(const char *name, enum role *out, struct error *error)
{
    assert(name != NULL);
    if (role_parse(name, out)) { return TN_OK; }
    if (strcmp(name, "chief") == 0 || strcmp(name, "master") == 0) {
        *out = ROLE_COORDINATOR;
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "job \"%s\" is unknown: use coordinator (or chief, master), ps, worker or "
                     "evaluator",
                     name);
}

static enum tn_status set_address(struct cluster_spec *spec, struct task task, const char *address,
                                  struct error *error)
{
    assert(task.role < ROLE_COUNT);
    char name[TASK_NAME_MAX];
    task_format(task, ':', name, sizeof name);
    const char *colon = strrchr(address, ':');
    char *end = NULL;
    long port = colon != NULL ? strtol(colon + 1, &end, 10) : 0;
    if (colon == NULL || colon == address || end == colon + 1 || *end || port < 1 || port > 65535) {
        return error_set(error, TN_EINVAL, "%s: \"%s\" is not an address: give host:port", name,
                         address);
    }
    if (strlen(address) >= TRANSPORT_ADDRESS_MAX - sizeof "tcp://") {
        return error_set(error, TN_EINVAL, "%s: the address is too long", name);
    }
    if (task.index >= role_limit(task.role)) {
        return error_set(error, TN_EINVAL, "%s: the index is at most %" PRIu32, name,
                         role_limit(task.role) - 1);
    }
    memcpy(spec->address[cluster_spec_index(task)], address, strlen(address) + 1);
    if (spec->count[task.role] <= task.index) { spec->count[task.role] = task.index + 1; }
    return TN_OK;
}

static void clear_role(struct cluster_spec *spec, enum role role)
{
    assert(role < ROLE_COUNT);
    struct task first = {.role = role};
    memset(spec->address[cluster_spec_index(first)], 0,
           (size_t)role_limit(role) * sizeof spec->address[0]);
    spec->count[role] = 0;
}

/* A decimal number without a sign, below TASKS_MAX. */
static bool parse_index(const char *text, uint32_t *out)
{
    char *end = NULL;
    if (*text < '0' || *text > '9') { return false; }
    unsigned long value = strtoul(text, &end, 10);
    *out = (uint32_t)value;
    return *end == '\0' && value < TASKS_MAX;
}

/* ["host:port", ...] or {"0": "host:port", ...}. */
static enum tn_status read_hosts(struct cluster_spec *spec, const char *job_name,
                                 const json_t *hosts, struct error *error)
{
    struct task task = {0};
    enum tn_status status = job_name_role(job_name, &task.role, error);
    if (status != TN_OK) { return status; }
    if (!json_is_array(hosts) && !json_is_object(hosts)) {
        return error_set(error, TN_EINVAL,
                         "cluster.%s is neither a list of addresses nor an object", job_name);
    }
    clear_role(spec, task.role);
    for (size_t i = 0; status == TN_OK && i < json_array_size(hosts); i++) {
        const char *address = json_string_value(json_array_get(hosts, i));
        task.index = (uint32_t)i;
        status = set_address(spec, task, address != NULL ? address : "", error);
    }
    for (void *at = json_object_iter((json_t *)(uintptr_t)hosts); status == TN_OK && at != NULL;
         at = json_object_iter_next((json_t *)(uintptr_t)hosts, at)) {
        const char *key = json_object_iter_key(at);
        const char *address = json_string_value(json_object_iter_value(at));
        status = parse_index(key, &task.index)
                     ? set_address(spec, task, address != NULL ? address : "", error)
                     : error_set(error, TN_EINVAL, "cluster.%s: \"%s\" is not a task index",
                                 job_name, key);
    }
    return status;
}

static enum tn_status read_task(struct cluster_spec *spec, const json_t *task, struct error *error)
{
    char number[32] = "";
    const char *type = json_string_value(json_object_get(task, "type"));
    const json_t *index = json_object_get(task, "index");
    if (type == NULL) {
        return error_set(error, TN_EINVAL, "task.type is missing: give \"worker\", \"ps\" ...");
    }
    if (json_is_integer(index)) {
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(index));
    } else if (json_is_string(index)) {
        snprintf(number, sizeof number, "%s", json_string_value(index));
    }
    return cluster_spec_set_task(spec, type, number, error);
}

static struct task task_at(uint32_t index)
{
    struct task task = {.role = ROLE_COORDINATOR, .index = index};
    assert(index < TASKS_MAX);
    while (task.index >= role_limit(task.role)) {
        task.index -= role_limit(task.role);
        task.role = (enum role)(task.role + 1);
    }
    return task;
}

static enum tn_status check_addresses(const struct cluster_spec *spec, struct error *error)
{
    for (uint32_t i = 0; i < TASKS_MAX; i++) {
        if (!*spec->address[i]) { continue; }
        for (uint32_t j = 0; j < i; j++) {
            char one[TASK_NAME_MAX], other[TASK_NAME_MAX];
            if (strcmp(spec->address[i], spec->address[j]) != 0) { continue; }
            task_format(task_at(j), ':', one, sizeof one);
            task_format(task_at(i), ':', other, sizeof other);
            return error_set(error, TN_EINVAL,
                             "%s and %s have the same address %s: give each task its own port", one,
                             other, spec->address[i]);
        }
    }
    return TN_OK;
}

/* Refuses a cluster whose nodes would wait for each other forever. */
static enum tn_status check_cluster(const struct cluster_spec *spec, struct error *error)
{
    char name[TASK_NAME_MAX];
    assert(spec->task.role < ROLE_COUNT);
    if (spec->count[ROLE_COORDINATOR] == 0) {
        return error_set(error, TN_EINVAL,
                         "the cluster has no chief: add \"chief\": [\"host:port\"]");
    }
    enum tn_status status = check_addresses(spec, error);
    if (status != TN_OK || !spec->has_task) { return status; }
    /* TensorFlow leaves the evaluator out of the cluster: only its own task names it. */
    if (spec->task.role == ROLE_EVALUATOR && spec->count[ROLE_EVALUATOR] == 0) { return TN_OK; }
    if (*spec->address[cluster_spec_index(spec->task)]) { return TN_OK; }
    task_format(spec->task, ':', name, sizeof name);
    return error_set(error, TN_EINVAL,
                     "task %s is not in the cluster, which has %" PRIu32
                     " task%s of that role: correct task.index, or add its address",
                     name, spec->count[spec->task.role], text_plural(spec->count[spec->task.role]));
}

enum tn_status cluster_spec_read_tf_config(struct cluster_spec *spec, const char *text,
                                           struct error *error)
{
    assert(text != NULL);
    json_error_t where;
    const char *job_name;
    json_t *hosts, *root = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL) {
        return error_set(error, TN_EINVAL, "TF_CONFIG: line %d, column %d: not valid JSON: %s",
                         where.line, where.column, where.text);
    }
    enum tn_status status = TN_OK;
    json_t *cluster = json_object_get(root, "cluster"), *task = json_object_get(root, "task");
    if (!json_is_object(root) || (cluster != NULL && !json_is_object(cluster))) {
        status =
            error_set(error, TN_EINVAL, "give {\"cluster\": {\"worker\": [...]}, \"task\": {...}}");
    } else if (cluster != NULL) {
        json_object_foreach(cluster, job_name, hosts)
        {
            if (status == TN_OK) { status = read_hosts(spec, job_name, hosts, error); }
        }
    }
    if (status == TN_OK && task != NULL) { status = read_task(spec, task, error); }
    if (status == TN_OK && cluster != NULL) { status = check_cluster(spec, error); }
    if (status != TN_OK) { (void)error_context(error, "TF_CONFIG"); }
    json_decref(root);
    return status;
}

enum tn_status cluster_spec_set_hosts(struct cluster_spec *spec, enum role role, const char *hosts,
                                      struct error *error)
{
    assert(hosts != NULL);
    char address[TRANSPORT_ADDRESS_MAX];
    struct task task = {.role = role};
    enum tn_status status = TN_OK;
    clear_role(spec, role);
    for (const char *at = hosts; status == TN_OK && *at; task.index++) {
        size_t length = strcspn(at, ",");
        snprintf(address, sizeof address, "%.*s", (int)(length < sizeof address ? length : 0), at);
        status = set_address(spec, task, address, error);
        at += length + (at[length] == ',');
    }
    return status;
}

enum tn_status cluster_spec_set_task(struct cluster_spec *spec, const char *job_name,
                                     const char *task_index, struct error *error)
{
    assert(spec->task.role < ROLE_COUNT);
    struct task task = spec->task;
    if (job_name != NULL) {
        enum tn_status status = job_name_role(job_name, &task.role, error);
        if (status != TN_OK) { return status; }
    }
    if (task_index != NULL &&
        (!parse_index(task_index, &task.index) || task.index >= role_limit(task.role))) {
        return error_set(error, TN_EINVAL,
                         "task index \"%s\": give a whole number from 0 to %" PRIu32, task_index,
                         role_limit(task.role) - 1);
    }
    spec->task = task;
    spec->has_task = true;
    return TN_OK;
}

enum tn_status cluster_spec_read_environment(struct cluster_spec *spec, struct error *error)
{
    static const struct {
        const char *name;
        enum role role;
    } lists[] = {{"PS_HOSTS", ROLE_PS}, {"WORKER_HOSTS", ROLE_WORKER}};
    const char *config = getenv("TF_CONFIG");
    enum tn_status status = TN_OK;
    if (config != NULL && *config) { status = cluster_spec_read_tf_config(spec, config, error); }
    for (size_t i = 0; status == TN_OK && i < 2; i++) {
        const char *hosts = getenv(lists[i].name);
        if (hosts == NULL || !*hosts) { continue; }
        status = cluster_spec_set_hosts(spec, lists[i].role, hosts, error);
        if (status != TN_OK) { (void)error_context(error, "%s", lists[i].name); }
    }
    const char *job_name = getenv("JOB_NAME"), *index = getenv("TASK_INDEX");
    if (status == TN_OK && job_name != NULL && *job_name) {
        status =
            cluster_spec_set_task(spec, job_name, index != NULL && *index ? index : NULL, error);
        if (status != TN_OK) { (void)error_context(error, "JOB_NAME, TASK_INDEX"); }
    }
    return status;
}

enum tn_status cluster_spec_apply(const struct cluster_spec *spec, struct job *job,
                                  struct error *error)
{
    assert(spec->task.role < ROLE_COUNT);
    uint32_t *numbers[ROLE_COUNT] = {&job->cluster.coordinators, &job->cluster.ps,
                                     &job->cluster.workers, &job->cluster.evaluators};
    for (int role = 0; role < ROLE_COUNT; role++) {
        if (spec->count[role] > 0) { *numbers[role] = spec->count[role]; }
    }
    if (spec->count[ROLE_WORKER] > 0) { job->cluster.workers_least = 0; }
    if (job->cluster.min_workers > job->cluster.workers) {
        job->cluster.min_workers = job->cluster.workers;
    }
    if (!spec->has_task || spec->task.index < *numbers[spec->task.role]) { return TN_OK; }
    if (spec->task.role == ROLE_EVALUATOR) {
        return error_set(error, TN_EINVAL,
                         "task evaluator:%" PRIu32
                         " is not in the cluster: set cluster.evaluators to 1 in the job file of "
                         "every task, or add \"evaluator\": [\"host:port\"] to every TF_CONFIG",
                         spec->task.index);
    }
    return error_set(error, TN_EINVAL,
                     "task %s:%" PRIu32 " is not in the cluster, which has %" PRIu32
                     " task%s of that role: give more, or a lower index",
                     role_name(spec->task.role), spec->task.index, *numbers[spec->task.role],
                     text_plural(*numbers[spec->task.role]));
}

bool cluster_spec_listen(const struct cluster_spec *spec, char text[static TRANSPORT_ADDRESS_MAX])
{
    if (!spec->has_task) { return false; }
    const char *address = spec->address[cluster_spec_index(spec->task)];
    if (!*address) { return false; }
    snprintf(text, TRANSPORT_ADDRESS_MAX, "tcp://%.*s", TRANSPORT_ADDRESS_MAX - 8, address);
    return true;
}
