#include "data/formats/tar.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/minmax.h"

/* Places in a header (POSIX.1-2001, ustar). */
enum {
    NAME = 0,
    NAME_BYTES = 100,
    SIZE = 124,
    SIZE_BYTES = 12,
    CHECKSUM = 148,
    CHECKSUM_BYTES = 8,
    TYPE = 156,
    MAGIC = 257,
    PREFIX = 345,
    PREFIX_BYTES = 155,
};

static enum tn_status damaged(size_t at, const char *what, struct error *error)
{
    return error_set(error, TN_ECORRUPT, "byte %zu: %s", at, what);
}

/* An octal number with spaces or zeros around it, or GNU's binary one. */
static bool parse_number(const uint8_t *field, size_t size, uint64_t *out)
{
    uint64_t value = 0;
    size_t at = 0;
    if (field[0] == 0x80) {
        for (at = 1; at < size; at++) {
            if (value > COUNTER_MAX >> 8) { return false; }
            value = value << 8 | field[at];
        }
        *out = value;
        return true;
    }
    while (at < size && field[at] == ' ') { at++; }
    for (; at < size && field[at] >= '0' && field[at] <= '7'; at++) {
        value = value << 3 | (uint64_t)(field[at] - '0');
    }
    *out = value;
    return at == size || field[at] == ' ' || field[at] == '\0';
}

static bool checksum_is_right(const uint8_t *header)
{
    uint64_t sum = 0, stored;
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        const bool own = i >= CHECKSUM && i < CHECKSUM + CHECKSUM_BYTES;
        sum += own ? ' ' : header[i];
    }
    return parse_number(header + CHECKSUM, CHECKSUM_BYTES, &stored) && stored == sum;
}

static bool is_zero(const uint8_t *header)
{
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        if (header[i] != 0) { return false; }
    }
    return true;
}

/* Append a text of up to `size` bytes that ends at a zero. False: it does not fit. */
static bool append(char *name, const void *text, size_t size)
{
    const char *end = memchr(text, '\0', size);
    const size_t used = strlen(name),
                 length = end != NULL ? (size_t)(end - (const char *)text) : size;
    if (length >= TAR_NAME_MAX - used) { return false; }
    memcpy(name + used, text, length);
    name[used + length] = '\0';
    return true;
}

static bool set_name(const uint8_t *header, char *name)
{
    const bool ustar = memcmp(header + MAGIC, "ustar\0", 6) == 0;
    name[0] = '\0';
    if (ustar && header[PREFIX] != '\0' &&
        (!append(name, header + PREFIX, PREFIX_BYTES) || !append(name, "/", 1))) {
        return false;
    }
    return append(name, header + NAME, NAME_BYTES);
}

/* The name and size of the next member, if members before it give them. */
struct override {
    bool name_given, size_given;
    uint64_t size;
};

/* Records "LENGTH KEY=VALUE\n" of a pax header. False: they are damaged. */
static bool read_pax(const uint8_t *bytes, size_t size, char *name, struct override *override)
{
    while (size > 0) {
        size_t length = 0, digits = 0;
        while (digits < size && bytes[digits] >= '0' && bytes[digits] <= '9' && length <= size) {
            length = 10 * length + (size_t)(bytes[digits++] - '0');
        }
        if (digits == 0 || digits >= size || bytes[digits] != ' ') { return false; }
        if (length < digits + 3 || length > size || bytes[length - 1] != '\n') { return false; }
        const uint8_t *key = bytes + digits + 1, *end = bytes + length - 1;
        if (end - key >= 5 && memcmp(key, "path=", 5) == 0) {
            name[0] = '\0';
            override->name_given = true;
            if (!append(name, key + 5, (size_t)(end - key) - 5)) { return false; }
        } else if (end - key >= 5 && memcmp(key, "size=", 5) == 0) {
            override->size_given = true;
            override->size = 0;
            for (key += 5; key < end; key++) {
                if (*key < '0' || *key > '9' || override->size > COUNTER_MAX / 16) { return false; }
                override->size = 10 * override->size + (uint64_t)(*key - '0');
            }
        }
        bytes += length;
        size -= length;
    }
    return true;
}

/* Take over a header that describes the next member. False: it is damaged. */
static bool read_override(const uint8_t *header, const uint8_t *bytes, size_t size, char *name,
                          struct override *override)
{
    switch (header[TYPE]) {
    case 'x': return read_pax(bytes, size, name, override);
    case 'L':
        name[0] = '\0';
        override->name_given = true;
        return append(name, bytes, size);
    default: return true; /* 'g', 'K': of all members, and of links. */
    }
}

static bool describes_next(uint8_t type)
{
    return type == 'x' || type == 'g' || type == 'L' || type == 'K';
}

enum tn_status tar_next(const uint8_t *bytes, size_t size, size_t at, struct tar_member *out,
                        bool *more, struct error *error)
{
    assert(at <= size);
    struct override override = {0};
    for (;;) {
        const uint8_t *header = bytes + at;
        const size_t rest = size - at;
        uint64_t length;
        *more = false;
        if (rest < TAR_BLOCK) { return damaged(at, "too short: the archive has no end", error); }
        if (is_zero(header)) { return TN_OK; }
        if (!checksum_is_right(header)) {
            return damaged(at,
                           at == 0 ? "not a tar archive: its first checksum is wrong"
                                   : "the checksum of a header is wrong",
                           error);
        }
        if (!parse_number(header + SIZE, SIZE_BYTES, &length)) {
            return damaged(at, "the size of a member is not a number", error);
        }
        const bool own = !describes_next(header[TYPE]);
        if (own && override.size_given) { length = override.size; }
        if (length > rest - TAR_BLOCK) {
            return damaged(at, "too short: a member is cut off", error);
        }
        const uint8_t *contents = header + TAR_BLOCK;
        const size_t padded = ((size_t)length + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
        const size_t next = at + TAR_BLOCK + size_min(padded, rest - TAR_BLOCK);
        if (own) {
            if (!override.name_given && !set_name(header, out->name)) {
                return error_set(error, TN_EINVAL, "byte %zu: a name is too long", at);
            }
            out->is_file = header[TYPE] == '0' || header[TYPE] == '\0';
            out->bytes = contents;
            out->size = (size_t)length;
            out->next = next;
            *more = true;
            return TN_OK;
        }
        if (!read_override(header, contents, (size_t)length, out->name, &override)) {
            return damaged(at, "a long name or its header is damaged, or too long", error);
        }
        at = next;
    }
}
