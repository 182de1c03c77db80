#include "chaos/history/history.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/json_codec.h"

enum { REAL_DIGITS = 15, PATH_BYTES = 1024 };

struct history_file {
    FILE *stream;
    uint64_t started_us;
    int failed_errno; /* The first failure; 0: every line was written. */
    char path[PATH_BYTES];
};

/* ----------------------------------------------------------------- writing */

enum tn_status history_file_create(const char *path, uint64_t started_us, struct history_file **out,
                                   struct error *error)
{
    assert(path != NULL);
    assert(out != NULL);
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
    assert(kind != NULL);
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
    assert(file != NULL);
    assert(kind != NULL);
    uint64_t since_us = at_us > file->started_us ? at_us - file->started_us : 0;
    json_t *line = make_line((double)since_us / 1000.0, kind, object);
    /* Fifteen digits hold the microseconds of a year; more would show rounding errors. */
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

static const char *defect_of(const json_t *line)
{
    if (!json_is_object(line)) { return "is not a JSON object"; }
    if (!json_is_number(json_object_get(line, "t_ms"))) { return "has no \"t_ms\""; }
    if (!json_is_string(json_object_get(line, "kind"))) { return "has no \"kind\""; }
    return NULL;
}

static enum tn_status read_lines(FILE *stream, const char *path, json_t *lines, struct error *error)
{
    assert(json_is_array(lines));
    enum tn_status status = TN_OK;
    char *text = NULL;
    size_t capacity = 0, number = 0;
    ssize_t length;
    while (status == TN_OK && (length = getline(&text, &capacity, stream)) > 0) {
        json_t *line = json_loadb(text, (size_t)length, 0, NULL);
        const char *wrong = defect_of(line);
        number++;
        if (wrong != NULL && text[length - 1] != '\n') {
            json_decref(line); /* The harness was killed while it wrote this. */
            break;
        }
        if (wrong != NULL) {
            json_decref(line);
            status = error_set(error, TN_EINVAL,
                               "%s: line %zu %s: give the history.jsonl of a round, in "
                               "the folder of a campaign",
                               path, number, wrong);
        } else if (json_array_append_new(lines, line) != 0) {
            status = error_set(error, TN_ENOMEM, "out of memory");
        }
    }
    if (status == TN_OK && ferror(stream)) {
        status = errno != EISDIR
                     ? files_error(error, errno, "read", path)
                     : error_set(error, TN_EINVAL,
                                 "%s is a folder: give the history.jsonl of a round", path);
    }
    free(text);
    return status;
}

enum tn_status history_read(const char *path, json_t **out, struct error *error)
{
    assert(path != NULL);
    assert(out != NULL);
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

static const char *const trigger_names[] = {
    [TRIGGER_TIME] = "time",
    [TRIGGER_STEP] = "step",
    [TRIGGER_PHASE] = "phase",
    [TRIGGER_FAILPOINT] = "point",
    NULL,
};

/* The tags of a row: the types of triggers that have the member. */
enum {
    OF_TIME = 1 << TRIGGER_TIME,
    OF_STEP = 1 << TRIGGER_STEP,
    OF_PHASE = 1 << TRIGGER_PHASE,
    OF_POINT = 1 << TRIGGER_FAILPOINT,
    OF_ALL = OF_TIME | OF_STEP | OF_PHASE | OF_POINT
};

#define AT(member) JSON_MEMBER(struct trigger, member)
static const struct json_field trigger_fields[] = {
    {"type", FIELD_ENUM, AT(type), .names = trigger_names, .tags = OF_ALL},
    {"step", FIELD_UINT, AT(step), .tags = OF_STEP},
    {"phase", FIELD_ENUM, AT(phase), .names = run_phase_names, .tags = OF_PHASE},
    {"point", FIELD_TEXT, AT(failpoint), .tags = OF_POINT},
    {"count", FIELD_UINT, AT(count), .least = 1, .most = UINT32_MAX, .tags = OF_PHASE | OF_POINT},
    {"at_ms", FIELD_UINT, AT(at_ms), .tags = OF_TIME | OF_POINT},
};
#undef AT
static const struct json_table trigger_table = {JSON_FIELDS(trigger_fields), .status = TN_EINVAL};

static json_t *build_trigger(const void *member)
{
    assert(member != NULL);
    const struct trigger *trigger = member;
    json_t *object = json_object();
    bool built =
        object != NULL && json_codec_build(&trigger_table, trigger, 1U << trigger->type, object);
    if (built) { return object; }
    json_decref(object);
    return NULL;
}

static bool read_trigger(const json_t *value, void *member)
{
    assert(member != NULL);
    struct trigger *trigger = member;
    if (json_codec_read(&trigger_table, value, "", trigger, NULL) != TN_OK) { return false; }
    for (size_t i = 0; i < trigger_table.count; i++) {
        const struct json_field *field = &trigger_fields[i];
        bool needed = (field->tags & 1U << trigger->type) != 0;
        if (needed && json_object_get(value, field->name) == NULL) { return false; }
    }
    return true;
}

static const struct json_converter trigger_converter = {
    build_trigger, read_trigger, "a trigger: its \"type\" and the members of that type"};

#define AT(member) JSON_MEMBER(struct injection, member)
static const struct json_field injection_fields[] = {
    {"id", FIELD_UINT, AT(id)},
    {"fault", FIELD_ENUM, AT(fault), .names = fault_names,
     .wanted = "a fault of `tanist chaos list`"},
    {"selector", FIELD_TEXT, AT(selector)},
    {"trigger", FIELD_CUSTOM, AT(trigger), .converter = &trigger_converter},
    {"for_ms", FIELD_UINT, AT(for_ms)},
    {"value", FIELD_REAL, AT(value)},
};
#undef AT
static const struct json_table injection_table = {JSON_FIELDS(injection_fields),
                                                  .rules = JSON_ALL_REQUIRED, .status = TN_EINVAL};

json_t *injection_to_json(const struct injection *injection)
{
    assert(injection != NULL);
    json_t *object = json_object();
    if (object != NULL && json_codec_build(&injection_table, injection, 0, object)) {
        return object;
    }
    json_decref(object);
    return NULL;
}

enum tn_status injection_from_json(const json_t *object, struct injection *out, struct error *error)
{
    assert(out != NULL);
    *out = (struct injection){.trigger.count = 1};
    return json_codec_read(&injection_table, object, "", out, error);
}

enum tn_status history_schedule(const json_t *lines, struct schedule *out, struct error *error)
{
    assert(out != NULL);
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
