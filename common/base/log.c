#include "common/base/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/json_codec.h"
#include "common/base/log_file.h"
#include "common/base/minmax.h"
#include "common/base/utf8.h"

/* A line of at most PIPE_BUF bytes goes into a pipe whole even if other processes write too. */
enum { LINE_MAX_BYTES = 4096, MESSAGE_MAX_BYTES = 2048, TASK_MAX_BYTES = 64 };
enum { ESCAPE_BYTES = 6 }; /* "\\u0001" */

struct line {
    char text[LINE_MAX_BYTES];
    size_t size;
};

static enum log_level minimum = LOG_INFO;
static enum log_format output = LOG_TEXT;
static char our_task[TASK_MAX_BYTES];
static _Thread_local char thread_task[TASK_MAX_BYTES]; /* "": `our_task`. */
static _Atomic uint64_t our_epoch;
static _Atomic uint64_t our_generation;
static _Atomic uint64_t left_out; /* Lines, since the last one that was written. */

void log_init(enum log_level level, enum log_format format, const char *task)
{
    minimum = level;
    output = format;
    snprintf(our_task, sizeof our_task, "%s", task != NULL ? task : "");
}

void log_set_thread_task(const char *task)
{
    assert(task != NULL);
    snprintf(thread_task, sizeof thread_task, "%s", task);
}

static const char *task_of_line(void)
{
    return thread_task[0] != '\0' ? thread_task : our_task;
}

bool log_is_json(void)
{
    return output == LOG_JSON;
}

void log_set_context(uint64_t epoch, uint64_t generation)
{
    atomic_store_explicit(&our_epoch, epoch, memory_order_relaxed);
    atomic_store_explicit(&our_generation, generation, memory_order_relaxed);
}

/* Append, and cut the line if it is too long; two bytes are kept for its end. */
__attribute__((format(printf, 2, 3))) static void append(struct line *line, const char *format, ...)
{
    size_t space = sizeof line->text - 2 - line->size;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->size, space, format, arguments);
    va_end(arguments);
    if (length > 0) { line->size += (size_t)length < space ? (size_t)length : space - 1; }
}

/* One event is one line, whatever a peer or a file name put into the message. */
static void format_text(struct line *line, enum log_level level, char *message)
{
    assert(level <= LOG_ERROR);
    static const char *const names[] = {"DEBUG", "INFO ", "WARN ", "ERROR"};
    char time[TIME_TEXT_MAX];
    clock_format(clock_wall_ms(), time);
    append(line, "%s %s", time, names[level]);
    const char *task = task_of_line();
    if (task[0] != '\0') { append(line, " %s", task); }
    uint64_t epoch = atomic_load_explicit(&our_epoch, memory_order_relaxed);
    uint64_t generation = atomic_load_explicit(&our_generation, memory_order_relaxed);
    if (epoch != 0) { append(line, " epoch=%" PRIu64, epoch); }
    if (generation != 0) { append(line, " generation=%" PRIu64, generation); }
    utf8_plain(message);
    append(line, " %s", message);
}

/* False: out of memory. A message whose escapes do not fit is cut. */
static bool format_json(struct line *line, enum log_level level, char *message)
{
    assert(level <= LOG_ERROR);
    static const char *const names[] = {"debug", "info", "warn", "error"};
    const size_t limit = sizeof line->text - 1;
    char time[TIME_TEXT_MAX];
    clock_format(clock_wall_ms(), time);
    json_t *object =
        json_pack("{s:s, s:s, s:o, s:I, s:I, s:o}", "time", time, "level", names[level], "task",
                  json_text(task_of_line()), "epoch",
                  (json_int_t)atomic_load_explicit(&our_epoch, memory_order_relaxed), "generation",
                  (json_int_t)atomic_load_explicit(&our_generation, memory_order_relaxed),
                  "message", json_text(message));
    line->size = json_dumpb(object, line->text, limit, JSON_COMPACT);
    for (size_t length = strlen(message); line->size > limit && length > 0;) {
        length -= size_min(length, (line->size - limit) / ESCAPE_BYTES + 1);
        message[length] = '\0';
        (void)json_object_set_new(object, "message", json_text(message));
        line->size = json_dumpb(object, line->text, limit, JSON_COMPACT);
    }
    json_decref(object);
    return line->size > 0 && line->size <= limit;
}

static void write_all(const char *text, size_t size)
{
    while (size > 0) {
        ssize_t written = write(STDERR_FILENO, text, size);
        if (written < 0 && errno == EINTR) { continue; }
        if (written <= 0) { return; /* No reader is left. */ }
        text += written;
        size -= (size_t)written;
    }
}

/* The file that stderr is; limit 0: it is not rotated. */
static struct {
    pthread_mutex_t lock; /* Held while a line is written. */
    char path[LOG_FILE_PATH_MAX];
    uint64_t limit;
} rotated = {.lock = PTHREAD_MUTEX_INITIALIZER};

void log_rotate_stderr(const char *path, uint64_t limit)
{
    assert(path != NULL && rotated.limit == 0);
    if (strlen(path) >= sizeof rotated.path) { return; }
    memcpy(rotated.path, path, strlen(path) + 1);
    rotated.limit = limit;
}

/* dup2() replaces the file under the feet of libraries, too, between two of their writes. */
static void rotate_before(size_t size)
{
    struct stat now;
    assert(rotated.limit > 0);
    if (fstat(STDERR_FILENO, &now) != 0 || now.st_size == 0) { return; }
    if ((uint64_t)now.st_size + size <= rotated.limit) { return; }
    int fd = log_file_rotate(rotated.path);
    if (fd < 0) { return; }
    (void)dup2(fd, STDOUT_FILENO);
    (void)dup2(fd, STDERR_FILENO);
    close(fd);
}

/* Whether a line can be written without waiting for the reader of a pipe or a terminal: a pipe
 * that is ready takes PIPE_BUF bytes. Files are always ready; so is a closed descriptor, and
 * write() fails then. */
static bool stderr_has_room(void)
{
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&room, 1, 0) != 0;
}

static void write_line(const struct line *line)
{
    assert(line->size > 0);
    if (rotated.limit == 0) {
        write_all(line->text, line->size);
        return;
    }
    pthread_mutex_lock(&rotated.lock);
    rotate_before(line->size);
    write_all(line->text, line->size);
    pthread_mutex_unlock(&rotated.lock);
}

static void format_line(struct line *line, enum log_level level, char *message)
{
    line->size = 0;
    utf8_clean(message);
    if (output != LOG_JSON || !format_json(line, level, message)) {
        line->size = 0;
        format_text(line, level, message);
    }
    line->text[line->size++] = '\n';
}

static bool write_if_room(const struct line *line)
{
    const bool room = stderr_has_room();
    if (room) { write_line(line); }
    return room;
}

/* Write the line, after the number of those left out before it; or leave it out. */
static void write_or_leave_out(const struct line *line)
{
    const uint64_t lost = atomic_exchange_explicit(&left_out, 0, memory_order_relaxed);
    bool written = true;
    if (lost > 0) {
        struct line note;
        char message[96];
        snprintf(message, sizeof message,
                 "%" PRIu64 " lines are left out: stderr was not read in time", lost);
        format_line(&note, LOG_WARN, message);
        written = write_if_room(&note);
        if (!written) { atomic_fetch_add_explicit(&left_out, lost, memory_order_relaxed); }
    }
    if (!written || !write_if_room(line)) {
        atomic_fetch_add_explicit(&left_out, 1, memory_order_relaxed);
    }
}

void log_write(enum log_level level, const char *format, ...)
{
    assert(format != NULL);
    if (level < minimum || level > LOG_ERROR) { return; }
    char message[MESSAGE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (length < 0) { return; }

    struct line line;
    format_line(&line, level, message);
    write_or_leave_out(&line);
}

void log_line(const char *format, ...)
{
    assert(format != NULL);
    struct line line = {.size = 0};
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line.text, MESSAGE_MAX_BYTES, format, arguments);
    va_end(arguments);
    if (length < 0) { return; }
    utf8_plain(line.text);
    line.size = strlen(line.text);
    line.text[line.size++] = '\n';
    write_or_leave_out(&line);
}
