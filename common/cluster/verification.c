#include "common/cluster/verification.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/json_codec.h"
#include "common/cluster/znode_codec.h"

#define REQUEST "request-"

/* A report has 64 bytes for a place; a character may be cut at the end. */
enum { PLACE_COMPARED = 60, ID_DIGITS = 16 };

/* ------------------------------------------------------------------- names */

const char *shard_verdict_name(enum shard_verdict verdict)
{
    static const char *const names[SHARD_VERDICTS] = {
        [SHARD_VERDICT_OK] = "ok",
        [SHARD_VERDICT_DAMAGED] = "damaged",
        [SHARD_VERDICT_UNKNOWN] = "not verified",
    };
    assert(verdict < SHARD_VERDICTS);
    return names[verdict];
}

void verification_request_name(char name[static VERIFICATION_NAME_MAX], uint64_t id)
{
    snprintf(name, VERIFICATION_NAME_MAX, REQUEST "%016" PRIx64, id);
}

bool verification_is_request(const char *name)
{
    const size_t prefix = strlen(REQUEST);
    assert(name != NULL);
    return strncmp(name, REQUEST, prefix) == 0 && strlen(name) == prefix + ID_DIGITS &&
           strspn(name + prefix, "0123456789abcdef") == ID_DIGITS;
}

void verification_answer_prefix(char prefix[static VERIFICATION_NAME_MAX], const char *request)
{
    assert(verification_is_request(request));
    snprintf(prefix, VERIFICATION_NAME_MAX, "answer-%s-", request + strlen(REQUEST));
}

void verification_answer_name(char name[static VERIFICATION_NAME_MAX], const char *request,
                              uint64_t id)
{
    assert(verification_is_request(request));
    snprintf(name, VERIFICATION_NAME_MAX, "answer-%s-%016" PRIx64, request + strlen(REQUEST), id);
}

/* ------------------------------------------------------ encode and decode */

static const char *const state_names[VERIFIED_STATES + 1] = {
    [VERIFIED_ABSENT] = "absent",
    [VERIFIED_INTACT] = "intact",
    [VERIFIED_DAMAGED] = "damaged",
};

#define AT(member) JSON_MEMBER(struct verified_shard, member)
static const struct json_field shard_fields[] = {
    {"state", FIELD_ENUM, AT(state), .names = state_names},
    {"reason", FIELD_TEXT, AT(reason)},
};
#undef AT
static const struct json_table shard_table = {
    JSON_FIELDS(shard_fields),
    .rules = JSON_ALL_REQUIRED | JSON_PLAIN_TEXTS,
    .status = TN_ECORRUPT,
};
static const struct json_field shard_element = {
    .type = FIELD_OBJECT,
    .size = sizeof(struct verified_shard),
    .table = &shard_table,
};

#define AT(member) JSON_MEMBER(struct verification, member)
static const struct json_field fields[] = {
    {.name = "version", .type = FIELD_OTHER},
    {"place", FIELD_TEXT, AT(place)},
    {"shards", FIELD_LIST, AT(shards), .element = &shard_element,
     .length_offset = offsetof(struct verification, count)},
};
#undef AT
static const struct json_table table = {
    JSON_FIELDS(fields),
    .rules = JSON_ALL_REQUIRED | JSON_PLAIN_TEXTS,
    .status = TN_ECORRUPT,
};

char *verification_encode(const struct verification *verification)
{
    assert(verification->count <= MANIFEST_SHARDS_MAX);
    json_t *object = znode_build(&table, verification);
    char *text = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    return text;
}

enum tn_status verification_decode(const void *data, size_t size, struct verification *out,
                                   struct error *error)
{
    *out = (struct verification){0};
    return znode_decode(&table, "a verification", data, size, out, error);
}

/* -------------------------------------------------------------- conclusion */

bool verification_is_at(const struct verification *verification, const struct manifest_shard *shard)
{
    assert(verification != NULL && shard != NULL);
    return strncmp(verification->place, shard->place, PLACE_COMPARED) == 0;
}

void verification_adopt_place(struct verification *verification, const struct manifest *manifest)
{
    assert(verification->count <= manifest->shard_count);
    for (uint32_t i = 0; i < manifest->shard_count; i++) {
        if (verification_is_at(verification, &manifest->shards[i])) { return; }
    }
    for (uint32_t i = 0; i < verification->count; i++) {
        if (verification->shards[i].state == VERIFIED_ABSENT) { continue; }
        memcpy(verification->place, manifest->shards[i].place, sizeof verification->place);
        return;
    }
}

/* The weight of the state that one folder knows; 0: it knows nothing. */
static int weight(const struct verification *verification, const struct manifest *manifest,
                  uint32_t shard)
{
    static const int weights[2][VERIFIED_STATES] = {
        {[VERIFIED_ABSENT] = 0, [VERIFIED_DAMAGED] = 2, [VERIFIED_INTACT] = 3},
        {[VERIFIED_ABSENT] = 1, [VERIFIED_DAMAGED] = 4, [VERIFIED_INTACT] = 5},
    };
    assert(shard < manifest->shard_count);
    if (shard >= verification->count) { return 0; }
    assert(verification->shards[shard].state < VERIFIED_STATES);
    return weights[verification_is_at(verification, &manifest->shards[shard])]
                  [verification->shards[shard].state];
}

void verification_conclude(const struct manifest *manifest, uint32_t shard,
                           const struct verification *verifications, size_t count,
                           const char *absent, struct shard_conclusion *out)
{
    const struct verification *best = NULL;
    int most = 0;
    assert(shard < manifest->shard_count && absent != NULL);
    for (size_t i = 0; i < count; i++) {
        int found = weight(&verifications[i], manifest, shard);
        if (found <= most) { continue; }
        best = &verifications[i];
        most = found;
    }
    *out = (struct shard_conclusion){.verdict = SHARD_VERDICT_UNKNOWN};
    memcpy(out->place, best != NULL ? best->place : manifest->shards[shard].place,
           sizeof out->place);
    if (best == NULL) {
        snprintf(out->reason, sizeof out->reason, "%s", absent);
        return;
    }
    const struct verified_shard *state = &best->shards[shard];
    out->verdict = state->state == VERIFIED_INTACT ? SHARD_VERDICT_OK : SHARD_VERDICT_DAMAGED;
    if (state->state == VERIFIED_ABSENT) {
        snprintf(out->reason, sizeof out->reason, "its file does not exist");
    } else if (state->state == VERIFIED_DAMAGED) {
        memcpy(out->reason, state->reason, sizeof out->reason);
    }
}
