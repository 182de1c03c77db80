#include "data/source/unpack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "common/base/minmax.h"

enum { PIECE_BYTES = 1 << 18, INPUT_MAX = 1 << 30 };

static bool is_gzip(const uint8_t *bytes, size_t size)
{
    return size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

static bool is_zstd(const uint8_t *bytes, size_t size)
{
    return size >= 4 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0;
}

bool unpack_is_packed(const uint8_t *bytes, size_t size)
{
    return is_gzip(bytes, size) || is_zstd(bytes, size);
}

static enum tn_status damaged(const char *kind, size_t at, const char *what, struct error *error)
{
    return error_set(error, TN_ECORRUPT, "byte %zu: the %s data are damaged: %s", at, kind, what);
}

/* Unpack a piece of one gzip member; `*ended`: it was the last one. */
static enum tn_status inflate_piece(z_stream *stream, size_t rest, uint8_t *piece,
                                    const struct unpack_sink *sink, bool *ended,
                                    struct error *error)
{
    stream->avail_in = (uInt)size_min(rest, INPUT_MAX);
    stream->next_out = piece;
    stream->avail_out = PIECE_BYTES;
    const int code = inflate(stream, Z_NO_FLUSH);
    const size_t made = PIECE_BYTES - stream->avail_out;
    *ended = code == Z_STREAM_END;
    if (code == Z_MEM_ERROR) { return error_set(error, TN_ENOMEM, "out of memory"); }
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
        return error_set(error, TN_ECORRUPT, "%s",
                         stream->msg != NULL ? stream->msg : "they are not valid");
    }
    if (made > 0) { return sink->put(sink->ctx, piece, made, error); }
    if (code != Z_BUF_ERROR || stream->avail_in > 0) { return TN_OK; }
    return error_set(error, TN_ECORRUPT, "they are cut off");
}

static enum tn_status unpack_gzip(const uint8_t *bytes, size_t size, uint8_t *piece,
                                  const struct unpack_sink *sink, struct error *error)
{
    enum { GZIP_ONLY = 16 };
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes}; /* zlib only reads it. */
    if (inflateInit2(&stream, MAX_WBITS + GZIP_ONLY) != Z_OK) {
        return error_set(error, TN_ENOMEM, "out of memory");
    }
    enum tn_status status = TN_OK;
    size_t at = 0;
    bool ended = false;
    while (status == TN_OK && (at < size || !ended)) {
        if (ended && inflateReset(&stream) != Z_OK) { /* Another member follows. */
            status = error_set(error, TN_EINTERNAL, "zlib cannot begin again");
            break;
        }
        status = inflate_piece(&stream, size - at, piece, sink, &ended, error);
        at = (size_t)(stream.next_in - bytes);
    }
    (void)inflateEnd(&stream);
    if (status != TN_ECORRUPT) { return status; }
    struct error cause = error != NULL ? *error : (struct error){.text = ""};
    return damaged("gzip", at, cause.text, error);
}

static enum tn_status unpack_zstd(const uint8_t *bytes, size_t size, uint8_t *piece,
                                  const struct unpack_sink *sink, struct error *error)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    if (stream == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    ZSTD_inBuffer in = {.src = bytes, .size = size};
    enum tn_status status = TN_OK;
    size_t wanted = 1; /* 0: a frame has ended, and nothing is left to write. */
    bool full = false; /* More may come without input. */
    while (status == TN_OK && (in.pos < in.size || full)) {
        ZSTD_outBuffer out = {.dst = piece, .size = PIECE_BYTES};
        wanted = ZSTD_decompressStream(stream, &out, &in);
        full = out.pos == out.size;
        if (ZSTD_isError(wanted) != 0) {
            status = damaged("zstd", in.pos, ZSTD_getErrorName(wanted), error);
        } else if (out.pos > 0) {
            status = sink->put(sink->ctx, piece, out.pos, error);
        }
    }
    (void)ZSTD_freeDStream(stream);
    if (status != TN_OK || wanted == 0) { return status; }
    return damaged("zstd", size, "they are cut off", error);
}

enum tn_status unpack_bytes(const uint8_t *bytes, size_t size, const struct unpack_sink *sink,
                            struct error *error)
{
    assert(unpack_is_packed(bytes, size));
    uint8_t *piece = malloc(PIECE_BYTES);
    if (piece == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = is_gzip(bytes, size) ? unpack_gzip(bytes, size, piece, sink, error)
                                                 : unpack_zstd(bytes, size, piece, sink, error);
    free(piece);
    return status;
}
