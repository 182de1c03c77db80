#include "agent/observe/summaries.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/crc32c.h"
#include "common/base/files.h"
#include "common/base/log.h"

enum { PATH_BYTES = 1200, HOST_BYTES = 64, NAMES_MAX = 100 };

/* The numbers of fields and values in TensorFlow's event.proto and summary.proto. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_GRAPH_DEF = 4 };
enum { EVENT_SUMMARY = 5, EVENT_SESSION_LOG = 7 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2 };
enum { SESSION_LOG_STATUS = 1, STATUS_START = 1 };

static void note_failure(struct summaries *summaries, const char *reason)
{
    if (!summaries->failed) { log_warn("summaries are not written: %s", reason); }
    summaries->failed = true;
}

static void put_little(uint8_t *out, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) { out[i] = (uint8_t)(value >> (8 * i)); }
}

/* One write for the whole record. Frees `event`. */
static void write_event(struct summaries *summaries, struct proto *event)
{
    uint8_t head[12], tail[4];
    if (!event->failed && summaries->fd > 0 && !summaries->failed) {
        put_little(head, event->used, 8);
        put_little(head + 8, crc32c_masked(head, 8), 4);
        put_little(tail, crc32c_masked(event->at, event->used), 4);
        const struct iovec parts[] = {
            {head, sizeof head}, {event->at, event->used}, {tail, sizeof tail}};
        const size_t size = sizeof head + event->used + sizeof tail;
        const ssize_t written = writev(summaries->fd, parts, 3);
        if (written != (ssize_t)size) {
            note_failure(summaries, written < 0 ? strerror(errno) : "the device is full");
        }
    }
    proto_free(event);
}

static struct proto begin_event(uint64_t wall_ms, uint64_t step)
{
    struct proto event = {0};
    proto_double(&event, EVENT_WALL_TIME, (double)wall_ms / 1000);
    proto_uint(&event, EVENT_STEP, step);
    return event;
}

void summaries_open(struct summaries *summaries, const char *dir)
{
    char path[PATH_BYTES], host[HOST_BYTES] = "";
    struct error error;
    *summaries = (struct summaries){.fd = -1};
    snprintf(path, sizeof path, "%.900s/" SUMMARIES_FOLDER, dir);
    if (files_make_folders(path, &error) != TN_OK) {
        note_failure(summaries, error.text);
        return;
    }
    if (gethostname(host, sizeof host - 1) != 0) { host[0] = '\0'; }
    const uint64_t wall_ms = clock_wall_ms();
    /* TensorBoard reads the files in the order of their names, so of their times. */
    for (int n = 0; n < NAMES_MAX && summaries->fd < 0; n++) {
        snprintf(path, sizeof path,
                 "%.900s/" SUMMARIES_FOLDER "/events.out.tfevents.%" PRIu64 ".%03d.%d.%s", dir,
                 wall_ms / 1000, (int)(wall_ms % 1000), n, host);
        summaries->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (summaries->fd < 0 && errno != EEXIST) { break; }
    }
    if (summaries->fd < 0) {
        (void)!files_error(&error, errno, "open", path);
        note_failure(summaries, error.text);
        return;
    }
    struct proto event = begin_event(wall_ms, 0);
    proto_text(&event, EVENT_FILE_VERSION, "brain.Event:2");
    write_event(summaries, &event);
}

void summaries_close(struct summaries *summaries)
{
    if (summaries->fd > 0) { close(summaries->fd); }
    summaries->fd = -1;
}

void summaries_value(struct summaries *summaries, uint64_t wall_ms, uint64_t step,
                     struct proto *entry)
{
    struct proto event = begin_event(wall_ms, step), summary = {0};
    proto_message(&summary, SUMMARY_VALUE, entry);
    proto_message(&event, EVENT_SUMMARY, &summary);
    write_event(summaries, &event);
}

void summaries_scalar(struct summaries *summaries, uint64_t wall_ms, uint64_t step, const char *tag,
                      double value)
{
    struct proto entry = {0};
    proto_text(&entry, VALUE_TAG, tag);
    proto_float(&entry, VALUE_SIMPLE, (float)value);
    summaries_value(summaries, wall_ms, step, &entry);
}

/* TensorBoard drops the points from this step on. */
void summaries_start(struct summaries *summaries, uint64_t wall_ms, uint64_t step)
{
    struct proto event = begin_event(wall_ms, step + 1), log = {0};
    proto_uint(&log, SESSION_LOG_STATUS, STATUS_START);
    proto_message(&event, EVENT_SESSION_LOG, &log);
    write_event(summaries, &event);
}

void summaries_graph(struct summaries *summaries, const struct proto *graph)
{
    struct proto event = begin_event(clock_wall_ms(), 0);
    proto_bytes(&event, EVENT_GRAPH_DEF, graph->at, graph->used);
    event.failed = event.failed || graph->failed;
    write_event(summaries, &event);
}
