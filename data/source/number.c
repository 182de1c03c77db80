#include "data/source/number.h"

#include <assert.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_EXACT = 15, POWER_EXACT = 22, TEXT_MAX = 512 };

static const double powers[POWER_EXACT + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* A decimal number in parts: digits * 10^exponent. */
struct decimal {
    bool negative;
    uint64_t digits;
    uint32_t count; /* Digits from the first that is not 0; `digits` is exact up to DIGITS_EXACT. */
    int64_t exponent;
};

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

/* Read digits from `at` on; returns how many. */
static size_t take_digits(const uint8_t *at, size_t size, struct decimal *out)
{
    size_t count = 0;
    for (; count < size && is_digit(at[count]); count++) {
        if (out->count == 0 && at[count] == '0') { continue; }
        if (out->count < DIGITS_EXACT) { out->digits = 10 * out->digits + (at[count] - '0'); }
        out->count++;
    }
    return count;
}

/* Whether the text is a decimal number, and its parts. */
static bool split(const uint8_t *text, size_t size, struct decimal *out)
{
    size_t at = 0;
    *out = (struct decimal){0};
    if (at < size && (text[at] == '-' || text[at] == '+')) { out->negative = text[at++] == '-'; }
    size_t digits = take_digits(text + at, size - at, out);
    at += digits;
    if (at < size && text[at] == '.') {
        at++;
        const size_t behind = take_digits(text + at, size - at, out);
        out->exponent = -(int64_t)behind;
        at += behind;
        digits += behind;
    }
    if (digits == 0) { return false; }
    if (at == size) { return true; }
    if (text[at] != 'e' && text[at] != 'E') { return false; }
    at++;
    const bool down = at < size && text[at] == '-';
    if (at < size && (text[at] == '-' || text[at] == '+')) { at++; }
    struct decimal power = {0};
    const size_t count = take_digits(text + at, size - at, &power);
    if (count == 0 || at + count != size) { return false; }
    out->exponent += down ? -(int64_t)power.digits : (int64_t)power.digits;
    return true;
}

static locale_t c_locale;

static void open_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* The text is a decimal number. */
static bool parse_slowly(const uint8_t *text, size_t size, double *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char copy[TEXT_MAX];
    if (size >= sizeof copy) { return false; }
    memcpy(copy, text, size);
    copy[size] = '\0';
    (void)pthread_once(&once, open_locale);
    assert(c_locale != (locale_t)0);
    *out = strtod_l(copy, NULL, c_locale);
    return true;
}

bool number_parse(const uint8_t *text, size_t size, double *out)
{
    struct decimal parts;
    assert(text != NULL || size == 0);
    while (size > 0 && text[0] == ' ') { text++, size--; }
    while (size > 0 && text[size - 1] == ' ') { size--; }
    if (!split(text, size, &parts)) { return false; }
    if (parts.count > DIGITS_EXACT || parts.exponent < -POWER_EXACT ||
        parts.exponent > POWER_EXACT) {
        return parse_slowly(text, size, out);
    }
    const double digits = (double)parts.digits;
    const double number =
        parts.exponent < 0 ? digits / powers[-parts.exponent] : digits * powers[parts.exponent];
    *out = parts.negative ? -number : number;
    return true;
}
