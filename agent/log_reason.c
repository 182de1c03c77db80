#include "agent/log_reason.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { TAIL_BYTES = 8192, TIME_BYTES = 24 /* "2026-01-31T12:00:00.000Z" */ };

/* Whether the logger (common/base/log.h) wrote the line, with a level below ERROR, or it continues
 * a line of Java ("\tat ...", "\t... 1 more"). */
static bool is_below_error(const char *line, size_t length)
{
    if (length > 0 && line[0] == '\t') { return true; }
    static const struct {
        const char *text, *json;
    } levels[] = {
        {" DEBUG ", "\"level\":\"debug\""},
        {" INFO  ", "\"level\":\"info\""},
        {" WARN  ", "\"level\":\"warn\""},
    };
    const bool is_json = length > 0 && line[0] == '{';
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        const char *level = is_json ? levels[i].json : levels[i].text;
        const char *found = memmem(line, length, level, strlen(level));
        if (found != NULL && (is_json || found == line + TIME_BYTES)) { return true; }
    }
    return false;
}

const char *log_reason_find(const char *text, size_t size, size_t *length)
{
    assert(text != NULL && length != NULL);
    const char *last = NULL;
    size_t last_length = 0;
    while (size > 0) {
        size_t end = size;
        while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == ' ')) { end--; }
        size_t start = end;
        while (start > 0 && text[start - 1] != '\n') { start--; }
        *length = end - start;
        if (end > 0 && !is_below_error(text + start, *length)) { return text + start; }
        if (end > 0 && last == NULL) {
            last = text + start;
            last_length = *length;
        }
        size = start;
    }
    *length = last_length;
    return last != NULL ? last : text;
}

/* Where the end of the file begins that is looked at; -1: it cannot be read. `whole`: the first
 * byte read begins a line. */
static long tail_start(FILE *file, uint64_t from, bool *whole)
{
    if (fseek(file, 0, SEEK_END) != 0) { return -1; }
    const long size = ftell(file);
    if (size < 0) { return -1; }
    /* A shorter file is a new one: the log was rotated. */
    long start = from <= (uint64_t)size ? (long)from : 0;
    *whole = size - start <= TAIL_BYTES;
    return *whole ? start : size - TAIL_BYTES;
}

void log_reason_read(const char *path, uint64_t from, char out[static LOG_REASON_MAX])
{
    char tail[TAIL_BYTES];
    bool whole = true;
    out[0] = '\0';
    FILE *file = fopen(path, "re");
    if (file == NULL) { return; }
    const long start = tail_start(file, from, &whole);
    size_t size = 0, length = 0;
    if (start >= 0 && fseek(file, start, SEEK_SET) == 0) {
        size = fread(tail, 1, sizeof tail, file);
    }
    fclose(file);
    const char *text = tail;
    const char *cut = whole ? NULL : memchr(tail, '\n', size);
    if (cut != NULL) {
        size -= (size_t)(cut + 1 - tail);
        text = cut + 1;
    }
    const char *line = log_reason_find(text, size, &length);
    if (length >= LOG_REASON_MAX) { length = LOG_REASON_MAX - 1; }
    memcpy(out, line, length);
    out[length] = '\0';
}
