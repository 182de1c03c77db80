/* cli/inspect/verify_folder.c: the shards in one folder, read for `tanist checkpoints verify` on
 * this host, or for an agent whose folder another host asks about. */
#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/inspect/verify.h"
#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/base/utf8.h"
#include "common/cluster/znodes.h"
#include "ps/store/store.h"
#include "ps/table/rows_file.h"

enum { WITHDRAWN_POLL_MS = 50 };

/* Start a verification of the shards in `folder`: none has been read. */
static void begin(struct verification *verification, const char *folder)
{
    char host[HOST_NAME_MAX_BYTES] = "", real[PATH_MAX];
    assert(folder != NULL);
    (void)gethostname(host, sizeof host - 1);
    *verification = (struct verification){0};
    struct text place = text_begin(verification->place, sizeof verification->place);
    text_add(&place, host);
    text_add(&place, ":");
    text_add(&place, realpath(folder, real) != NULL ? real : folder);
    utf8_clean(verification->place);
}

/* The rows of tables count as a part of the first shard, which has been read here. */
static enum tn_status verify_tables(const char *folder, const struct manifest *manifest,
                                    struct error *error)
{
    enum tn_status status = TN_OK;
    for (uint32_t f = 0; f < manifest->chain_count && status == TN_OK; f++) {
        const struct manifest_rows *rows = &manifest->chain[f];
        struct rows_file file = {.bytes = rows->bytes, .digest = rows->digest};
        snprintf(file.path, sizeof file.path, "%.2048s/tables/%010" PRIu64 ".rows", folder,
                 rows->checkpoint);
        status = rows_file_verify(&file, error);
    }
    return status == TN_ENOENT ? TN_ECORRUPT : status;
}

/* Read the next shard of `manifest`. TN_ENOMEM. */
static enum tn_status read_next(struct verification *verification, const char *folder,
                                const struct manifest *manifest, struct error *error)
{
    struct error damage = {0};
    char context[64];
    assert(verification->count < manifest->shard_count);
    const uint32_t shard = verification->count;
    struct verified_shard *found = &verification->shards[shard];
    enum tn_status status = store_verify(folder, manifest, shard, NULL, &damage);
    if (status == TN_OK && shard == 0) { status = verify_tables(folder, manifest, &damage); }
    if (status == TN_ENOMEM) { return error_set(error, status, "%s", damage.text); }
    *found = (struct verified_shard){.state = VERIFIED_INTACT};
    if (status == TN_ENOENT) { found->state = VERIFIED_ABSENT; }
    if (status != TN_OK && status != TN_ENOENT) {
        found->state = VERIFIED_DAMAGED;
        /* The reader knows the checkpoint and the shard. */
        snprintf(context, sizeof context, "checkpoint %" PRIu64 ": shard %" PRIu32 ": ",
                 manifest->id, shard);
        const bool named = strncmp(damage.text, context, strlen(context)) == 0;
        text_set(found->reason, sizeof found->reason, damage.text + (named ? strlen(context) : 0));
        utf8_plain(found->reason);
    }
    verification->count++;
    if (verification->count == manifest->shard_count) {
        verification_adopt_place(verification, manifest);
    }
    return TN_OK;
}

enum tn_status verify_in_folder(const char *folder, const struct manifest *manifest,
                                struct shard_conclusion *out, struct error *error)
{
    struct verification *verification = malloc(sizeof *verification);
    if (verification == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    begin(verification, folder);
    enum tn_status status = TN_OK;
    while (status == TN_OK && verification->count < manifest->shard_count) {
        status = read_next(verification, folder, manifest, error);
    }
    for (uint32_t i = 0; status == TN_OK && i < manifest->shard_count; i++) {
        verification_conclude(manifest, i, verification, 1,
                              "it is not in this folder; ask its agent: `tanist checkpoints "
                              "verify --zk CONNECT --cluster NAME`",
                              &out[i]);
    }
    free(verification);
    return status;
}

/* ------------------------------------------------------------------ answer */

/* The manifest that the request holds. TN_ENOENT: it was withdrawn. */
static enum tn_status read_request(struct zk_sync *sync, const char *path, struct manifest *out,
                                   struct error *error)
{
    struct zk_sync_data data;
    enum tn_status status = zk_sync_read(sync, path, &data, error);
    if (status != TN_OK) { return status; }
    status = manifest_decode(data.data, data.size, out, error);
    free(data.data);
    return status;
}

static enum tn_status publish(struct zk_sync *sync, const char *path, enum zk_write_kind kind,
                              const struct verification *verification, struct error *error)
{
    char *text = verification_encode(verification);
    if (text == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    const struct zk_write write = {.kind = kind,
                                   .path = path,
                                   .data = text,
                                   .size = strlen(text),
                                   .version = ZK_ANY_VERSION,
                                   .flags = kind == ZK_CREATE ? ZK_EPHEMERAL : 0};
    enum tn_status status = zk_sync_write(sync, &write, 1, error);
    free(text);
    return status;
}

static enum tn_status wait_withdrawn(struct zk_sync *sync, const char *path, struct error *error)
{
    struct zk_sync_data data;
    enum tn_status status;
    while ((status = zk_sync_read(sync, path, &data, error)) == TN_OK) {
        free(data.data);
        (void)poll(NULL, 0, WITHDRAWN_POLL_MS);
    }
    return status == TN_ENOENT ? TN_OK : status;
}

static enum tn_status answer(struct zk_sync *sync, const char *request, const char *reply,
                             const char *folder, const struct manifest *manifest,
                             struct verification *verification, struct error *error)
{
    begin(verification, folder);
    enum tn_status status = publish(sync, reply, ZK_CREATE, verification, error);
    while (status == TN_OK && verification->count < manifest->shard_count) {
        status = read_next(verification, folder, manifest, error);
        if (status == TN_OK) { status = publish(sync, reply, ZK_SET, verification, error); }
    }
    return status == TN_OK ? wait_withdrawn(sync, request, error) : status;
}

enum tn_status verify_answer(struct zk_sync *sync, const char *cluster, const char *request,
                             const char *folder, struct error *error)
{
    char name[VERIFICATION_NAME_MAX], rest[64], paths[2][ZK_PATH_MAX];
    if (!verification_is_request(request)) {
        return error_set(error, TN_EINVAL, "\"%s\" is not the name of a request", request);
    }
    verification_answer_name(name, request, clock_new_incarnation());
    snprintf(rest, sizeof rest, "verifications/%s", request);
    znode_path(paths[0], cluster, rest);
    snprintf(rest, sizeof rest, "verifications/%s", name);
    znode_path(paths[1], cluster, rest);
    struct manifest *manifest = malloc(sizeof *manifest);
    struct verification *verification = malloc(sizeof *verification);
    enum tn_status status = TN_ENOMEM;
    if (manifest == NULL || verification == NULL) {
        error_set(error, TN_ENOMEM, "out of memory");
    } else {
        status = read_request(sync, paths[0], manifest, error);
    }
    if (status == TN_OK) {
        status = answer(sync, paths[0], paths[1], folder, manifest, verification, error);
    }
    free(manifest);
    free(verification);
    return status == TN_ENOENT ? TN_OK : status; /* It was withdrawn. */
}
