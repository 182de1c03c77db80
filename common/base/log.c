#include "common/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"

/* A line of at most PIPE_BUF bytes goes into a pipe whole, also with other processes writing. */
enum { LINE_MAX_BYTES = 4096, MESSAGE_MAX_BYTES = 2048, TASK_MAX_BYTES = 64 };

struct line {
    char text[LINE_MAX_BYTES];
    size_t size;
};

static enum log_level minimum = LOG_INFO;
static enum log_format output = LOG_TEXT;
static char our_task[TASK_MAX_BYTES];
static _Atomic uint64_t our_epoch;
static _Atomic uint64_t our_generation;

void log_init(enum log_level level, enum log_format format, const char *task)
{
    minimum = level;
    output = format;
    snprintf(our_task, sizeof our_task, "%s", task != NULL ? task : "");
}

void log_set_context(uint64_t epoch, uint64_t generation)
{
    atomic_store_explicit(&our_epoch, epoch, memory_order_relaxed);
    atomic_store_explicit(&our_generation, generation, memory_order_relaxed);
}

/* Append; what does not fit is cut, with two bytes kept for the end of the line. */
__attribute__((format(printf, 2, 3))) static void append(struct line *line, const char *format, ...)
{
    size_t room = sizeof line->text - 2 - line->size;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->size, room, format, arguments);
    va_end(arguments);
    if (length > 0) { line->size += (size_t)length < room ? (size_t)length : room - 1; }
}

static void append_json_string(struct line *line, const char *text)
{
    append(line, "\"");
    /* Room for one escape, the quote and the brace: a message that is cut leaves valid JSON. */
    const size_t limit = sizeof line->text - 16;
    for (const char *at = text; *at != '\0' && line->size < limit; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte == '"' || byte == '\\') {
            append(line, "\\%c", byte);
        } else if (byte < 0x20 || byte == 0x7f) {
            append(line, "\\u%04x", byte);
        } else {
            append(line, "%c", byte);
        }
    }
    append(line, "\"");
}

/* One event is one line, whatever a peer or a file name put into the words. */
static void append_plain(struct line *line, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        append(line, "%c", byte < 0x20 || byte == 0x7f ? ' ' : byte);
    }
}

static void append_time(struct line *line)
{
    uint64_t wall_ms = clock_wall_ms();
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    append(line, "%04d-%02d-%02dT%02d:%02d:%02d.%03uZ", utc.tm_year + 1900, utc.tm_mon + 1,
           utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, (unsigned)(wall_ms % 1000));
}

static void format_text(struct line *line, enum log_level level, const char *message)
{
    static const char *const names[] = {"DEBUG", "INFO ", "WARN ", "ERROR"};
    append_time(line);
    append(line, " %s", names[level]);
    if (our_task[0] != '\0') { append(line, " %s", our_task); }
    uint64_t epoch = atomic_load_explicit(&our_epoch, memory_order_relaxed);
    uint64_t generation = atomic_load_explicit(&our_generation, memory_order_relaxed);
    if (epoch != 0) { append(line, " epoch=%" PRIu64, epoch); }
    if (generation != 0) { append(line, " generation=%" PRIu64, generation); }
    append(line, " ");
    append_plain(line, message);
}

static void format_json(struct line *line, enum log_level level, const char *message)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    append(line, "{\"time\":\"");
    append_time(line);
    append(line, "\",\"level\":\"%s\",\"task\":", names[level]);
    append_json_string(line, our_task);
    append(line, ",\"epoch\":%" PRIu64 ",\"generation\":%" PRIu64 ",\"message\":",
           atomic_load_explicit(&our_epoch, memory_order_relaxed),
           atomic_load_explicit(&our_generation, memory_order_relaxed));
    append_json_string(line, message);
    append(line, "}");
}

static void write_all(const char *text, size_t size)
{
    while (size > 0) {
        ssize_t written = write(STDERR_FILENO, text, size);
        if (written < 0 && errno == EINTR) { continue; }
        if (written <= 0) { return; /* Nobody is left to be told. */ }
        text += written;
        size -= (size_t)written;
    }
}

void log_write(enum log_level level, const char *format, ...)
{
    if (level < minimum || level > LOG_ERROR) { return; }
    char message[MESSAGE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (length < 0) { return; }

    struct line line = {.size = 0};
    if (output == LOG_JSON) {
        format_json(&line, level, message);
    } else {
        format_text(&line, level, message);
    }
    line.text[line.size++] = '\n';
    write_all(line.text, line.size);
}
