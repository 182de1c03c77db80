#include "common/base/json_reals.h"

#include <assert.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 40, DIGITS_LEAST = 15, DIGITS_MOST = 17 };

/* `out`: `value` with as few of 15 to 17 digits as read back as it. */
static void format(double value, char out[static NUMBER_MAX])
{
    for (int digits = DIGITS_LEAST; digits <= DIGITS_MOST; digits++) {
        (void)snprintf(out, NUMBER_MAX - sizeof ".0", "%.*g", digits, value);
        if (strtod(out, NULL) == value) { break; }
    }
    if (strpbrk(out, ".e") == NULL) { memcpy(out + strlen(out), ".0", sizeof ".0"); }
}

/* Copies the number of `length` bytes at `from` to `to`, in its shortest form; returns its end. */
static char *copy_number(char *to, const char *from, size_t length)
{
    char number[NUMBER_MAX], shorter[NUMBER_MAX];
    assert(to <= from && length > 0);
    const char *chosen = from;
    if (length < sizeof number) {
        memcpy(number, from, length);
        number[length] = '\0';
        if (strpbrk(number, ".eE") != NULL) {
            format(strtod(number, NULL), shorter);
            if (strlen(shorter) < length) {
                chosen = shorter;
                length = strlen(shorter);
            }
        }
    }
    memmove(to, chosen, length);
    return to + length;
}

void json_reals_shorten(char *text)
{
    assert(text != NULL);
    /* A program with its own model may have set a locale, which strtod() and snprintf() follow. */
    if (strcmp(localeconv()->decimal_point, ".") != 0) { return; }
    char *to = text;
    bool quoted = false;
    for (const char *from = text; *from != '\0';) {
        const size_t number = quoted ? 0 : strspn(from, "+-.0123456789eE");
        /* The `e` of true and false begins no number. */
        if (number > 0 && (*from == '-' || (*from >= '0' && *from <= '9'))) {
            to = copy_number(to, from, number);
            from += number;
            continue;
        }
        const bool escaped = quoted && *from == '\\' && from[1] != '\0';
        if (escaped) { *to++ = *from++; }
        if (*from == '"' && !escaped) { quoted = !quoted; }
        *to++ = *from++;
    }
    *to = '\0';
}
