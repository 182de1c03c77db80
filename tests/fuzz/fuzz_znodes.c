/* Fuzz target: any text is a znode that survives encoding and decoding, or gives an error. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cluster/verification.h"
#include "common/cluster/znodes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char first[ZNODE_JSON_MAX], second[ZNODE_JSON_MAX];

/* A decoded record encodes to a text that decodes, and encodes to the same text again. */
#define TRY(kind, record)                                                                          \
    static void try_##kind(const uint8_t *bytes, size_t size)                                      \
    {                                                                                              \
        static struct record value;                                                                \
        struct error error = {.text = ""};                                                         \
        if (kind##_decode(bytes, size, &value, &error) != TN_OK) {                                 \
            assert(error.text[0] != '\0');                                                         \
            return;                                                                                \
        }                                                                                          \
        size_t length = kind##_encode(&value, first);                                              \
        enum tn_status status = kind##_decode(first, length, &value, &error);                      \
        assert(status == TN_OK);                                                                   \
        size_t again = kind##_encode(&value, second);                                              \
        assert(again == length && memcmp(first, second, length) == 0);                             \
    }

TRY(chief_record, chief_record)
TRY(member, member)
TRY(exit_note, exit_note)
TRY(run, run)
TRY(assignment, assignment)
TRY(history, history_entry)
TRY(request, request)
TRY(kill_request, kill_request)

static void try_spec(const uint8_t *bytes, size_t size)
{
    struct spec spec;
    struct error error = {.text = ""};
    if (spec_decode(bytes, size, &spec, &error) != TN_OK) {
        assert(error.text[0] != '\0');
        return;
    }
    free(spec.job_json);
}

static void try_verification(const uint8_t *bytes, size_t size)
{
    static struct verification value;
    struct error error = {.text = ""};
    if (verification_decode(bytes, size, &value, &error) != TN_OK) {
        assert(error.text[0] != '\0');
        return;
    }
    char *text = verification_encode(&value);
    assert(text != NULL);
    enum tn_status status = verification_decode(text, strlen(text), &value, &error);
    assert(status == TN_OK);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    try_chief_record(bytes, size);
    try_member(bytes, size);
    try_exit_note(bytes, size);
    try_run(bytes, size);
    try_assignment(bytes, size);
    try_history(bytes, size);
    try_request(bytes, size);
    try_kill_request(bytes, size);
    try_verification(bytes, size);
    try_spec(bytes, size);
    return 0;
}
