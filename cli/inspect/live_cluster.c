#include "cli/inspect/live_cluster.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "agent/observe/run_note.h"
#include "cli/cluster_read.h"
#include "cli/run_folder.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"

enum { LOOK_MS = 500, SESSION_MS = 10000, DEADLINE_MS = 5000 };

static enum tn_status open_zk(struct live_cluster *live, struct error *error)
{
    assert(live->zk == NULL);
    const struct zk_config config = {.connect = live->target.connect,
                                     .session_timeout_ms = SESSION_MS,
                                     .deadline_ms = DEADLINE_MS,
                                     .credentials = text_or_null(live->target.credentials),
                                     .sink = zk_inbox_sink,
                                     .sink_ctx = live->inbox};
    enum tn_status status = zk_open(&config, &live->zk, error);
    if (status == TN_OK) { live->port = zk_port_of(live->zk); }
    return status;
}

/* Events of a session that is closed are obsolete. */
static void discard_events(struct live_cluster *live)
{
    while (zk_inbox_take(live->inbox) != NULL) {}
}

static enum tn_status reopen(struct live_cluster *live, struct error *error)
{
    zk_close(live->zk);
    live->zk = NULL;
    discard_events(live);
    enum tn_status status = open_zk(live, error);
    if (status == TN_OK) { observer_restart(live->observer, &live->port, clock_monotonic_ms()); }
    return status;
}

/* Read the spec of the cluster, and observe it from the beginning. */
static enum tn_status begin(struct live_cluster *live, struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec;
    struct job job;
    assert(live->zk == NULL);
    enum tn_status status = target_open(&live->target, &sync, &spec, &job, error);
    if (status != TN_OK) { return status; }
    zk_sync_close(sync);
    live->spec = spec;
    live->job = job;
    discard_events(live);
    status = open_zk(live, error);
    if (status == TN_OK) {
        const struct task_counts tasks = spec_tasks(&spec);
        observer_start(live->observer, live->target.cluster, &tasks, 0, &live->port,
                       clock_monotonic_ms());
    }
    return status;
}

enum tn_status live_cluster_open(struct live_cluster *live, const struct target_options *given,
                                 struct error *error)
{
    struct run_note note;
    assert(live->inbox == NULL);
    enum tn_status status = target_find(given, &live->target, error);
    if (status != TN_OK) { return status; }
    if (live->target.dir != NULL && run_note_read(live->target.dir, &note, NULL) == TN_OK) {
        live->cluster_made_ms = note.cluster_made_ms;
    }
    live->inbox = zk_inbox_create();
    live->observer = calloc(1, sizeof *live->observer);
    if (live->inbox == NULL || live->observer == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory");
    }
    status = begin(live, error);
    live->disconnected = wait_notice_start(clock_monotonic_ms());
    return status;
}

void live_cluster_close(struct live_cluster *live)
{
    zk_close(live->zk);
    zk_inbox_destroy(live->inbox);
    free(live->observer);
    live->zk = NULL;
    live->inbox = NULL;
    live->observer = NULL;
}

static unsigned note_connection(struct live_cluster *live, const struct zk_event *event,
                                uint64_t now_ms)
{
    bool was = live->connected;
    if (event->type == ZK_CONNECTED) { live->connected = true; }
    if (event->type == ZK_DISCONNECTED || event->type == ZK_EXPIRED) { live->connected = false; }
    if (was == live->connected) { return 0; }
    const bool again = live->connected && live->lost;
    live->lost = !live->connected;
    if (live->connected) { return again ? LIVE_CLUSTER_RECONNECTED : 0; }
    live->disconnected = wait_notice_start(now_ms);
    live->look_at_ms = now_ms + LOOK_MS;
    return LIVE_CLUSTER_DISCONNECTED;
}

/* The run has ended, and the observer has read everything that was written at its end. */
static bool has_ended(const struct observer *observer)
{
    return observer->has_run && run_is_over(&observer->run) && observer->settled &&
           observer_is_idle(observer);
}

bool live_cluster_next(struct live_cluster *live, struct live_cluster_changes *changes,
                       enum tn_status *status, struct error *error)
{
    assert(live->observer != NULL);
    uint64_t now_ms = clock_monotonic_ms();
    const struct zk_event *event = zk_inbox_take(live->inbox);
    *status = TN_OK;
    if (event == NULL) { return false; }
    const bool expired = event->type == ZK_EXPIRED;
    changes->settled_before = live->observer->settled;
    changes->live = note_connection(live, event, now_ms);
    changes->observer = observer_handle(live->observer, event, &live->port, now_ms);
    if (has_ended(live->observer)) { changes->live |= LIVE_CLUSTER_ENDED; }
    if (expired) { *status = reopen(live, error); }
    return true;
}

bool live_cluster_wait_message(struct live_cluster *live, char *text, size_t size)
{
    const uint64_t now_ms = clock_monotonic_ms();
    if (live->connected || !wait_notice_due(&live->disconnected, now_ms)) { return false; }
    bool ended = live->target.dir != NULL && !run_folder_in_use(live->target.dir);
    snprintf(text, size, "still waiting for ZooKeeper at %s after %" PRIu64 " s%s",
             live->target.connect, wait_notice_seconds(&live->disconnected, now_ms),
             ended ? " (the run has ended or was killed)" : "");
    return true;
}

uint64_t live_cluster_disconnected_ms(const struct live_cluster *live)
{
    return live->connected ? 0 : clock_monotonic_ms() - live->disconnected.start_ms;
}

/* The job of the folder may have been started again, with its ZooKeeper on other ports, which
 * run.json names. Until that answers, the next tick tries again. True: it is another run. */
static bool follow_folder(struct live_cluster *live, uint64_t now_ms)
{
    struct run_note note;
    struct error error;
    if (live->connected || live->target.dir == NULL || now_ms < live->look_at_ms) { return false; }
    live->look_at_ms = now_ms + LOOK_MS;
    if (run_note_read(live->target.dir, &note, NULL) != TN_OK || note.cluster_made_ms == 0) {
        return false;
    }
    if (live->zk != NULL && strcmp(note.connect, live->target.connect) == 0) { return false; }
    if (target_enter_network(&note, &error) != TN_OK) { return false; }
    target_use_note(&live->target, &note);
    zk_abandon(live->zk); /* No server is left that could close our session. */
    live->zk = NULL;
    if (note.cluster_made_ms == live->cluster_made_ms) {
        (void)reopen(live, &error);
        return false;
    }
    live->target.wait_ms = LOOK_MS;
    if (begin(live, &error) != TN_OK) { return false; }
    live->cluster_made_ms = note.cluster_made_ms;
    return true;
}

bool live_cluster_tick(struct live_cluster *live)
{
    assert(live->observer != NULL);
    uint64_t now_ms = clock_monotonic_ms();
    if (live->zk != NULL) { observer_tick(live->observer, &live->port, now_ms); }
    return follow_folder(live, now_ms);
}

int live_cluster_fd(const struct live_cluster *live)
{
    assert(live->inbox != NULL);
    return zk_inbox_fd(live->inbox);
}

int live_cluster_timeout_ms(const struct live_cluster *live)
{
    uint64_t now_ms = clock_monotonic_ms();
    uint64_t until_ms = live->zk != NULL ? observer_deadline_ms(live->observer) : UINT64_MAX;
    if (!live->connected) { until_ms = u64_min(until_ms, live->disconnected.due_ms); }
    if (!live->connected && live->target.dir != NULL) {
        until_ms = u64_min(until_ms, live->look_at_ms);
    }
    if (until_ms == UINT64_MAX) { return -1; }
    return until_ms > now_ms ? (int)(until_ms - now_ms) : 0;
}

enum tn_status live_cluster_signals(int *out, struct error *error)
{
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    sigprocmask(SIG_BLOCK, &wanted, NULL);
    *out = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    return *out >= 0 ? TN_OK : error_set(error, TN_EIO, "signalfd: %s", strerror(errno));
}
