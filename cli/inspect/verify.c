#include "cli/inspect/verify.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cluster_read.h"
#include "cli/wait_notice.h"
#include "common/base/clock.h"
#include "common/base/log.h"

enum {
    POLL_MS = 20,
    ANSWERS_MAX = 1024,   /* More agents than a cluster has; others are ignored. */
    ANSWERS_STEP = 16,    /* How many answers to make room for at a time. */
    SUPERSEDED_MS = 2000, /* From the removal of a shard to that of the manifest's znode. */
};

#define NO_ANSWER "no agent with this folder has answered"

/* One request and its answers. */
struct inquiry {
    struct verify_cluster *verify;
    const struct manifest *manifest;
    char request[VERIFICATION_NAME_MAX], prefix[VERIFICATION_NAME_MAX];
    size_t count, capacity;
    struct verification *answers;         /* Owned. */
    char (*names)[VERIFICATION_NAME_MAX]; /* The names of their znodes. Owned. */
    uint64_t progress_ms;
};

static void path_of(const struct inquiry *inquiry, const char *name, char path[static ZK_PATH_MAX])
{
    char rest[sizeof "verifications/" + VERIFICATION_NAME_MAX];
    snprintf(rest, sizeof rest, "verifications/%s", name);
    znode_path(path, inquiry->verify->cluster, rest);
}

static bool is_complete(const struct inquiry *inquiry, const struct verification *answer)
{
    return answer->count >= inquiry->manifest->shard_count;
}

/* ----------------------------------------------------------------- request */

static enum tn_status ask(struct inquiry *inquiry, struct error *error)
{
    char path[ZK_PATH_MAX], *text = NULL;
    size_t size = 0;
    verification_request_name(inquiry->request, clock_new_incarnation());
    verification_answer_prefix(inquiry->prefix, inquiry->request);
    path_of(inquiry, inquiry->request, path);
    enum tn_status status = manifest_encode(inquiry->manifest, &text, &size, error);
    if (status != TN_OK) { return status; }
    const struct zk_write write = {
        .kind = ZK_CREATE, .path = path, .data = text, .size = size, .flags = ZK_EPHEMERAL};
    status = zk_sync_write(inquiry->verify->sync, &write, 1, error);
    free(text);
    return status;
}

/* The answers disappear with it. */
static void withdraw(const struct inquiry *inquiry)
{
    char path[ZK_PATH_MAX];
    path_of(inquiry, inquiry->request, path);
    const struct zk_write write = {.kind = ZK_DELETE, .path = path, .version = ZK_ANY_VERSION};
    enum tn_status status = zk_sync_write(inquiry->verify->sync, &write, 1, NULL);
    log_debug("%s withdrawn: %s", path, tanist_strerror(status)); /* Else it expires with us. */
}

/* ----------------------------------------------------------------- answers */

/* The answer in the znode `name`, a new one if it is not known. NULL: too many, or out of
 * memory. */
static struct verification *find_answer(struct inquiry *inquiry, const char *name)
{
    for (size_t i = 0; i < inquiry->count; i++) {
        if (strcmp(inquiry->names[i], name) == 0) { return &inquiry->answers[i]; }
    }
    if (inquiry->count == ANSWERS_MAX || strlen(name) >= VERIFICATION_NAME_MAX) { return NULL; }
    if (inquiry->count == inquiry->capacity) {
        const size_t capacity = inquiry->capacity + ANSWERS_STEP;
        void *answers = realloc(inquiry->answers, capacity * sizeof *inquiry->answers);
        if (answers != NULL) { inquiry->answers = answers; }
        void *names = realloc(inquiry->names, capacity * sizeof *inquiry->names);
        if (names != NULL) { inquiry->names = names; }
        if (answers == NULL || names == NULL) { return NULL; }
        inquiry->capacity = capacity;
    }
    snprintf(inquiry->names[inquiry->count], sizeof *inquiry->names, "%s", name);
    inquiry->answers[inquiry->count] = (struct verification){0};
    return &inquiry->answers[inquiry->count++];
}

static enum tn_status read_answer(struct inquiry *inquiry, const char *name, struct error *error)
{
    char path[ZK_PATH_MAX];
    struct zk_sync_data data;
    struct error wrong;
    struct verification *known = find_answer(inquiry, name);
    if (known == NULL || is_complete(inquiry, known)) { return TN_OK; }
    struct verification *fresh = malloc(sizeof *fresh);
    if (fresh == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    path_of(inquiry, name, path);
    enum tn_status status = zk_sync_read(inquiry->verify->sync, path, &data, error);
    if (status == TN_OK) {
        if (verification_decode(data.data, data.size, fresh, &wrong) != TN_OK) {
            log_warn("%s is ignored: %s", path, wrong.text);
        } else if (fresh->count <= inquiry->manifest->shard_count &&
                   (fresh->count > known->count || known->place[0] == '\0')) {
            *known = *fresh;
            inquiry->progress_ms = clock_monotonic_ms();
        }
        free(data.data);
    }
    free(fresh);
    return status == TN_ENOENT ? TN_OK : status;
}

static enum tn_status read_answers(struct inquiry *inquiry, struct error *error)
{
    char path[ZK_PATH_MAX];
    struct zk_sync_list found = {0};
    znode_path(path, inquiry->verify->cluster, "verifications");
    enum tn_status status = zk_sync_list(inquiry->verify->sync, path, &found, error);
    for (size_t i = 0; status == TN_OK && i < found.count; i++) {
        if (strncmp(found.names[i], inquiry->prefix, strlen(inquiry->prefix)) != 0) { continue; }
        status = read_answer(inquiry, found.names[i], error);
    }
    zk_sync_list_free(&found);
    return status;
}

/* ----------------------------------------------------------------- waiting */

static bool has_answered(const struct inquiry *inquiry, const struct manifest_shard *shard)
{
    for (size_t i = 0; i < inquiry->count; i++) {
        if (verification_is_at(&inquiry->answers[i], shard)) { return true; }
    }
    return false;
}

static bool is_known_absent(const struct verify_cluster *verify, const struct manifest_shard *shard)
{
    assert(verify->absent_count <= MANIFEST_SHARDS_MAX);
    for (uint32_t i = 0; i < verify->absent_count; i++) {
        if (strcmp(verify->absent[i], shard->place) == 0) { return true; }
    }
    return false;
}

/* Every agent that has answered has read all its shards, and no other is expected. */
static bool is_over(const struct inquiry *inquiry)
{
    for (size_t i = 0; i < inquiry->count; i++) {
        if (!is_complete(inquiry, &inquiry->answers[i])) { return false; }
    }
    for (uint32_t i = 0; i < inquiry->manifest->shard_count; i++) {
        const struct manifest_shard *shard = &inquiry->manifest->shards[i];
        if (!has_answered(inquiry, shard) && !is_known_absent(inquiry->verify, shard)) {
            return false;
        }
    }
    return true;
}

static void note_absent(const struct inquiry *inquiry)
{
    struct verify_cluster *verify = inquiry->verify;
    for (uint32_t i = 0; i < inquiry->manifest->shard_count; i++) {
        const struct manifest_shard *shard = &inquiry->manifest->shards[i];
        if (has_answered(inquiry, shard) || is_known_absent(verify, shard)) { continue; }
        if (verify->absent_count == MANIFEST_SHARDS_MAX) { return; }
        memcpy(verify->absent[verify->absent_count++], shard->place, sizeof shard->place);
    }
}

static enum tn_status wait_answers(struct inquiry *inquiry, struct error *error)
{
    enum tn_status status;
    struct wait_notice notice = wait_notice_start(clock_monotonic_ms());
    inquiry->progress_ms = notice.start_ms;
    while ((status = read_answers(inquiry, error)) == TN_OK && !is_over(inquiry)) {
        const uint64_t now_ms = clock_monotonic_ms();
        if (now_ms - inquiry->progress_ms >= inquiry->verify->timeout_ms) { break; }
        if (wait_notice_due(&notice, now_ms)) {
            fprintf(stderr,
                    "still waiting for the agents of %s to verify checkpoint %" PRIu64
                    " after %" PRIu64 " s\n",
                    inquiry->verify->cluster, inquiry->manifest->id,
                    wait_notice_seconds(&notice, now_ms));
        }
        (void)poll(NULL, 0, POLL_MS);
    }
    return status;
}

/* -------------------------------------------------------------- conclusion */

/* Whether the checkpoint was removed, because later ones were committed meanwhile. The ps remove
 * the shards, the chief the manifest, at about the same time. */
static bool is_superseded(const struct verify_cluster *verify, const struct manifest *manifest)
{
    char name[32];
    struct run run;
    struct manifest *found = malloc(sizeof *found);
    enum tn_status status = TN_OK;
    const uint64_t until_ms = clock_monotonic_ms() + SUPERSEDED_MS;
    snprintf(name, sizeof name, "%010" PRIu64, manifest->id);
    if (found == NULL) { return false; }
    do {
        status = cluster_read_manifest(verify->sync, verify->cluster, name, found, NULL);
        if (status != TN_OK) { break; }
        status = cluster_read_run(verify->sync, verify->cluster, &run, NULL);
        if (status != TN_OK || run.committed_checkpoint <= verify->newest) { break; }
        (void)poll(NULL, 0, POLL_MS);
    } while (clock_monotonic_ms() < until_ms);
    free(found);
    return status == TN_ENOENT;
}

/* True: a shard is damaged or missing. */
static bool conclude(const struct inquiry *inquiry, struct shard_conclusion *out)
{
    bool damaged = false;
    for (uint32_t i = 0; i < inquiry->manifest->shard_count; i++) {
        char late[VERIFICATION_REASON_MAX];
        snprintf(late, sizeof late, "its agent has read no further shard for %" PRIu64 " s",
                 inquiry->verify->timeout_ms / 1000);
        const bool answered = has_answered(inquiry, &inquiry->manifest->shards[i]);
        verification_conclude(inquiry->manifest, i, inquiry->answers, inquiry->count,
                              answered ? late : NO_ANSWER, &out[i]);
        damaged = damaged || out[i].verdict == SHARD_VERDICT_DAMAGED;
    }
    return damaged;
}

enum tn_status verify_in_cluster(struct verify_cluster *verify, const struct manifest *manifest,
                                 struct shard_conclusion *out, struct error *error)
{
    struct inquiry inquiry = {.verify = verify, .manifest = manifest};
    assert(manifest->shard_count <= MANIFEST_SHARDS_MAX);
    enum tn_status status = ask(&inquiry, error);
    if (status == TN_OK) { status = wait_answers(&inquiry, error); }
    if (status == TN_OK) {
        note_absent(&inquiry);
        withdraw(&inquiry);
        if (conclude(&inquiry, out) && is_superseded(verify, manifest)) {
            status =
                error_set(error, TN_ENOENT, "checkpoint %" PRIu64 " was superseded", manifest->id);
        }
    }
    free(inquiry.answers);
    free(inquiry.names);
    return status;
}
