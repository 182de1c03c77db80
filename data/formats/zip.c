#include "data/formats/zip.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/minmax.h"
#include "data/formats/bytes.h"

/* Sizes and signatures of PKWARE's APPNOTE.TXT, 4.3. */
enum {
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    COMMENT_MAX = 0xffff,
    EXTRA_ZIP64 = 1,
};
#define END_SIGNATURE     UINT32_C(0x06054b50)
#define END64_SIGNATURE   UINT32_C(0x06064b50)
#define LOCATOR_SIGNATURE UINT32_C(0x07064b50)
#define ENTRY_SIGNATURE   UINT32_C(0x02014b50)
#define LOCAL_SIGNATURE   UINT32_C(0x04034b50)
#define IN_ZIP64          UINT32_C(0xffffffff)

static enum tn_status damaged(struct error *error, const char *what)
{
    return error_set(error, TN_ECORRUPT, "the ZIP archive is damaged: %s", what);
}

/* The record at the end of the archive, which a comment may follow. False: there is none. */
static bool find_end(const uint8_t *bytes, size_t size, size_t *at)
{
    if (size < END_BYTES) { return false; }
    const size_t last = size - END_BYTES;
    for (size_t comment = 0; comment <= size_min(last, COMMENT_MAX); comment++) {
        const uint8_t *end = bytes + last - comment;
        if (bytes_u32(end) != END_SIGNATURE || bytes_u16(end + 20) != comment) { continue; }
        *at = last - comment;
        return true;
    }
    return false;
}

static enum tn_status read_end64(const uint8_t *bytes, size_t end_at, struct zip_directory *out,
                                 uint64_t *start, uint64_t *length, struct error *error)
{
    if (end_at < LOCATOR_BYTES + END64_BYTES) { return damaged(error, "ZIP64 has no record"); }
    const uint8_t *locator = bytes + end_at - LOCATOR_BYTES;
    if (bytes_u32(locator) != LOCATOR_SIGNATURE) { return damaged(error, "ZIP64 has no locator"); }
    const uint64_t at = bytes_u64(locator + 8);
    if (at > end_at - LOCATOR_BYTES - END64_BYTES || bytes_u32(bytes + at) != END64_SIGNATURE) {
        return damaged(error, "the ZIP64 record is not where its locator points");
    }
    out->members = bytes_u64(bytes + at + 32);
    *length = bytes_u64(bytes + at + 40);
    *start = bytes_u64(bytes + at + 48);
    return TN_OK;
}

enum tn_status zip_open(const uint8_t *bytes, size_t size, struct zip_directory *out,
                        struct error *error)
{
    assert(bytes != NULL || size == 0);
    size_t end_at;
    *out = (struct zip_directory){.bytes = bytes, .size = size};
    if (!find_end(bytes, size, &end_at)) {
        return error_set(error, TN_ECORRUPT, "not a ZIP archive, or its end is cut off");
    }
    const uint8_t *end = bytes + end_at;
    uint64_t length = bytes_u32(end + 12), start = bytes_u32(end + 16);
    out->members = bytes_u16(end + 10);
    if (out->members == 0xffff || length == IN_ZIP64 || start == IN_ZIP64) {
        enum tn_status status = read_end64(bytes, end_at, out, &start, &length, error);
        if (status != TN_OK) { return status; }
    }
    if (start > end_at || length > end_at - start) {
        return damaged(error, "its directory is outside of it");
    }
    if (out->members > length / ENTRY_BYTES) {
        return damaged(error, "its directory is too short for its members");
    }
    out->at = (size_t)start;
    out->end = (size_t)(start + length);
    return TN_OK;
}

/* The numbers of an entry that ZIP64 may move into the extra field, in their order there. */
struct entry {
    uint64_t plain_size, packed_size, local_at;
};

static bool read_zip64(const uint8_t *extra, size_t size, struct entry *entry)
{
    while (size >= 4) {
        const size_t field = bytes_u16(extra + 2);
        if (field > size - 4) { return false; }
        if (bytes_u16(extra) == EXTRA_ZIP64) {
            uint64_t *const numbers[] = {&entry->plain_size, &entry->packed_size, &entry->local_at};
            size_t at = 0;
            for (size_t i = 0; i < 3; i++) {
                if (*numbers[i] != IN_ZIP64) { continue; }
                if (field - at < 8) { return false; }
                *numbers[i] = bytes_u64(extra + 4 + at);
                at += 8;
            }
            return true;
        }
        extra += 4 + field;
        size -= 4 + field;
    }
    return entry->plain_size != IN_ZIP64 && entry->local_at != IN_ZIP64;
}

/* Find the data behind the local header, whose name must be the directory's. */
static enum tn_status locate(const struct zip_directory *directory, uint64_t local_at,
                             struct zip_member *out, struct error *error)
{
    if (local_at > directory->size || directory->size - local_at < LOCAL_BYTES) {
        return damaged(error, "a member begins outside of it");
    }
    const uint8_t *local = directory->bytes + local_at;
    if (bytes_u32(local) != LOCAL_SIGNATURE) {
        return damaged(error, "a member has no local header");
    }
    const size_t name_size = bytes_u16(local + 26), extra_size = bytes_u16(local + 28);
    const size_t rest = directory->size - (size_t)local_at - LOCAL_BYTES;
    if (name_size + extra_size > rest) { return damaged(error, "a local header is cut off"); }
    if (name_size != out->name_size || memcmp(local + LOCAL_BYTES, out->name, name_size) != 0) {
        return damaged(error, "a local header has another name than the directory");
    }
    if (out->size > rest - name_size - extra_size) {
        return error_set(error, TN_ECORRUPT, "too short: the member '%.*s' needs %zu bytes",
                         (int)out->name_size, out->name, out->size);
    }
    out->data = local + LOCAL_BYTES + name_size + extra_size;
    return TN_OK;
}

static enum tn_status check_stored(const struct zip_member *member, uint32_t flags, uint32_t method,
                                   struct error *error)
{
    enum { ENCRYPTED = 1, STORED = 0 };
    if ((flags & ENCRYPTED) != 0) {
        return error_set(error, TN_EINVAL, "the member '%.*s' is encrypted", (int)member->name_size,
                         member->name);
    }
    if (method == STORED) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "the member '%.*s' is compressed, so its rows cannot be read in any order: "
                     "write the file with numpy.savez() instead of savez_compressed()",
                     (int)member->name_size, member->name);
}

enum tn_status zip_next(struct zip_directory *directory, struct zip_member *out,
                        struct error *error)
{
    const size_t rest = directory->end - directory->at;
    const uint8_t *at = directory->bytes + directory->at;
    *out = (struct zip_member){0};
    if (rest < ENTRY_BYTES || bytes_u32(at) != ENTRY_SIGNATURE) {
        return damaged(error, "an entry of its directory is missing");
    }
    const size_t name_size = bytes_u16(at + 28), extra_size = bytes_u16(at + 30);
    const size_t total = ENTRY_BYTES + name_size + extra_size + bytes_u16(at + 32);
    if (total > rest) { return damaged(error, "its directory is cut off"); }
    struct entry entry = {
        .packed_size = bytes_u32(at + 20),
        .plain_size = bytes_u32(at + 24),
        .local_at = bytes_u32(at + 42),
    };
    out->name = (const char *)at + ENTRY_BYTES;
    out->name_size = name_size;
    out->crc32 = bytes_u32(at + 16);
    if (!read_zip64(at + ENTRY_BYTES + name_size, extra_size, &entry)) {
        return damaged(error, "a ZIP64 field is too short");
    }
    enum tn_status status = check_stored(out, bytes_u16(at + 8), bytes_u16(at + 10), error);
    if (status != TN_OK) { return status; }
    if (entry.plain_size != entry.packed_size || entry.plain_size > directory->size) {
        return damaged(error, "the sizes of a stored member differ");
    }
    out->size = (size_t)entry.plain_size;
    directory->at += total;
    return locate(directory, entry.local_at, out, error);
}
