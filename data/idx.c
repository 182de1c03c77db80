#include "data/idx.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "common/base/minmax.h"

/* Deflate cannot compress more than this many bytes into one (zlib's technical notes). */
enum { DEFLATE_RATIO_MAX = 1032 };

/* Reads bytes from memory in order, decompressing them if necessary. */
struct source {
    const uint8_t *at;
    size_t rest;
    bool compressed, ended;
    z_stream stream; /* If compressed. */
};

static enum tn_status source_open(struct source *source, const uint8_t *bytes, size_t size,
                                  struct error *error)
{
    assert(bytes != NULL || size == 0);
    memset(source, 0, sizeof *source);
    source->at = bytes;
    source->rest = size;
    if (size > IDX_BYTES_MAX) {
        return error_set(error, TN_ECORRUPT,
                         "%zu bytes: files of more than %" PRIu64 " are not read", size,
                         IDX_BYTES_MAX);
    }
    source->compressed = size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
    if (!source->compressed) { return TN_OK; }
    source->stream.next_in = (Bytef *)(uintptr_t)bytes; /* zlib only reads it. */
    source->stream.avail_in = (uInt)size;
    enum { GZIP_ONLY = 16 };
    if (inflateInit2(&source->stream, MAX_WBITS + GZIP_ONLY) != Z_OK) {
        return error_set(error, TN_ENOMEM, "out of memory for decompression");
    }
    return TN_OK;
}

static void source_close(struct source *source)
{
    if (source->compressed) { (void)inflateEnd(&source->stream); }
}

static size_t take_plain(struct source *source, uint8_t *out, size_t size)
{
    size_t taken = size_min(size, source->rest);
    if (taken > 0) { memcpy(out, source->at, taken); }
    source->at += taken;
    source->rest -= taken;
    return taken;
}

/* Read up to `size` bytes into `out`; fewer only at the end of the source. `*taken` is set even on
 * failure. */
static enum tn_status source_take(struct source *source, uint8_t *out, size_t size, size_t *taken,
                                  struct error *error)
{
    assert(size <= IDX_BYTES_MAX);
    if (!source->compressed) {
        *taken = take_plain(source, out, size);
        return TN_OK;
    }
    z_stream *stream = &source->stream;
    stream->next_out = out;
    stream->avail_out = (uInt)size;
    int code = Z_OK;
    while (!source->ended && stream->avail_out > 0 && code == Z_OK) {
        code = inflate(stream, Z_NO_FLUSH);
        source->ended = code == Z_STREAM_END;
    }
    *taken = size - stream->avail_out;
    if (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR) { return TN_OK; }
    return error_set(error, TN_ECORRUPT, "the gzip data are damaged: %s",
                     stream->msg != NULL ? stream->msg : "they are truncated");
}

static enum tn_status take_all(struct source *source, uint8_t *out, size_t size, const char *what,
                               struct error *error)
{
    size_t taken;
    enum tn_status status = source_take(source, out, size, &taken, error);
    if (status != TN_OK || taken == size) { return status; }
    return error_set(error, TN_ECORRUPT, "too short: %zu of %zu bytes of %s", taken, size, what);
}

/* The source must end here, and the checksum at the end of a gzip file must be right. */
static enum tn_status expect_end(struct source *source, struct error *error)
{
    uint8_t more;
    size_t taken;
    enum tn_status status = source_take(source, &more, 1, &taken, error);
    if (status != TN_OK) { return status; }
    if (taken > 0 || (source->compressed && source->stream.avail_in > 0)) {
        return error_set(error, TN_ECORRUPT, "too long: bytes follow the last element");
    }
    if (source->compressed && !source->ended) {
        return error_set(error, TN_ECORRUPT, "too short: the gzip checksum is missing");
    }
    return TN_OK;
}

static enum tn_status take_header(struct source *source, struct idx *out, struct error *error)
{
    uint8_t magic[4], numbers[4 * IDX_RANK_MAX];
    enum tn_status status = take_all(source, magic, sizeof magic, "the header", error);
    if (status != TN_OK) { return status; }
    if (magic[0] != 0 || magic[1] != 0) {
        return error_set(error, TN_ECORRUPT, "not an IDX file: it begins with %02x %02x, not 00 00",
                         magic[0], magic[1]);
    }
    if (magic[2] != 8) {
        return error_set(error, TN_ECORRUPT,
                         "element type is 0x%02x: only 0x08, unsigned byte, is read", magic[2]);
    }
    if (magic[3] < 1 || magic[3] > IDX_RANK_MAX) {
        return error_set(error, TN_ECORRUPT, "rank is %u: only 1 to %d is read", magic[3],
                         IDX_RANK_MAX);
    }
    out->rank = magic[3];
    status = take_all(source, numbers, 4 * (size_t)out->rank, "the dimensions", error);
    for (uint32_t i = 0; i < out->rank && status == TN_OK; i++) {
        const uint8_t *n = numbers + 4 * (size_t)i;
        out->dimensions[i] =
            (uint32_t)n[0] << 24 | (uint32_t)n[1] << 16 | (uint32_t)n[2] << 8 | (uint32_t)n[3];
        if (out->dimensions[i] == 0) {
            return error_set(error, TN_ECORRUPT, "dimension %u is 0: the file has no elements", i);
        }
    }
    return status;
}

/* Compute the number of elements. A file of `file_size` bytes must be able to contain them, so that
 * a small file cannot cause a large allocation. */
static enum tn_status count_elements(const struct source *source, size_t file_size, struct idx *out,
                                     struct error *error)
{
    assert(out->rank >= 1 && out->rank <= IDX_RANK_MAX);
    uint64_t limit = source->compressed ? (uint64_t)file_size * DEFLATE_RATIO_MAX : file_size;
    limit = u64_min(limit, IDX_BYTES_MAX);
    uint64_t product = 1;
    for (uint32_t i = 0; i < out->rank; i++) {
        product *= out->dimensions[i]; /* Below 2^31 * 2^32. */
        if (product <= limit) { continue; }
        return error_set(error, TN_ECORRUPT,
                         "the dimensions up to number %u (%u) need over %" PRIu64
                         " bytes, which a file of %zu bytes cannot hold",
                         i, out->dimensions[i], limit, file_size);
    }
    out->size = (size_t)product;
    return TN_OK;
}

enum tn_status idx_parse(const uint8_t *bytes, size_t size, struct idx *out, struct error *error)
{
    struct source source;
    memset(out, 0, sizeof *out);
    enum tn_status status = source_open(&source, bytes, size, error);
    if (status != TN_OK) { return status; }
    status = take_header(&source, out, error);
    if (status == TN_OK) { status = count_elements(&source, size, out, error); }
    if (status == TN_OK) {
        assert(out->size > 0);
        out->data = malloc(out->size);
        if (out->data == NULL) {
            status = error_set(error, TN_ENOMEM, "out of memory for %zu bytes", out->size);
        }
    }
    if (status == TN_OK) {
        status = take_all(&source, out->data, out->size, "the elements", error);
    }
    if (status == TN_OK) { status = expect_end(&source, error); }
    source_close(&source);
    if (status != TN_OK) { idx_free(out); }
    return status;
}

void idx_free(struct idx *idx)
{
    free(idx->data);
    memset(idx, 0, sizeof *idx);
}

static enum tn_status read_all(int file, uint8_t *bytes, size_t size, struct error *error)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = read(file, bytes + done, size - done);
        if (got < 0 && errno == EINTR) { continue; }
        if (got < 0) { return error_set(error, TN_EIO, "cannot read: %s", strerror(errno)); }
        if (got == 0) {
            return error_set(error, TN_EIO, "the file became shorter while it was read");
        }
        done += (size_t)got;
    }
    return TN_OK;
}

static enum tn_status read_file(int file, struct idx *out, struct error *error)
{
    assert(file >= 0);
    struct stat about;
    if (fstat(file, &about) != 0) { return error_set(error, TN_EIO, "%s", strerror(errno)); }
    if (!S_ISREG(about.st_mode)) { return error_set(error, TN_EINVAL, "not a regular file"); }
    if ((uint64_t)about.st_size > IDX_BYTES_MAX) {
        return error_set(error, TN_ECORRUPT,
                         "%" PRIu64 " bytes: files of more than %" PRIu64 " are not read",
                         (uint64_t)about.st_size, IDX_BYTES_MAX);
    }
    size_t size = (size_t)about.st_size;
    uint8_t *bytes = malloc(size + 1); /* Not NULL for an empty file. */
    if (bytes == NULL) { return error_set(error, TN_ENOMEM, "out of memory for %zu bytes", size); }
    enum tn_status status = read_all(file, bytes, size, error);
    if (status == TN_OK) { status = idx_parse(bytes, size, out, error); }
    free(bytes);
    return status;
}

enum tn_status idx_read(const char *path, struct idx *out, struct error *error)
{
    memset(out, 0, sizeof *out);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        enum tn_status status = errno == ENOENT ? TN_ENOENT : TN_EIO;
        return error_set(error, status, "%s: %s", path, strerror(errno));
    }
    enum tn_status status = read_file(file, out, error);
    if (close(file) != 0 && status == TN_OK) {
        idx_free(out);
        status = error_set(error, TN_EIO, "cannot read: %s", strerror(errno));
    }
    /* error_context() needs an error; the caller may pass NULL. */
    if (status != TN_OK && error != NULL) { status = error_context(error, "%s", path); }
    return status;
}
