/*
 * common/cluster/verification.h: the verification of a checkpoint whose shards are on several
 * hosts. Its author asks with an ephemeral znode that holds the manifest; for each agent, a process
 * on its host reads the shards in the agent's folder and answers with an ephemeral znode, which it
 * removes with the request.
 *
 *   /tanist/NAME/verifications/request-ID    the manifest
 *                             /answer-ID-ID  struct verification; the first ID is the request's
 *
 * Threads: no state.
 */
#ifndef COMMON_CLUSTER_VERIFICATION_H
#define COMMON_CLUSTER_VERIFICATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/cluster/manifest.h"

/* "request-" and 16 digits; "answer-", 16 digits, "-" and 16 digits. */
enum { VERIFICATION_NAME_MAX = 48, VERIFICATION_REASON_MAX = 256 };

enum verified_state { VERIFIED_ABSENT, VERIFIED_INTACT, VERIFIED_DAMAGED, VERIFIED_STATES };

struct verified_shard {
    enum verified_state state;
    char reason[VERIFICATION_REASON_MAX]; /* Damaged: what is wrong. */
};

/* The state of the shards in one folder. */
struct verification {
    char place[sizeof((struct manifest_shard *)0)->place]; /* "host:folder" */
    /* The first `count` shards have been read; all: the verification is complete. */
    uint32_t count;
    struct verified_shard shards[MANIFEST_SHARDS_MAX];
};

/* The result for a shard from all folders. */
enum shard_verdict {
    SHARD_VERDICT_OK,
    SHARD_VERDICT_DAMAGED,
    SHARD_VERDICT_UNKNOWN, /* Not verified. */
    SHARD_VERDICTS
};
struct shard_conclusion {
    enum shard_verdict verdict;
    char place[sizeof((struct manifest_shard *)0)->place]; /* Where it was read, or was written. */
    char reason[VERIFICATION_REASON_MAX];                  /* "" if it is intact. */
};
const char *shard_verdict_name(enum shard_verdict verdict); /* "ok", "damaged", "not verified" */

void verification_request_name(char name[static VERIFICATION_NAME_MAX], uint64_t id);
/* False: the znode is not a request. */
bool verification_is_request(const char *name);
/* The part of the names of all answers to the request, and the name of one of them. */
void verification_answer_prefix(char prefix[static VERIFICATION_NAME_MAX], const char *request);
void verification_answer_name(char name[static VERIFICATION_NAME_MAX], const char *request,
                              uint64_t id);

/* A JSON text; NULL: out of memory. free() it. */
char *verification_encode(const struct verification *verification);
/* TN_ECORRUPT: the error names the field, `*out` is undefined. */
MUST_CHECK enum tn_status verification_decode(const void *data, size_t size,
                                              struct verification *out, struct error *error);

/* Whether the shard was written in the folder of this verification. Reports cut long places, so
 * only their beginnings are compared. */
bool verification_is_at(const struct verification *verification,
                        const struct manifest_shard *shard);

/* A folder that was moved, or whose host has another name now, is still the place of the shards in
 * it: if no shard was written at `verification->place`, that of a shard found in it replaces it. */
void verification_adopt_place(struct verification *verification, const struct manifest *manifest);

/*
 * The result for shard `shard` from the verifications of all folders, complete or not. The folder
 * in which it was written counts most: a ps loads from there. A shard that is in none of them is
 * damaged if that folder was read, else not verified: `absent` is then its reason.
 */
void verification_conclude(const struct manifest *manifest, uint32_t shard,
                           const struct verification *verifications, size_t count,
                           const char *absent, struct shard_conclusion *out);

#endif
