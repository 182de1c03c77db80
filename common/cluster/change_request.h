/*
 * common/cluster/change_request.h: the request to change a running job, an ephemeral znode of the
 * command that asks (S14). The agent answers by writing its progress into it.
 *
 *     WANTED ─► ACCEPTED ─► APPLIED ─► DONE
 *        └──────────┴──────────┴─────► REFUSED
 *
 * Threads: a request is plain data.
 */
#ifndef COMMON_CLUSTER_CHANGE_REQUEST_H
#define COMMON_CLUSTER_CHANGE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/cluster/row_owner.h"
#include "common/cluster/task.h"
#include "common/cluster/znodes.h"

enum change_state {
    CHANGE_WANTED,
    CHANGE_ACCEPTED, /* The nodes leave. */
    CHANGE_APPLIED,  /* The job in ZooKeeper is the changed one; the nodes start. */
    CHANGE_DONE,     /* Training continues: `step`, `paused_ms`, `steps_redone`. */
    CHANGE_REFUSED,  /* `text` has the reason. */
    CHANGE_STATES
};

/* The wanted strategy. */
enum change_strategy {
    CHANGE_BY_PS, /* Mirror if `ps` is 0; otherwise that of the job, or ps if it has none. */
    CHANGE_TO_PS,
    CHANGE_TO_MIRROR,
    CHANGE_TO_GROUP,
};

enum {
    CHANGE_TEXT_MAX = 512,
    /* A command that finds an answered request of another one gives it this time to read the
     * answer; then it removes the request, as the command that made it was killed. */
    CHANGE_ANSWER_READ_MS = 2000,
};

struct change_request {
    enum change_state state;
    enum change_strategy strategy;
    uint32_t ps;             /* The wanted number; 0 for mirror. */
    struct row_borders rows; /* Between the rows of two ps. */
    uint32_t members;        /* The wanted number of a group; 0: as in the job. */
    uint32_t workers;        /* The wanted number, in a job without a range; 0: as in the job. */
    uint64_t wall_ms;
    char by[HOST_NAME_MAX_BYTES];
    /* Written by the agent: */
    uint64_t agent; /* Its incarnation. */
    uint64_t step;  /* From which training continues. */
    uint64_t paused_ms, steps_redone;
    bool invalid;               /* REFUSED: the job could never be changed so. */
    char text[CHANGE_TEXT_MAX]; /* The change, "cluster.ps 3 -> 2"; REFUSED: why. */
};

/* "wanted", "accepted", ... Static storage. */
const char *change_state_name(enum change_state state);

enum { CHANGE_SETTING_MAX = 128 };

/* The keys, for --set, with which a start with --resume makes the same change: "cluster.ps=3".
 * Returns `setting`. */
const char *change_setting(const struct change_request *request,
                           char setting[static CHANGE_SETTING_MAX]);

/* The znode: at most one change is made at a time. */
void change_request_path(char path[static ZK_PATH_MAX], const char *cluster);

/* As the codecs of common/cluster/znodes.h. */
size_t change_request_encode(const struct change_request *request,
                             char text[static ZNODE_JSON_MAX]);
MUST_CHECK enum tn_status change_request_decode(const void *data, size_t size,
                                                struct change_request *out, struct error *error);

#endif
