#include "data/formats/tfrecord.h"

#include <assert.h>
#include <inttypes.h>

#include "common/base/crc32c.h"
#include "data/formats/bytes.h"

enum { LENGTH_BYTES = 8, CHECKSUM_BYTES = 4, HEADER_BYTES = LENGTH_BYTES + CHECKSUM_BYTES };

enum tn_status tfrecord_read(const uint8_t *bytes, size_t size, size_t at, struct tfrecord *out,
                             struct error *error)
{
    assert(at < size);
    const size_t rest = size - at;
    if (rest < HEADER_BYTES + CHECKSUM_BYTES) {
        return error_set(error, TN_ECORRUPT,
                         "byte %zu: too short: %zu bytes remain, and a record has more", at, rest);
    }
    const uint8_t *record = bytes + at;
    if (crc32c_masked(record, LENGTH_BYTES) != bytes_u32(record + LENGTH_BYTES)) {
        if (at > 0) {
            return error_set(error, TN_ECORRUPT,
                             "byte %zu: the checksum of the record's length is wrong", at);
        }
        return error_set(error, TN_ECORRUPT,
                         "not a TFRecord file: the checksum of the first length is wrong");
    }
    const uint64_t length = bytes_u64(record);
    if (length > rest - HEADER_BYTES - CHECKSUM_BYTES) {
        return error_set(error, TN_ECORRUPT,
                         "byte %zu: too short: a record of %" PRIu64 " bytes is cut off", at,
                         length);
    }
    out->bytes = record + HEADER_BYTES;
    out->size = (size_t)length;
    out->next = at + HEADER_BYTES + out->size + CHECKSUM_BYTES;
    if (crc32c_masked(out->bytes, out->size) == bytes_u32(out->bytes + out->size)) { return TN_OK; }
    return error_set(error, TN_ECORRUPT, "byte %zu: the checksum of the record is wrong", at);
}
