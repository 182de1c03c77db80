#include "data/source/stored_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/source/index.h"
#include "data/source/unpack.h"

static bool find_digest(struct digest key, struct digest *digest)
{
    size_t size = 0;
    char *payload = index_load("digest", key, &size);
    const bool found = payload != NULL && size == sizeof *digest;
    if (found) { memcpy(digest, payload, sizeof *digest); }
    free(payload);
    return found;
}

/* Replace the packed file by the unpacked one that is stored, if that has the digest. */
static bool take_unpacked(struct digest key, struct digest digest, struct source_file *file)
{
    char path[INDEX_PATH_MAX];
    struct source_file unpacked = {0};
    struct error ignored;
    if (!index_find("unpacked", key, path)) { return false; }
    if (source_file_open(path, &unpacked, &ignored) != TN_OK) { return false; }
    if (!digest_equal(digest_of(unpacked.bytes, unpacked.size), digest)) {
        source_file_close(&unpacked);
        return false;
    }
    source_file_close(file);
    *file = unpacked;
    return true;
}

static enum tn_status unpack(const char *path, const struct digest *key, bool known,
                             struct source_file *file, struct digest *digest, struct error *error)
{
    char place[INDEX_PATH_MAX];
    if (known && take_unpacked(*key, *digest, file)) { return TN_OK; }
    const bool stored = key != NULL && index_place("unpacked", *key, place);
    if (stored) { (void)unlink(place); /* Damaged, or without a digest. */ }
    enum tn_status status = unpack_file(path, stored ? place : NULL, file, error);
    if (status == TN_OK) { *digest = digest_of(file->bytes, file->size); }
    return status;
}

enum tn_status stored_file_open(const char *path, struct source_file *out, struct digest *digest,
                                struct error *error)
{
    struct digest key;
    const bool stored = index_key_of_file(path, &key);
    enum tn_status status = source_file_open(path, out, error);
    if (status != TN_OK) { return status; }
    const bool known = stored && find_digest(key, digest);
    if (unpack_is_packed(out->bytes, out->size)) {
        status = unpack(path, stored ? &key : NULL, known, out, digest, error);
    } else if (!known) {
        *digest = digest_of(out->bytes, out->size);
    }
    if (status == TN_OK && stored && !known) { index_store("digest", key, digest, sizeof *digest); }
    return status;
}
