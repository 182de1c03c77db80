#include "chaos/history/history.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "common/base/clock.h"
#include "common/base/files.h"

enum { REAL_DIGITS = 15, PATH_BYTES = 1024 };

struct history_file {
    FILE *stream;
    uint64_t started_us;
    int failed_errno; /* The first failure; 0: none. */
    char path[PATH_BYTES];
};

/* ----------------------------------------------------------------- writing */

enum tn_status history_file_create(const char *path, uint64_t started_us, struct history_file **out,
                                   struct error *error)
{
    struct history_file *file = calloc(1, sizeof *file);
    *out = NULL;
    if (file == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    file->started_us = started_us;
    snprintf(file->path, sizeof file->path, "%s", path);
    file->stream = fopen(path, "we"); /* Not inherited by the processes we attack. */
    if (file->stream == NULL) {
        free(file);
        return files_error(error, errno, "create", path);
    }
    *out = file;
    return TN_OK;
}

void history_file_add(struct history_file *file, const char *kind, json_t *object)
{
    history_file_add_at(file, clock_monotonic_ns() / 1000, kind, object);
}

/* "t_ms" and "kind", then all of `object`. NULL: out of memory. */
static json_t *make_line(double t_ms, const char *kind, json_t *object)
{
    json_t *line = json_pack("{s:f, s:s}", "t_ms", t_ms, "kind", kind);
    if (line != NULL && object != NULL && json_object_update_missing(line, object) == 0) {
        return line;
    }
    json_decref(line);
    return NULL;
}

void history_file_add_at(struct history_file *file, uint64_t at_us, const char *kind,
                         json_t *object)
{
    uint64_t since_us = at_us > file->started_us ? at_us - file->started_us : 0;
    json_t *line = make_line((double)since_us / 1000.0, kind, object);
    /* Fifteen digits are enough for microseconds of a year, and show no binary dust. */
    size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS);
    errno = 0;
    bool written = line != NULL && json_dumpf(line, file->stream, flags) == 0 &&
                   putc('\n', file->stream) != EOF && fflush(file->stream) == 0;
    if (!written && file->failed_errno == 0) {
        file->failed_errno = line == NULL ? ENOMEM : errno != 0 ? errno : EIO;
    }
    json_decref(line);
    json_decref(object);
}

enum tn_status history_file_close(struct history_file *file, struct error *error)
{
    enum tn_status status = TN_OK;
    if (file == NULL) { return TN_OK; }
    if (fclose(file->stream) != 0 && file->failed_errno == 0) { file->failed_errno = errno; }
    if (file->failed_errno != 0) {
        status = files_error(error, file->failed_errno, "write", file->path);
    }
    free(file);
    return status;
}

/* ----------------------------------------------------------------- reading */

static const char *what_is_wrong(const json_t *line)
{
    if (!json_is_object(line)) { return "is not a JSON object"; }
    if (!json_is_number(json_object_get(line, "t_ms"))) { return "has no \"t_ms\""; }
    if (!json_is_string(json_object_get(line, "kind"))) { return "has no \"kind\""; }
    return NULL;
}

static enum tn_status read_lines(FILE *stream, const char *path, json_t *lines, struct error *error)
{
    enum tn_status status = TN_OK;
    char *text = NULL;
    size_t capacity = 0, number = 0;
    ssize_t length;
    while (status == TN_OK && (length = getline(&text, &capacity, stream)) > 0) {
        json_t *line = json_loadb(text, (size_t)length, 0, NULL);
        const char *wrong = what_is_wrong(line);
        number++;
        if (wrong != NULL && text[length - 1] != '\n') {
            json_decref(line); /* The harness was killed while it wrote this. */
            break;
        }
        if (wrong != NULL) {
            json_decref(line);
            status = error_set(error, TN_EINVAL, "%s: line %zu %s: give a history.jsonl", path,
                               number, wrong);
        } else if (json_array_append_new(lines, line) != 0) {
            status = error_set(error, TN_ENOMEM, "out of memory");
        }
    }
    if (status == TN_OK && ferror(stream)) { status = files_error(error, errno, "read", path); }
    free(text);
    return status;
}

enum tn_status history_read(const char *path, json_t **out, struct error *error)
{
    *out = NULL;
    FILE *stream = fopen(path, "re");
    if (stream == NULL) { return files_error(error, errno, "read", path); }
    json_t *lines = json_array();
    enum tn_status status = lines != NULL ? read_lines(stream, path, lines, error)
                                          : error_set(error, TN_ENOMEM, "out of memory");
    (void)fclose(stream);
    if (status == TN_OK) {
        *out = lines;
    } else {
        json_decref(lines);
    }
    return status;
}

/* ----------------------------------------------------------------- planned lines */

static const char *const trigger_words[] = {
    [TRIGGER_TIME] = "time",
    [TRIGGER_STEP] = "step",
    [TRIGGER_PHASE] = "phase",
    [TRIGGER_FAILPOINT] = "point",
};
enum { TRIGGER_TYPES = sizeof trigger_words / sizeof *trigger_words };

static json_t *trigger_to_json(const struct trigger *trigger)
{
    const char *type = trigger_words[trigger->type];
    json_int_t at_ms = (json_int_t)trigger->at_ms, count = trigger->count;
    switch (trigger->type) {
    case TRIGGER_TIME: return json_pack("{s:s, s:I}", "type", type, "at_ms", at_ms);
    case TRIGGER_STEP:
        return json_pack("{s:s, s:I}", "type", type, "step", (json_int_t)trigger->step);
    case TRIGGER_PHASE:
        return json_pack("{s:s, s:s, s:I}", "type", type, "phase", run_phase_name(trigger->phase),
                         "count", count);
    case TRIGGER_FAILPOINT:
        return json_pack("{s:s, s:s, s:I, s:I}", "type", type, "point", trigger->failpoint, "count",
                         count, "at_ms", at_ms);
    }
    assert(false && "a trigger of unknown type");
    return NULL;
}

json_t *injection_to_json(const struct injection *injection)
{
    return json_pack("{s:I, s:s, s:s, s:o, s:I, s:f}", "id", (json_int_t)injection->id, "fault",
                     fault_descriptor(injection->fault)->name, "whom", injection->selector,
                     "trigger", trigger_to_json(&injection->trigger), "for_ms",
                     (json_int_t)injection->for_ms, "value", injection->value);
}

/* An absent number keeps its value. */
static bool take_number(const json_t *object, const char *name, uint64_t limit, uint64_t *out)
{
    const json_t *value = json_object_get(object, name);
    if (value == NULL) { return true; }
    if (!json_is_integer(value) || json_integer_value(value) < 0) { return false; }
    *out = (uint64_t)json_integer_value(value);
    return *out <= limit;
}

static bool take_text(const json_t *object, const char *name, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (text == NULL || strlen(text) >= size) { return false; }
    snprintf(out, size, "%s", text);
    return true;
}

static bool take_type(const json_t *object, enum trigger_type *out)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    for (int i = 0; type != NULL && i < TRIGGER_TYPES; i++) {
        if (strcmp(type, trigger_words[i]) != 0) { continue; }
        *out = (enum trigger_type)i;
        return true;
    }
    return false;
}

static bool take_phase(const json_t *object, enum run_phase *out)
{
    const char *phase = json_string_value(json_object_get(object, "phase"));
    return phase != NULL && run_phase_parse(phase, out);
}

/* The name of what is wrong; NULL: nothing. */
static const char *read_trigger(const json_t *object, struct trigger *out)
{
    uint64_t count = 1;
    if (!take_type(object, &out->type)) { return "trigger.type"; }
    if (!take_number(object, "at_ms", INT64_MAX, &out->at_ms)) { return "trigger.at_ms"; }
    if (!take_number(object, "step", INT64_MAX, &out->step)) { return "trigger.step"; }
    if (!take_number(object, "count", UINT32_MAX, &count) || count == 0) { return "trigger.count"; }
    out->count = (uint32_t)count;
    if (out->type == TRIGGER_PHASE && !take_phase(object, &out->phase)) { return "trigger.phase"; }
    if (out->type == TRIGGER_FAILPOINT &&
        !take_text(object, "point", out->failpoint, sizeof out->failpoint)) {
        return "trigger.point";
    }
    return NULL;
}

static const char *read_injection(const json_t *object, struct injection *out)
{
    uint64_t id = 0;
    const char *fault = json_string_value(json_object_get(object, "fault"));
    const json_t *value = json_object_get(object, "value");
    if (!take_number(object, "id", UINT32_MAX, &id)) { return "id"; }
    out->id = (uint32_t)id;
    if (fault == NULL || !fault_parse(fault, &out->fault)) { return "fault"; }
    if (!take_text(object, "whom", out->selector, sizeof out->selector)) { return "whom"; }
    if (!take_number(object, "for_ms", INT64_MAX, &out->for_ms)) { return "for_ms"; }
    if (value != NULL && !json_is_number(value)) { return "value"; }
    out->value = json_number_value(value);
    return read_trigger(json_object_get(object, "trigger"), &out->trigger);
}

enum tn_status injection_from_json(const json_t *object, struct injection *out, struct error *error)
{
    *out = (struct injection){0};
    const char *wrong = read_injection(object, out);
    if (wrong == NULL) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "a planned fault's %s is missing or wrong: see `tanist chaos "
                     "list`",
                     wrong);
}

enum tn_status history_schedule(const json_t *lines, struct schedule *out, struct error *error)
{
    size_t index;
    json_t *line;
    *out = (struct schedule){.list = calloc(INJECTIONS_MAX, sizeof *out->list)};
    if (out->list == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    json_array_foreach(lines, index, line)
    {
        if (!line_is(line, "planned")) { continue; }
        enum tn_status status = TN_EINVAL;
        if (out->count < INJECTIONS_MAX) {
            status = injection_from_json(line, &out->list[out->count], error);
        } else {
            status = error_set(error, TN_EINVAL, "more than %d faults are planned", INJECTIONS_MAX);
        }
        if (status != TN_OK) {
            schedule_free(out);
            return error_context(error, "line %zu", index + 1);
        }
        out->count++;
    }
    return TN_OK;
}
