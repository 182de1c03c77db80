#include "data/formats/npy.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/base/minmax.h"
#include "data/formats/bytes.h"
#include "data/formats/npy_header.h"

/* The array without its header: numbers of rows and columns, and the bytes that they need. */
static enum tn_status locate(struct npy *npy, const uint8_t *items, size_t size,
                             struct error *error)
{
    assert(npy->rank >= 1 && npy->rank <= NPY_RANK_MAX);
    uint64_t total = npy->item_bytes;
    for (uint32_t i = 0; i < npy->rank; i++) {
        uint64_t dimension = npy->dimensions[i];
        if (dimension == 0) {
            return error_set(error, TN_EINVAL, "dimension %" PRIu32 " is 0: the array is empty", i);
        }
        if (dimension > size / total) {
            return error_set(error, TN_ECORRUPT,
                             "too short: %zu bytes follow the header, which the shape exceeds",
                             size);
        }
        total *= dimension;
        if (i > 0) { npy->columns *= dimension; }
    }
    if (total != size) {
        return error_set(error, TN_ECORRUPT,
                         "too long: %zu bytes follow the header, but the shape needs %" PRIu64,
                         size, total);
    }
    npy->rows = npy->dimensions[0];
    npy->items = items;
    return TN_OK;
}

enum tn_status npy_parse(const uint8_t *bytes, size_t size, struct npy *out, struct error *error)
{
    assert(bytes != NULL || size == 0);
    static const uint8_t magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    memset(out, 0, sizeof *out);
    if (size < 10 || memcmp(bytes, magic, sizeof magic) != 0) {
        return error_set(error, TN_ECORRUPT, "not a .npy file: it does not begin with \\x93NUMPY");
    }
    const uint8_t version = bytes[6];
    if (version < 1 || version > 3) {
        return error_set(error, TN_ECORRUPT, "version %u of the format: 1 to 3 are read", version);
    }
    const size_t start = version == 1 ? 10 : 12;
    if (size < start) { return error_set(error, TN_ECORRUPT, "too short: the header is cut off"); }
    const size_t length = version == 1 ? bytes_u16(bytes + 8) : bytes_u32(bytes + 8);
    if (length > NPY_HEADER_MAX) {
        return error_set(error, TN_ECORRUPT, "the header has %zu bytes: at most %d are read",
                         length, NPY_HEADER_MAX);
    }
    if (length > size - start) {
        return error_set(error, TN_ECORRUPT,
                         "too short: the header has %zu bytes, of which %zu exist", length,
                         size - start);
    }
    out->columns = 1;
    enum tn_status status = npy_header_parse((const char *)bytes + start, length, out, error);
    if (status != TN_OK) { return status; }
    return locate(out, bytes + start + length, size - start - length, error);
}

/* The bits of an item as a number, in the processor's byte order. */
static uint64_t bits_of(const struct npy *npy, const uint8_t *at)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < npy->item_bytes; i++) {
        uint32_t place = npy->big_endian ? npy->item_bytes - 1 - i : i;
        bits |= (uint64_t)at[i] << 8 * place;
    }
    return bits;
}

static double half_to_double(uint32_t bits)
{
    enum { MANTISSA = 1 << 10, EXPONENT_MAX = 31, BIAS = 15 };
    const int exponent = (int)(bits >> 10 & 31);
    const double mantissa = (double)(bits & (MANTISSA - 1)) / MANTISSA;
    double value;
    if (exponent == EXPONENT_MAX) {
        value = mantissa == 0 ? (double)INFINITY : (double)NAN;
    } else if (exponent == 0) {
        value = ldexp(mantissa, 1 - BIAS);
    } else {
        value = ldexp(1 + mantissa, exponent - BIAS);
    }
    return (bits & 0x8000) != 0 ? -value : value;
}

static double float_of(const struct npy *npy, uint64_t bits)
{
    if (npy->item_bytes == 2) { return half_to_double((uint32_t)bits); }
    if (npy->item_bytes == 4) {
        float value;
        const uint32_t low = (uint32_t)bits;
        memcpy(&value, &low, sizeof value);
        return (double)value;
    }
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int64_t signed_of(const struct npy *npy, uint64_t bits)
{
    assert(npy->item_bytes >= 1 && npy->item_bytes <= 8);
    const uint32_t unused = 64 - 8 * npy->item_bytes;
    const uint64_t moved = bits << unused;
    int64_t value;
    memcpy(&value, &moved, sizeof value);
    return value / ((int64_t)1 << unused); /* Exact: the low bits are 0. */
}

static const uint8_t *item_at(const struct npy *npy, uint64_t row, uint64_t column)
{
    assert(row < npy->rows);
    assert(column < npy->columns);
    return npy->items + (row * npy->columns + column) * npy->item_bytes;
}

static double number_of(const struct npy *npy, const uint8_t *at)
{
    const uint64_t bits = bits_of(npy, at);
    switch (npy->kind) {
    case NPY_FLOAT: return float_of(npy, bits);
    case NPY_SIGNED: return (double)signed_of(npy, bits);
    case NPY_BOOL: return bits != 0 ? 1 : 0;
    case NPY_UNSIGNED: break;
    }
    return (double)bits;
}

double npy_number(const struct npy *npy, uint64_t row, uint64_t column)
{
    return number_of(npy, item_at(npy, row, column));
}

/* Integers of 64 bits are rounded once, not to a double first. */
static float float_once(const struct npy *npy, const uint8_t *at)
{
    if (npy->item_bytes < 8 || npy->kind == NPY_FLOAT) { return (float)number_of(npy, at); }
    const uint64_t bits = bits_of(npy, at);
    return npy->kind == NPY_SIGNED ? (float)signed_of(npy, bits) : (float)bits;
}

void npy_row(const struct npy *npy, uint64_t row, float *out)
{
    assert(out != NULL);
    const uint8_t *at = item_at(npy, row, 0);
    if (npy->kind == NPY_FLOAT && npy->item_bytes == 4 && !npy->big_endian) {
        static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "floats are copied as they are");
        memcpy(out, at, npy->columns * sizeof *out);
        return;
    }
    if (npy->kind == NPY_UNSIGNED && npy->item_bytes == 1) {
        for (uint64_t i = 0; i < npy->columns; i++) { out[i] = (float)at[i]; }
        return;
    }
    for (uint64_t i = 0; i < npy->columns; i++) {
        out[i] = float_once(npy, at + i * npy->item_bytes);
    }
}
