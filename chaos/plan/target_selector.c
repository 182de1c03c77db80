#include "chaos/plan/target_selector.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/cluster/task.h"

/* Each selector that is not the name of one target, and what it selects. */
static const struct {
    const char *name;
    enum target_kind kind;
} keywords[] = {
    {"chief", TARGET_NODE},
    {"coordinator", TARGET_NODE},
    {"ps", TARGET_NODE},
    {"worker", TARGET_NODE},
    {"evaluator", TARGET_NODE},
    {"gpu", TARGET_NODE},
    {"any", TARGET_NODE},
    {"agent", TARGET_AGENT},
    {"zookeeper", TARGET_ZOOKEEPER},
    {"zookeeper-leader", TARGET_ZOOKEEPER},
    {"zookeeper-follower", TARGET_ZOOKEEPER},
    {"zookeeper-majority", TARGET_ZOOKEEPER},
    {"zookeeper-all", TARGET_ZOOKEEPER},
    {"everything", TARGET_EVERYTHING},
    {"cluster", TARGET_CLUSTER},
};
enum { KEYWORDS = sizeof keywords / sizeof *keywords, SERVERS_MAX = 99 };

static const char SERVER_PREFIX[] = "zookeeper:";

/* The number in "zookeeper:2"; 0: it is not such a name. */
static uint32_t server_of(const char *selector)
{
    size_t length = strlen(selector), prefix = sizeof SERVER_PREFIX - 1;
    uint32_t number = 0;
    if (strncmp(selector, SERVER_PREFIX, prefix) != 0 || length > prefix + 2) { return 0; }
    for (const char *at = selector + prefix; *at != '\0'; at++) {
        if (*at < '0' || *at > '9') { return 0; }
        number = number * 10 + (uint32_t)(*at - '0');
    }
    return number <= SERVERS_MAX ? number : 0;
}

/* "ps:1"; false: it is not the name of a task. */
static bool is_task(const char *selector, struct task *out)
{
    return strchr(selector, ':') != NULL && task_parse(selector, out);
}

/* The kind of targets that are selected; 0: it is not a valid selector. */
static unsigned kind_of(const char *selector)
{
    struct task task;
    for (int i = 0; i < KEYWORDS; i++) {
        if (strcmp(selector, keywords[i].name) == 0) { return keywords[i].kind; }
    }
    if (server_of(selector) > 0) { return TARGET_ZOOKEEPER; }
    return is_task(selector, &task) ? TARGET_NODE : 0;
}

/* The role of "ps", "ps:1" or "chief". */
static enum role role_of(const char *selector)
{
    struct task task;
    enum role role;
    if (is_task(selector, &task)) { return task.role; }
    return role_parse(selector, &role) ? role : ROLE_COORDINATOR;
}

/* "gpu": the job decides which of these compute on GPUs. */
static bool may_have_gpu(const char *name)
{
    return strcmp(name, "gpu") == 0 || role_of(name) == ROLE_WORKER || role_of(name) == ROLE_PS;
}

bool selector_passes(const char *selector, const char *who)
{
    if (kind_of(selector) != TARGET_NODE) { return false; }
    if (strcmp(who, "any") == 0 || strcmp(selector, "any") == 0) { return true; }
    if (strcmp(who, "gpu") == 0) { return may_have_gpu(selector); }
    if (strcmp(selector, "gpu") == 0) { return may_have_gpu(who); }
    return role_of(selector) == role_of(who);
}

/* The role that has the targets of a selector for `role`, in a job with `ps` ps. */
static enum role role_in(uint32_t ps, enum role role)
{
    return role == ROLE_PS ? role_of_holders(ps) : role;
}

bool selector_has_role(const char *selector, uint32_t ps, enum role role)
{
    enum role named;
    return role_parse(selector, &named) && role_in(ps, named) == role;
}

bool selector_lacks_gpu(const char *selector, const struct cluster_shape *shape)
{
    if (strcmp(selector, "any") == 0) { return false; }
    if (strcmp(selector, "gpu") == 0) { return !shape->worker_gpus && !shape->ps_gpus; }
    return !(role_in(shape->ps, role_of(selector)) == ROLE_PS ? shape->ps_gpus
                                                              : shape->worker_gpus);
}

static void list_keywords(unsigned targets, struct text *out)
{
    for (int i = 0; i < KEYWORDS; i++) {
        if ((targets & keywords[i].kind) == 0) { continue; }
        text_add(out, out->used > 0 ? ", " : "");
        text_add(out, keywords[i].name);
    }
}

bool selector_fits_fault(const char *selector, enum fault fault, char *why, size_t size)
{
    const struct fault_descriptor *descriptor = fault_descriptor(fault);
    unsigned kind = kind_of(selector);
    const char *names[KEYWORDS];
    char list[240];
    assert(size > 0);
    if ((descriptor->targets & kind) != 0) { return true; }
    for (int i = 0; i < KEYWORDS; i++) { names[i] = keywords[i].name; }
    const char *near = kind == 0 ? nearest_word(selector, names, KEYWORDS) : NULL;
    struct text keyword_list = text_begin(list, sizeof list);
    list_keywords(descriptor->targets, &keyword_list);
    if (near != NULL) {
        snprintf(why, size, "\"%.40s\": did you mean \"%s\"?", selector, near);
    } else if (kind != 0) {
        snprintf(why, size, "\"%.40s\": %s cannot have this target: give one of %s", selector,
                 descriptor->name, list);
    } else {
        snprintf(why, size, "\"%.40s\" selects nothing: give one of %s, or a name like \"%s\"",
                 selector, list, (descriptor->targets & TARGET_NODE) != 0 ? "ps:1" : "zookeeper:1");
    }
    return false;
}

/* ----------------------------------------------------------------- drawing */

static uint32_t count_of(const struct cluster_shape *shape, enum role role)
{
    const uint32_t counts[ROLE_COUNT] = {[ROLE_COORDINATOR] = shape->coordinators,
                                         [ROLE_PS] = shape->ps,
                                         [ROLE_WORKER] = shape->workers,
                                         [ROLE_EVALUATOR] = shape->evaluators};
    assert(role < ROLE_COUNT);
    return counts[role];
}

static enum tn_status refuse_count(const char *selector, uint32_t count, const char *kind,
                                   struct error *error)
{
    return error_set(error, TN_EINVAL, "\"%s\": the cluster has %u %s: change the plan or the job",
                     selector, count, kind);
}

/* Any node, all with the same probability. */
static enum tn_status draw_node(const struct cluster_shape *shape, struct random *random,
                                struct task *out, struct error *error)
{
    const uint32_t all = shape->coordinators + shape->ps + shape->workers + shape->evaluators;
    if (all == 0) { return refuse_count("any", 0, "nodes", error); }
    *out = (struct task){ROLE_COORDINATOR, (uint32_t)random_below(random, all)};
    while (out->index >= count_of(shape, out->role)) {
        out->index -= count_of(shape, out->role);
        out->role = (enum role)(out->role + 1);
    }
    return TN_OK;
}

/* A worker or a ps, of those that compute on GPUs; all with the same probability. */
static enum tn_status draw_gpu(const struct cluster_shape *shape, struct random *random,
                               struct task *out, struct error *error)
{
    const uint32_t workers = shape->worker_gpus ? shape->workers : 0;
    const uint32_t ps = shape->ps_gpus ? shape->ps : 0;
    if (workers + ps == 0) { return refuse_count("gpu", 0, "nodes with GPUs", error); }
    const uint32_t number = (uint32_t)random_below(random, workers + ps);
    *out = number < workers ? (struct task){ROLE_WORKER, number}
                            : (struct task){ROLE_PS, number - workers};
    return TN_OK;
}

static enum tn_status draw_server(const char *selector, const struct cluster_shape *shape,
                                  struct random *random, char out[static SELECTOR_MAX],
                                  struct error *error)
{
    assert(kind_of(selector) == TARGET_ZOOKEEPER);
    uint32_t server = server_of(selector);
    if (server > shape->servers || shape->servers == 0) {
        return refuse_count(selector, shape->servers, "ZooKeeper servers of its own", error);
    }
    if (strcmp(selector, "zookeeper") == 0) {
        server = 1 + (uint32_t)random_below(random, shape->servers);
    }
    if (server > 0) {
        snprintf(out, SELECTOR_MAX, "%s%u", SERVER_PREFIX, server);
    } else {
        snprintf(out, SELECTOR_MAX, "%s", selector);
    }
    return TN_OK;
}

enum tn_status selector_draw(const char *selector, const struct cluster_shape *shape,
                             struct random *random, char out[static SELECTOR_MAX],
                             struct error *error)
{
    struct task task = {0};
    enum role role;
    if (kind_of(selector) == TARGET_ZOOKEEPER) {
        return draw_server(selector, shape, random, out, error);
    }
    if (strcmp(selector, "any") == 0) {
        enum tn_status status = draw_node(shape, random, &task, error);
        if (status != TN_OK) { return status; }
    } else if (strcmp(selector, "gpu") == 0) {
        enum tn_status status = draw_gpu(shape, random, &task, error);
        if (status != TN_OK) { return status; }
    } else if (role_parse(selector, &role)) {
        role = role_in(shape->ps, role);
        if (count_of(shape, role) == 0) { return refuse_count(selector, 0, selector, error); }
        task = (struct task){role, (uint32_t)random_below(random, count_of(shape, role))};
    } else if (!is_task(selector, &task)) {
        snprintf(out, SELECTOR_MAX, "%s", selector);
        return TN_OK;
    }
    if (task.index >= count_of(shape, task.role)) {
        return refuse_count(selector, count_of(shape, task.role), role_name(task.role), error);
    }
    task_format(task, ':', out, SELECTOR_MAX);
    return TN_OK;
}
