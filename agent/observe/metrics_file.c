#include "agent/observe/metrics_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/observe/event_text.h"
#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/log.h"

enum { PATH_BYTES = 1024, LINE_BYTES = 512, NUMBER_BYTES = 32 };

static void note_failure(struct metrics_file *file, const char *text)
{
    if (!file->failed) { log_warn("metrics are not written: %s", text); }
    file->failed = true;
}

/* ---------------------------------------------------------------- writing */

/* A failed or partial write leaves a line without an end, which readers leave out. */
static void write_line(struct metrics_file *file, const char *text, size_t size)
{
    if (file->fd <= 0) { return; }
    if (file->cut_off && write(file->fd, "\n", 1) != 1) { return; }
    const ssize_t written = write(file->fd, text, size);
    file->cut_off = written != (ssize_t)size;
    if (file->cut_off) {
        note_failure(file, written < 0 ? strerror(errno) : "the device is full");
    } else {
        file->failed = false;
    }
}

static void print_line(struct metrics_file *file, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void print_line(struct metrics_file *file, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    assert(size > 0 && size < LINE_BYTES);
    write_line(file, line, (size_t)size);
}

/* Takes the reference. */
static void write_object(struct metrics_file *file, json_t *object)
{
    char *line = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (line == NULL) { return; }
    const size_t length = strlen(line);
    line[length] = '\n'; /* In place of the terminator, so that it is one write. */
    write_line(file, line, length + 1);
    free(line);
}

/* All digits, so that equal texts are equal bits. JSON has no NaN. */
static const char *exact(double value, char text[static NUMBER_BYTES])
{
    if (isfinite(value)) {
        snprintf(text, NUMBER_BYTES, "%.17g", value);
    } else {
        snprintf(text, NUMBER_BYTES, "null");
    }
    return text;
}

void metrics_file_point(struct metrics_file *file, const struct training_curve_point *point,
                        uint64_t wall_ms, uint64_t paused_ms, const char *metrics)
{
    char time[TIME_TEXT_MAX], loss[NUMBER_BYTES], rate[NUMBER_BYTES] = "null", more[96] = "";
    clock_format(wall_ms, time);
    if (isfinite(point->steps_per_second)) {
        snprintf(rate, sizeof rate, "%.3f", point->steps_per_second);
    }
    if (point->loss_steps < point->interval_steps) {
        snprintf(more, sizeof more, ",\"loss_steps\":%" PRIu32, point->loss_steps);
    }
    if (paused_ms > 0) {
        const size_t used = strlen(more);
        snprintf(more + used, sizeof more - used, ",\"paused_seconds\":%.3f",
                 (double)paused_ms / 1000);
    }
    print_line(file,
               "{\"step\":%" PRIu64 ",\"time\":\"%s\",\"loss\":%s,\"steps_per_second\":%s%s%s}\n",
               point->step, time, exact(point->loss, loss), rate, more, metrics);
}

void metrics_file_tables(struct metrics_file *file, const struct table_totals *totals,
                         uint64_t step, uint64_t wall_ms)
{
    char time[TIME_TEXT_MAX];
    const struct table_stats all = table_totals_all(totals);
    if (totals->count == 0) { return; }
    clock_format(wall_ms, time);
    write_object(file, json_pack("{s:I, s:s, s:I, s:I, s:I, s:I, s:o}", "step", (json_int_t)step,
                                 "time", time, "table_rows", (json_int_t)all.rows, "table_bytes",
                                 (json_int_t)all.bytes, "table_lookups", (json_int_t)all.lookups,
                                 "table_updates", (json_int_t)all.updates, "tables",
                                 table_totals_json(totals, false)));
}

void metrics_file_loaded(struct metrics_file *file, const struct run *run, uint64_t wall_ms)
{
    char time[TIME_TEXT_MAX];
    clock_format(wall_ms, time);
    file->generation = run->generation;
    print_line(file,
               "{\"time\":\"%s\",\"event\":\"" METRICS_LOADED "\",\"step\":%" PRIu64
               ",\"generation\":%" PRIu64 ",\"checkpoint\":%" PRIu64 "}\n",
               time, run->load_step, run->generation, run->load_checkpoint);
}

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

void metrics_file_entry(struct metrics_file *file, const struct history_entry *entry)
{
    char time[TIME_TEXT_MAX];
    if (entry->kind == HISTORY_CHANGED) { return; } /* metrics_file_changed() has each key. */
    if (entry->kind != HISTORY_EVALUATED) {
        write_object(file, event_text_history_json(entry));
        return;
    }
    clock_format(entry->wall_ms, time);
    json_t *line = json_pack("{s:I, s:s, s:o, s:o}", "step", (json_int_t)entry->step, "time", time,
                             "test_loss", real(entry->loss), "accuracy", real(entry->accuracy));
    /* A metric of the model cannot replace a key of the line. */
    json_t *metrics = metrics_json(&entry->metrics);
    (void)json_object_update_missing(line, metrics);
    json_decref(metrics);
    write_object(file, line);
}

void metrics_file_changed(struct metrics_file *file, uint64_t step, const char *key,
                          const json_t *from, const json_t *to)
{
    char time[TIME_TEXT_MAX];
    clock_format(clock_wall_ms(), time);
    write_object(file, json_pack("{s:s, s:s, s:I, s:s, s:O, s:O}", "time", time, "event", "changed",
                                 "step", (json_int_t)step, "key", key, "from", from, "to", to));
}

/* ---------------------------------------------------------------- reading */

static void path_of(const char *dir, char path[static PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%.900s/" METRICS_FILE, dir);
}

enum tn_status metrics_file_read(const char *dir, void (*line)(void *ctx, const json_t *object),
                                 void *ctx, struct error *error)
{
    char path[PATH_BYTES], *text = NULL;
    size_t capacity = 0;
    path_of(dir, path);
    struct stat found;
    if (stat(path, &found) != 0) { return files_error(error, errno, "open", path); }
    if (!S_ISREG(found.st_mode)) {
        return error_set(error, TN_EIO, "%s is not a regular file", path);
    }
    FILE *in = fopen(path, "re");
    if (in == NULL) { return files_error(error, errno, "open", path); }
    while (getline(&text, &capacity, in) > 0) {
        json_t *object = json_loads(text, 0, NULL);
        if (json_is_object(object)) { line(ctx, object); }
        json_decref(object);
    }
    const bool failed = ferror(in) != 0;
    const int reason = errno;
    free(text);
    fclose(in);
    return failed ? files_error(error, reason, "read", path) : TN_OK;
}

static void note_line(void *ctx, const json_t *object)
{
    struct metrics_file *file = ctx;
    const char *event = json_string_value(json_object_get(object, "event"));
    const json_t *step = json_object_get(object, "step");
    const bool loaded = event != NULL && strcmp(event, METRICS_LOADED) == 0;
    if (loaded) {
        file->generation = (uint64_t)json_integer_value(json_object_get(object, "generation"));
    }
    if (loaded || (event == NULL && json_object_get(object, "loss") != NULL)) {
        file->step = (uint64_t)json_integer_value(step);
    }
}

static bool is_cut_off(int fd)
{
    char last = '\n';
    const off_t size = lseek(fd, 0, SEEK_END);
    return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

void metrics_file_open(struct metrics_file *file, const char *dir)
{
    char path[PATH_BYTES];
    struct error error;
    assert(dir != NULL);
    *file = (struct metrics_file){.fd = -1};
    if (metrics_file_read(dir, note_line, file, &error) == TN_EIO) {
        note_failure(file, error.text);
        return;
    }
    path_of(dir, path);
    file->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file->fd < 0) {
        (void)!files_error(&error, errno, "open", path);
        note_failure(file, error.text);
        return;
    }
    file->cut_off = is_cut_off(file->fd);
}

void metrics_file_close(struct metrics_file *file)
{
    if (file->fd > 0) { close(file->fd); }
    file->fd = -1;
}
