#include "agent/observe/run_record.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/files.h"

enum { RECORD_VERSION = 1, RECORD_MAX = 4 << 20, PATH_BYTES = LOG_FILE_PATH_MAX + 16 };

/* About 1000 events; with the old files four times as many. */
enum { HISTORY_FILE_BYTES = 256 * 1024 };

static void join(char path[static PATH_BYTES], const char *dir, const char *name)
{
    snprintf(path, PATH_BYTES, "%.*s/%s", LOG_FILE_PATH_MAX - 64, dir, name);
}

/* -------------------------------------------------------------- the state */

static json_t *object_of(const char *text, size_t size)
{
    return json_loadb(text, size, 0, NULL);
}

/* `run` may be NULL. Takes the reference on `members`. */
static json_t *state_json(const struct run *run, uint64_t step, json_t *members)
{
    char text[ZNODE_JSON_MAX];
    json_t *root =
        json_pack("{s:i, s:I, s:I, s:o}", "version", RECORD_VERSION, "written_ms",
                  (json_int_t)clock_wall_ms(), "step", (json_int_t)step, "members", members);
    if (root != NULL && run != NULL) {
        json_object_set_new(root, "run", object_of(text, run_encode(run, text)));
    }
    return root;
}

static json_t *record_json(const struct observer *observer, uint64_t step)
{
    char text[ZNODE_JSON_MAX];
    json_t *members = json_array();
    for (uint32_t i = 0; i < observer->task_count; i++) {
        if (!observer->tasks[i].present) { continue; }
        const size_t size = member_encode(&observer->tasks[i].member, text);
        json_array_append_new(members, object_of(text, size));
    }
    json_t *root = state_json(observer->has_run ? &observer->run : NULL, step, members);
    if (root != NULL && observer->has_chief) {
        const size_t size = chief_record_encode(&observer->chief, text);
        json_object_set_new(root, "chief", object_of(text, size));
    }
    return root;
}

static enum tn_status replace(const char *path, const json_t *root, struct error *error)
{
    char next[PATH_BYTES + 8];
    snprintf(next, sizeof next, "%s.new", path);
    int fd = open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) { return files_error(error, errno, "open", next); }
    bool written = json_dumpfd(root, fd, JSON_INDENT(1)) == 0;
    int reason = errno;
    close(fd);
    if (written && rename(next, path) == 0) { return TN_OK; }
    if (written) { reason = errno; }
    (void)unlink(next);
    return files_error(error, reason, "write", path);
}

/* Takes the reference on `root`. */
static enum tn_status write_record(const char *dir, json_t *root, struct error *error)
{
    char path[PATH_BYTES];
    if (root == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    join(path, dir, "record.json");
    enum tn_status status = replace(path, root, error);
    json_decref(root);
    return status;
}

enum tn_status run_record_write(const char *dir, const struct observer *observer, uint64_t step,
                                struct error *error)
{
    assert(observer != NULL);
    return write_record(dir, record_json(observer, step), error);
}

enum tn_status run_record_write_run(const char *dir, const struct run *run, uint64_t step,
                                    struct error *error)
{
    assert(run != NULL);
    return write_record(dir, state_json(run, step, json_array()), error);
}

typedef enum tn_status decode_fn(const char *text, size_t size, void *out, struct error *error);

static enum tn_status decode_run(const char *text, size_t size, void *out, struct error *error)
{
    return run_decode(text, size, out, error);
}

static enum tn_status decode_chief(const char *text, size_t size, void *out, struct error *error)
{
    return chief_record_decode(text, size, out, error);
}

static enum tn_status decode_member(const char *text, size_t size, void *out, struct error *error)
{
    return member_decode(text, size, out, error);
}

static enum tn_status decode_history(const char *text, size_t size, void *out, struct error *error)
{
    return history_decode(text, size, out, error);
}

/* `found`: the value exists. */
static enum tn_status decode(const json_t *value, decode_fn *decode_text, void *out, bool *found,
                             struct error *error)
{
    *found = value != NULL;
    if (value == NULL) { return TN_OK; }
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    if (text == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = decode_text(text, strlen(text), out, error);
    free(text);
    return status;
}

static enum tn_status decode_record(const json_t *root, struct run_record *out, struct error *error)
{
    const json_t *members = json_object_get(root, "members");
    out->wall_ms = (uint64_t)json_integer_value(json_object_get(root, "written_ms"));
    out->step = (uint64_t)json_integer_value(json_object_get(root, "step"));
    enum tn_status status =
        decode(json_object_get(root, "run"), decode_run, &out->run, &out->has_run, error);
    if (status == TN_OK) {
        status = decode(json_object_get(root, "chief"), decode_chief, &out->chief, &out->has_chief,
                        error);
    }
    for (size_t i = 0; status == TN_OK && i < json_array_size(members) && i < TASKS_MAX; i++) {
        bool found = false;
        status = decode(json_array_get(members, i), decode_member, &out->members[i], &found, error);
        out->member_count++;
    }
    return status;
}

enum tn_status run_record_read(const char *dir, struct run_record *out, struct error *error)
{
    char path[PATH_BYTES], *text = NULL;
    size_t size = 0;
    assert(dir != NULL);
    memset(out, 0, sizeof *out);
    join(path, dir, "record.json");
    enum tn_status status = files_read(path, RECORD_MAX, &text, &size, error);
    if (status != TN_OK) { return status; }
    json_t *root = object_of(text, size);
    free(text);
    if (json_integer_value(json_object_get(root, "version")) == RECORD_VERSION) {
        status = decode_record(root, out, error);
    } else {
        status = error_set(error, TN_ECORRUPT,
                           "it is damaged, or was written by another version of tanist; a run that "
                           "continues writes it again");
    }
    json_decref(root);
    return status == TN_OK ? TN_OK : error_context(error, "%s", path);
}

/* ------------------------------------------------------------- the history */

/* The last complete line, from which the history continues. */
static void find_end(struct run_history *history)
{
    char *text = NULL;
    size_t size = 0;
    assert(!history->open);
    if (files_read(history->file.path, RECORD_MAX, &text, &size, NULL) != TN_OK) { return; }
    const bool cut_off = size > 0 && text[size - 1] != '\n'; /* By a kill in a write. */
    if (cut_off) { log_file_write(&history->file, "\n", 1); }
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL && rest != NULL;) {
        json_t *object = object_of(line, strlen(line));
        if (object == NULL) { continue; }
        history->folder = (uint64_t)json_integer_value(json_object_get(object, "folder"));
        history->number = json_integer_value(json_object_get(object, "number"));
        json_decref(object);
    }
    free(text);
}

enum tn_status run_history_open(struct run_history *history, const char *dir, struct error *error)
{
    char path[PATH_BYTES];
    assert(!history->open);
    join(path, dir, "history.jsonl");
    *history = (struct run_history){.number = -1};
    enum tn_status status = log_file_open(&history->file, path, HISTORY_FILE_BYTES, error);
    if (status != TN_OK) { return status; }
    find_end(history);
    history->open = true;
    return TN_OK;
}

/* Write the entry with the number of `history`. */
static void write_entry(struct run_history *history, const struct history_entry *entry)
{
    char text[ZNODE_JSON_MAX];
    assert(history->open);
    const size_t size = history_encode(entry, text);
    json_t *object = json_pack("{s:I, s:I, s:o}", "folder", (json_int_t)history->folder, "number",
                               (json_int_t)history->number, "entry", object_of(text, size));
    char *line = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (line == NULL) { return; }
    const size_t length = strlen(line);
    line[length] = '\n'; /* In place of the terminator, so that it is one write. */
    log_file_write(&history->file, line, length + 1);
    free(line);
}

bool run_history_add(struct run_history *history, const struct observer *observer)
{
    const uint64_t folder = observer->history_zxid;
    if (!history->open) { return !observer->entry_old; }
    if (folder == history->folder && observer->reported <= history->number) { return false; }
    history->folder = folder;
    history->number = observer->reported;
    write_entry(history, &observer->entry);
    return true;
}

void run_history_append(struct run_history *history, const struct history_entry *entry)
{
    if (!history->open) { return; }
    history->number++;
    write_entry(history, entry);
}

void run_history_close(struct run_history *history)
{
    if (history->open) { log_file_close(&history->file); }
    history->open = false;
}

static void read_line(const char *line, void (*entry)(void *ctx, const struct history_entry *entry),
                      void *ctx)
{
    struct history_entry decoded;
    bool found = false;
    json_t *object = object_of(line, strlen(line));
    if (decode(json_object_get(object, "entry"), decode_history, &decoded, &found, NULL) == TN_OK &&
        found) {
        entry(ctx, &decoded);
    }
    json_decref(object);
}

enum tn_status run_history_read(const char *dir,
                                void (*entry)(void *ctx, const struct history_entry *entry),
                                void *ctx, struct error *error)
{
    assert(entry != NULL);
    for (int number = LOG_FILES_KEPT; number >= 0; number--) {
        char name[32], path[PATH_BYTES], *text = NULL;
        size_t size = 0;
        snprintf(name, sizeof name, number > 0 ? "history.jsonl.%d" : "history.jsonl", number);
        join(path, dir, name);
        enum tn_status status = files_read(path, RECORD_MAX, &text, &size, error);
        if (status == TN_ENOENT) { continue; }
        if (status != TN_OK) { return status; }
        for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
            if (*line) { read_line(line, entry, ctx); }
        }
        free(text);
    }
    return TN_OK;
}
