#include "checker/judge.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checker/checker.h"
#include "checker/ensemble_log.h"
#include "common/base/text.h"

struct judge {
    const struct judge_input *input;
    struct judgement *out;
    struct checker checker;
    struct zk_tree tree;
    uint32_t index;   /* The ensemble being judged. */
    uint64_t wall_ms; /* The time of the transaction being judged. */
};

static void log_line(void *ctx, const char *text)
{
    const struct judge *judge = ctx;
    assert(text != NULL);
    if (judge->input->on_event != NULL) {
        judge->input->on_event(judge->input->ctx, judge->wall_ms, text);
    }
}

static void fail(void *ctx, const char *text)
{
    struct judge *judge = ctx;
    assert(judge->index < judge->input->ensemble_count);
    log_line(judge, text);
    if (!judge->out->passed) { return; /* The first finding stays. */ }
    judge->out->passed = false;
    if (judge->input->ensemble_count > 1) {
        (void)snprintf(judge->out->text, sizeof judge->out->text, "ensemble %u: %s",
                       judge->index + 1, text);
    } else {
        (void)snprintf(judge->out->text, sizeof judge->out->text, "%s", text);
    }
}

/* Whether a chief wrote it: programs that start a job write "forming" with revision 0. */
static bool is_order(const struct zk_change *change)
{
    struct run run;
    if (change->kind == ZK_DELETE || !text_ends_with(change->path, "/run")) { return false; }
    if (change->blob == NULL) { return false; }
    if (run_decode(change->blob->data, change->blob->size, &run, NULL) != TN_OK) { return false; }
    return run.phase != RUN_FORMING || run.revision != 0;
}

/* Every order, a write of /run by a chief, must be fenced. */
static void check_fence(struct judge *judge, const struct txn_log_entry *entry)
{
    const struct zk_txn *txn = entry->txn;
    assert(entry->check_count <= TXN_CHECKS_MAX);
    for (size_t i = 0; i < txn->count; i++) {
        if (!is_order(&txn->changes[i])) { continue; }
        bool fenced = false;
        for (size_t c = 0; c < entry->check_count; c++) {
            fenced = fenced || text_ends_with(entry->checks[c], "/chief");
        }
        if (!fenced) { fail(judge, "I2: an order was not conditional on /chief"); }
    }
}

/* Logs are not trusted: a change that does not fit the tree is skipped. */
static bool is_possible(const struct zk_tree *tree, const struct zk_change *change)
{
    char parent[ZK_PATH_MAX];
    assert(tree->count > 0);
    bool exists = zk_tree_find(tree, change->path) != NULL;
    if (change->path[0] != '/' || strcmp(change->path, "/") == 0) { return false; }
    zk_parent_of(change->path, parent);
    if (change->kind == ZK_CREATE) { return !exists && zk_tree_find(tree, parent) != NULL; }
    return exists && zk_tree_find(tree, parent) != NULL;
}

static void grow_tree(struct zk_tree *tree, const struct zk_txn *txn)
{
    struct zk_txn *one = calloc(1, sizeof *one + sizeof one->changes[0]);
    assert(one != NULL);
    for (size_t i = 0; i < txn->count; i++) {
        if (!is_possible(tree, &txn->changes[i])) { continue; }
        *one = (struct zk_txn){
            .zxid = tree->zxid + 1, .session = txn->session, .wall_ms = txn->wall_ms, .count = 1};
        one->changes[0] = txn->changes[i];
        zk_tree_apply(tree, one);
    }
    free(one);
    if (txn->closes_session) {
        zk_txn_release(zk_tree_close_session(tree, txn->session, txn->wall_ms));
    }
}

static void take_census(const struct zk_tree *tree, struct judge_census *out)
{
    assert(out != NULL);
    for (size_t i = 0; i < tree->count; i++) {
        char parent[ZK_PATH_MAX];
        const char *path = tree->nodes[i].path;
        if (strcmp(path, "/") == 0) { continue; }
        zk_parent_of(path, parent);
        uint64_t *count = text_ends_with(parent, "/members")       ? &out->members
                          : text_ends_with(parent, "/election")    ? &out->candidates
                          : text_ends_with(parent, "/exits")       ? &out->exits
                          : text_ends_with(parent, "/checkpoints") ? &out->checkpoints
                          : text_ends_with(parent, "/history")     ? &out->history
                          : text_ends_with(parent, "/requests")    ? &out->requests
                                                                   : &out->others;
        ++*count;
    }
}

static enum tn_status judge_ensemble(struct judge *judge, struct error *error)
{
    struct ensemble_log log;
    assert(judge->index < judge->input->ensemble_count);
    const char *folder = judge->input->ensembles[judge->index];
    bool last = judge->index + 1 == judge->input->ensemble_count;
    enum tn_status status = ensemble_log_read(folder, &log, error);
    if (status != TN_OK) { return status; }
    if (last && log.count == 0) {
        ensemble_log_free(&log);
        return error_set(error, TN_ENOENT, "no transaction log in %s", folder);
    }
    zk_tree_free(&judge->tree);
    zk_tree_init(&judge->tree);
    for (size_t i = 0; i < log.count; i++) {
        judge->wall_ms = log.entries[i].txn->wall_ms;
        check_fence(judge, &log.entries[i]);
        grow_tree(&judge->tree, log.entries[i].txn);
        checker_on_txn(&judge->checker, log.entries[i].txn);
    }
    if (log.missing > 0) {
        char text[96];
        (void)snprintf(text, sizeof text, "%" PRIu64 " transactions are in no server's log",
                       log.missing);
        fail(judge, text);
    }
    judge->out->transactions += log.count;
    judge->out->missing += log.missing;
    judge->out->servers = log.servers;
    ensemble_log_free(&log);
    return TN_OK;
}

static int by_path(const void *a, const void *b)
{
    const struct zk_node *left = a, *right = b;
    return strcmp(left->path, right->path);
}

static void show_znodes(struct judge *judge)
{
    assert(judge->input != NULL);
    struct zk_tree *tree = &judge->tree;
    if (judge->input->on_znode == NULL || tree->count == 0) { return; }
    qsort(tree->nodes, tree->count, sizeof *tree->nodes, by_path);
    for (size_t i = 0; i < tree->count; i++) {
        const struct zk_node *node = &tree->nodes[i];
        judge->input->on_znode(judge->input->ctx, node->path, node->stat.ephemeral_owner,
                               node->blob != NULL ? node->blob->data : NULL,
                               node->blob != NULL ? node->blob->size : 0);
    }
}

enum tn_status judge_run(const struct judge_input *input, struct judgement *out,
                         struct error *error)
{
    struct judge *judge = calloc(1, sizeof *judge);
    enum tn_status status = TN_OK;
    assert(input->job != NULL && input->ensembles != NULL);
    assert(input->ensemble_count > 0);
    *out = (struct judgement){.passed = true, .text = "no rule broken"};
    if (judge == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    judge->input = input;
    judge->out = out;
    checker_init(&judge->checker,
                 &(struct checker_config){.view = {.ctx = judge, .log = log_line, .fail = fail},
                                          .job = input->job});
    for (; judge->index < input->ensemble_count && status == TN_OK; judge->index++) {
        if (judge->index > 0) {
            checker_on_wipe(&judge->checker);
            log_line(judge, "the ensemble was wiped");
        }
        status = judge_ensemble(judge, error);
    }
    const struct checker *checker = &judge->checker;
    out->elections = checker->elections;
    out->loads = checker->loads;
    out->restores = checker->restores;
    out->commits = checker->commits;
    out->has_run = checker->has_run;
    out->run = checker->run;
    out->znodes = judge->tree.count > 0 ? judge->tree.count - 1 : 0;
    take_census(&judge->tree, &out->census);
    show_znodes(judge);
    zk_tree_free(&judge->tree);
    free(judge);
    return status;
}
