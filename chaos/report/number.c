#include "chaos/report/number.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "chaos/history/json_member.h"

static const struct number_text none = {"–"}, endless = {"∞"};

__attribute__((format(printf, 1, 2))) static struct number_text format_number(const char *format,
                                                                              ...)
{
    struct number_text text;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text.at, sizeof text.at, format, arguments);
    va_end(arguments);
    return length >= 0 && (size_t)length < sizeof text.at ? text : endless;
}

struct number_text number_duration(double ms)
{
    if (ms < 0) { return none; }
    if (ms < 999.5) { return format_number("%.0f ms", ms); }
    if (ms < 9995) { return format_number("%.2f s", ms / 1000); }
    if (ms < 59950) { return format_number("%.1f s", ms / 1000); }
    if (ms < 3600e3) {
        return format_number("%d min %02d s", (int)(ms / 60000), (int)(ms / 1000) % 60);
    }
    if (ms <= 1e12) {
        return format_number("%d h %02d min", (int)(ms / 3600e3), (int)(ms / 60000) % 60);
    }
    return endless;
}

struct number_text number_count(int64_t count)
{
    struct number_text out = {""}, digits = format_number("%" PRId64, count);
    size_t length = strlen(digits.at), used = 0;
    for (size_t i = 0; i < length; i++) {
        bool first = i == 0 || digits.at[i - 1] == '-';
        if (!first && (length - i) % 3 == 0) { out.at[used++] = ','; }
        out.at[used++] = digits.at[i];
    }
    assert(used < sizeof out.at);
    return out;
}

struct number_text number_duration_member(const json_t *object, const char *key)
{
    assert(key != NULL);
    return number_duration(json_member_number(object, key, -1));
}

struct number_text number_count_member(const json_t *object, const char *key)
{
    assert(key != NULL);
    return number_count(json_member_integer(object, key, 0));
}

struct number_text number_percent(double ratio)
{
    if (ratio < 0) { return none; }
    return format_number("%.*f %%", ratio > 0.9999 ? 1 : 2, ratio * 100);
}
