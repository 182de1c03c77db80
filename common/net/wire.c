/*
 * A header's bytes, all integers little-endian:
 *
 *   offset  bytes  field
 *        0      4  magic "TNST"
 *        4      1  version, WIRE_VERSION
 *        5      1  type, enum frame_type
 *        6      1  slot
 *        7      1  line, below WIRE_PAGE_LINES
 *        8      8  cluster
 *       16      8  sender
 *       24      8  epoch
 *       32      8  generation
 *       40      8  step
 *       48      8  sequence
 *       56      4  first
 *       60      4  count
 *       64      4  body_bytes
 *       68      8  loss, float64
 *       76      8  offset
 *       84      4  checksum: XXH32, seed 0, of the 84 bytes before it
 */
#include "common/net/wire.h"

#define XXH_INLINE_ALL
#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_TYPE = 5,
    AT_SLOT = 6,
    AT_LINE = 7,
    AT_CLUSTER = 8,
    AT_SENDER = 16,
    AT_EPOCH = 24,
    AT_GENERATION = 32,
    AT_STEP = 40,
    AT_SEQUENCE = 48,
    AT_FIRST = 56,
    AT_COUNT = 60,
    AT_BODY_BYTES = 64,
    AT_LOSS = 68,
    AT_OFFSET = 76,
    AT_CHECKSUM = 84,
};
_Static_assert(AT_CHECKSUM + 4 == WIRE_HEADER_BYTES, "the checksum closes the header");

static const uint8_t magic[4] = {'T', 'N', 'S', 'T'};

/* A header is written and read for each frame: one instruction for each field, not one for each
 * byte. */
static void put_u32(uint8_t *out, uint32_t value)
{
    const uint32_t bytes = htole32(value);
    memcpy(out, &bytes, sizeof bytes);
}

static void put_u64(uint8_t *out, uint64_t value)
{
    const uint64_t bytes = htole64(value);
    memcpy(out, &bytes, sizeof bytes);
}

static uint32_t get_u32(const uint8_t *in)
{
    uint32_t bytes;
    memcpy(&bytes, in, sizeof bytes);
    return le32toh(bytes);
}

static uint64_t get_u64(const uint8_t *in)
{
    uint64_t bytes;
    memcpy(&bytes, in, sizeof bytes);
    return le64toh(bytes);
}

/* The bits of a double. */
static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double value_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void wire_encode_header(const struct frame_header *header, uint8_t out[static WIRE_HEADER_BYTES])
{
    assert(header->body_bytes <= WIRE_CHUNK_BYTES);
    assert(header->line < WIRE_PAGE_LINES);
    memset(out, 0, WIRE_HEADER_BYTES);
    memcpy(out + AT_MAGIC, magic, sizeof magic);
    out[AT_VERSION] = WIRE_VERSION;
    out[AT_TYPE] = header->type;
    out[AT_SLOT] = header->slot;
    out[AT_LINE] = header->line;
    put_u64(out + AT_CLUSTER, header->cluster);
    put_u64(out + AT_SENDER, header->sender);
    put_u64(out + AT_EPOCH, header->epoch);
    put_u64(out + AT_GENERATION, header->generation);
    put_u64(out + AT_STEP, header->step);
    put_u64(out + AT_SEQUENCE, header->sequence);
    put_u32(out + AT_FIRST, header->first);
    put_u32(out + AT_COUNT, header->count);
    put_u32(out + AT_BODY_BYTES, header->body_bytes);
    put_u64(out + AT_LOSS, bits_of(header->loss));
    put_u64(out + AT_OFFSET, header->offset);
    put_u32(out + AT_CHECKSUM, XXH32(out, AT_CHECKSUM, 0));
}

/* The parts that all versions of the protocol share, checked before any other field is used. */
static enum tn_status check_envelope(const uint8_t *in, struct error *error)
{
    if (memcmp(in + AT_MAGIC, magic, sizeof magic) != 0) {
        return error_set(error, TN_EPROTO,
                         "frame magic is %02x%02x%02x%02x: the peer does not use Tanist's "
                         "protocol; check the address",
                         in[0], in[1], in[2], in[3]);
    }
    if (in[AT_VERSION] != WIRE_VERSION) {
        return error_set(error, TN_EPROTO,
                         "frame version is %u, expected %d: run the same release on every node",
                         in[AT_VERSION], WIRE_VERSION);
    }
    uint32_t expected = XXH32(in, AT_CHECKSUM, 0);
    uint32_t found = get_u32(in + AT_CHECKSUM);
    if (found != expected) {
        return error_set(error, TN_EPROTO,
                         "frame checksum is %08" PRIx32 ", expected %08" PRIx32
                         ": the header is damaged",
                         found, expected);
    }
    return TN_OK;
}

enum tn_status wire_decode_header(const uint8_t in[static WIRE_HEADER_BYTES], uint32_t body_max,
                                  struct frame_header *out, struct error *error)
{
    assert(body_max <= WIRE_CHUNK_BYTES);
    enum tn_status status = check_envelope(in, error);
    if (status != TN_OK) { return status; }
    if (in[AT_TYPE] == 0 || in[AT_TYPE] >= FRAME_TYPE_END) {
        return error_set(error, TN_EPROTO, "frame type is %u, expected 1 to %d", in[AT_TYPE],
                         FRAME_TYPE_END - 1);
    }
    if (in[AT_LINE] >= WIRE_PAGE_LINES) {
        return error_set(error, TN_EPROTO, "frame line is %u, expected 0 to %d", in[AT_LINE],
                         WIRE_PAGE_LINES - 1);
    }
    uint32_t body_bytes = get_u32(in + AT_BODY_BYTES);
    if (body_bytes > body_max) {
        return error_set(error, TN_EPROTO, "frame body_bytes is %" PRIu32 ", the limit is %" PRIu32,
                         body_bytes, body_max);
    }
    *out = (struct frame_header){
        .type = in[AT_TYPE],
        .slot = in[AT_SLOT],
        .line = in[AT_LINE],
        .cluster = get_u64(in + AT_CLUSTER),
        .sender = get_u64(in + AT_SENDER),
        .epoch = get_u64(in + AT_EPOCH),
        .generation = get_u64(in + AT_GENERATION),
        .step = get_u64(in + AT_STEP),
        .sequence = get_u64(in + AT_SEQUENCE),
        .first = get_u32(in + AT_FIRST),
        .count = get_u32(in + AT_COUNT),
        .body_bytes = body_bytes,
        .loss = value_of(get_u64(in + AT_LOSS)),
        .offset = get_u64(in + AT_OFFSET),
    };
    return TN_OK;
}
