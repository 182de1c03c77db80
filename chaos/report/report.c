#include "chaos/report/report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/history/history.h"
#include "chaos/history/json_member.h"
#include "chaos/history/recovery.h"
#include "chaos/report/report_private.h"
#include "common/base/files.h"

/* The part of `path` after `dir`; all of it if it is not below `dir`. */
static const char *path_below(const char *dir, const char *path)
{
    assert(path != NULL);
    size_t length = strlen(dir);
    while (length > 0 && dir[length - 1] == '/') { length--; }
    bool below = length > 0 && strncmp(dir, path, length) == 0 && path[length] == '/';
    return below ? path + length + 1 : path;
}

/* The first round is open, as an example, and so is each that failed. */
static bool is_open(const json_t *report, const json_t *round)
{
    return json_array_size(json_object_get(report, "rounds")) == 0 ||
           !json_member_true(round, "ok");
}

/* `unread`: why the history cannot be read; NULL: it was read. */
static enum tn_status add_round(json_t *report, const json_t *history, const char *name,
                                const char *unread, struct markup *rounds, struct error *error)
{
    assert(name != NULL);
    struct timeline timeline;
    if (!timeline_read(history, &timeline)) { return error_set(error, TN_ENOMEM, "out of memory"); }
    json_t *recoveries = recovery_list(&timeline);
    json_t *round =
        recoveries != NULL ? report_round_facts(&timeline, recoveries, name, unread) : NULL;
    if (round != NULL) {
        report_round(rounds, &timeline, round, recoveries, is_open(report, round));
        report_add(report, &timeline, round, recoveries);
    } else {
        json_decref(recoveries);
    }
    timeline_free(&timeline);
    return round != NULL ? TN_OK : error_set(error, TN_ENOMEM, "%s: out of memory", name);
}

static enum tn_status add_file(json_t *report, const char *dir, const char *path,
                               struct markup *rounds, struct error *error)
{
    json_t *history;
    struct error unread = {0};
    enum tn_status status = history_read(path, &history, &unread);
    if (status == TN_ENOMEM) { return error_set(error, TN_ENOMEM, "%s: out of memory", path); }
    status = add_round(report, history, path_below(dir, path), status != TN_OK ? unread.text : NULL,
                       rounds, error);
    json_decref(history);
    return status;
}

static enum tn_status write_file(const char *dir, const char *name, const char *data, size_t size,
                                 struct error *error)
{
    assert(data != NULL);
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", dir, name);
    if (length < 0 || (size_t)length >= sizeof path) {
        return error_set(error, TN_EINVAL, "%s: the path is too long", dir);
    }
    return files_write_public(path, data, size, error);
}

static enum tn_status write_json(const char *dir, const json_t *report, struct error *error)
{
    char *text = json_dumps(report, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    if (text == NULL) { return error_set(error, TN_ENOMEM, "report.json: out of memory"); }
    enum tn_status status = write_file(dir, "report.json", text, strlen(text), error);
    free(text);
    return status;
}

static enum tn_status write_html(const char *dir, const json_t *report, const struct markup *rounds,
                                 struct error *error)
{
    struct markup page = {0};
    report_page(&page, report, rounds);
    enum tn_status status = page.failed || page.at == NULL
                                ? error_set(error, TN_ENOMEM, "report.html: out of memory")
                                : write_file(dir, "report.html", page.at, page.used, error);
    markup_free(&page);
    return status;
}

enum tn_status report_write(const char *dir, const char *const *histories, size_t count,
                            struct error *error)
{
    assert(dir != NULL);
    assert(histories != NULL || count == 0);
    if (count == 0) { return error_set(error, TN_EINVAL, "%s: no round has left a history", dir); }
    struct markup rounds = {0};
    json_t *report = report_begin();
    enum tn_status status = report != NULL ? TN_OK : error_set(error, TN_ENOMEM, "out of memory");
    for (size_t i = 0; i < count && status == TN_OK; i++) {
        status = add_file(report, dir, histories[i], &rounds, error);
    }
    if (status == TN_OK) { report_finish(report); }
    if (status == TN_OK) { status = write_json(dir, report, error); }
    if (status == TN_OK) { status = write_html(dir, report, &rounds, error); }
    json_decref(report);
    markup_free(&rounds);
    return status;
}
