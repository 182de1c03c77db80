/*
 * common/cluster/znodes.h: the znodes of a cluster: their paths and contents (JSON with a "version"
 * field). Decoders check every field and name a wrong one; an unreadable znode is logged and
 * ignored.
 *
 *   /tanist/NAME/spec                 struct spec                              persistent
 *               /election/GUID-NNNN   the candidate's task name                ephemeral, seq.
 *               /chief                struct chief_record; its version is the fence  persistent
 *               /members/ROLE-INDEX   struct member                            ephemeral
 *               /exits/ROLE-INDEX     struct exit_note, by the agent           persistent
 *               /run                  struct run                               persistent
 *               /assignment           struct assignment                        persistent
 *               /checkpoints/ID       struct manifest (common/cluster/manifest.h)      persistent
 *               /history/NNNN         struct history_entry, bounded            persistent, seq.
 *               /requests/NNNN        struct request of an operator            ephemeral, seq.
 *               /kills/ROLE-INDEX     struct kill_request to the task's agent  persistent
 *               /drains/HOST          struct request to the host's agent       ephemeral
 *               /verifications/NAME   common/cluster/verification.h            ephemeral
 *               /change               common/cluster/change_request.h          ephemeral
 *               /spares/ROLE-INDEX-N  struct member of an agent that waits     ephemeral
 *
 * /chief is created empty, as there was no chief yet.
 */
#ifndef COMMON_CLUSTER_ZNODES_H
#define COMMON_CLUSTER_ZNODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/machine.h"
#include "common/cluster/row_owner.h"
#include "common/cluster/run.h"
#include "common/cluster/slices.h"
#include "common/cluster/task.h"
#include "common/net/transport.h"
#include "common/zk/zk.h"

enum {
    CLUSTER_NAME_MAX = 64,
    HOST_NAME_MAX_BYTES = 64,
    ZNODE_JSON_MAX = 16 * 1024,
    MEMBER_PROBLEM_MAX = 320,
};
enum { DRAIN_MOST_MS = 55000 }; /* Less than NODE_DRAIN_MS. */
enum { HISTORY_MAX = 1000 };    /* The chief deletes older entries. */
/* ZooKeeper ends the names of sequential znodes with this many digits. */
enum { SEQUENCE_DIGITS = 10 };
/* The names of entries in /history: this prefix and SEQUENCE_DIGITS digits. */
#define HISTORY_PREFIX "n-"

/* Letters, digits, '-', '_' and '.', at most CLUSTER_NAME_MAX - 1, not starting with '.'. */
MUST_CHECK enum tn_status cluster_name_check(const char *name, struct error *error);

/* "/tanist/NAME/REST"; REST "" is the root itself. The result must fit. */
void znode_path(char path[static ZK_PATH_MAX], const char *cluster, const char *rest);
void znode_member_path(char path[static ZK_PATH_MAX], const char *cluster, struct task task);
void znode_exit_path(char path[static ZK_PATH_MAX], const char *cluster, struct task task);
void znode_kill_path(char path[static ZK_PATH_MAX], const char *cluster, struct task task);
void znode_drain_path(char path[static ZK_PATH_MAX], const char *cluster, const char *host);
void znode_checkpoint_path(char path[static ZK_PATH_MAX], const char *cluster, uint64_t id);

struct spec {
    uint64_t key;      /* Random, created with the cluster; on every frame. */
    uint64_t job_hash; /* job_hash(): of what must not change while the cluster exists. */
    uint64_t variables_hash;
    uint64_t graph_hash; /* The graph that all nodes must have; 0: unknown. */
    uint32_t coordinators, ps, workers, evaluators;
    uint32_t workers_least;  /* `workers` is a range that begins here; 0: a single number. */
    struct row_borders rows; /* Between the rows of tables of two ps. */
    uint64_t created_wall_ms;
    int32_t version; /* The version of the znode, not part of its contents. */
    char *job_json;  /* The job file as given, for display. Owned; free(). May be NULL. */
};

static inline struct task_counts spec_tasks(const struct spec *spec)
{
    return (struct task_counts){.of = {[ROLE_COORDINATOR] = spec->coordinators,
                                       [ROLE_PS] = spec->ps,
                                       [ROLE_WORKER] = spec->workers,
                                       [ROLE_EVALUATOR] = spec->evaluators}};
}

struct chief_record {
    uint64_t epoch;
    struct task task;
    uint64_t incarnation;
    uint64_t pid;
    uint64_t since_wall_ms;
    uint64_t took_ms; /* From the loss of the former chief's znode to this record. */
    char host[HOST_NAME_MAX_BYTES];
    char address[TRANSPORT_ADDRESS_MAX]; /* Nodes send reports to it. */
    char cause[RUN_TEXT_MAX]; /* "first chief", "coordinator:0: signal 9 (Killed)", ... */
};

struct member {
    struct task task;
    uint64_t incarnation;
    uint64_t pid;
    uint64_t since_wall_ms;
    char host[HOST_NAME_MAX_BYTES];
    char address[TRANSPORT_ADDRESS_MAX];
    char machine[MACHINE_MAX];        /* machine_identity(); "" if it is unknown. */
    char problem[MEMBER_PROBLEM_MAX]; /* Why it cannot work, and the remedy; "": it can. */
};

struct exit_note {
    uint64_t incarnation;
    uint64_t wall_ms;
    char cause[RUN_TEXT_MAX];
};

struct assignment {
    uint64_t generation;
    uint32_t slice_count;
    uint16_t worker[SLICES_MAX]; /* Index of the worker that owns each slice; UINT16_MAX: none. */
    /* C23: workers that get no slices because they were late, in ascending order. */
    uint32_t late_count;
    uint16_t late[WORKERS_MAX];
};

enum history_kind {
    HISTORY_ELECTED, /* `task` became the chief: `took_ms`, `cause`. */
    HISTORY_TASK_UP,
    HISTORY_TASK_LOST,  /* `cause`. */
    HISTORY_PAUSED,     /* `cause`. */
    HISTORY_RECOVERED,  /* Running again: paused for `took_ms`, `steps_redone`. */
    HISTORY_RUNNING,    /* First start. */
    HISTORY_CHECKPOINT, /* `checkpoint` committed at `step`. */
    HISTORY_FALLBACK,   /* `checkpoint` cannot be loaded, an older one is. */
    HISTORY_EVALUATED,  /* `step`: `loss`, `accuracy`. */
    HISTORY_SKIPPED,    /* The checkpoint of `step` was not saved: `cause`. */
    HISTORY_HELD,       /* `checkpoint` of `step` cannot be loaded by `task`; nothing is loaded. */
    HISTORY_DONE,
    HISTORY_FAILED,
    HISTORY_CHANGED,  /* `--resume` or `tanist scale` changed the job from `step` on: `cause`. */
    HISTORY_LATE,     /* `task` was late, and others compute its slices. */
    HISTORY_RETURNED, /* `task` gets slices again, `took_ms` later. */
    HISTORY_KINDS
};

struct history_entry {
    enum history_kind kind;
    uint64_t wall_ms, epoch, generation, step, checkpoint;
    enum recovery_kind recovery; /* RECOVERED. */
    struct task task;
    uint64_t pid, took_ms, steps_redone;
    double loss, accuracy;  /* EVALUATED, DONE. */
    struct metrics metrics; /* The same. */
    char cause[RUN_TEXT_MAX];
};
/* All names, NULL-ended. */
extern const char *const history_kind_names[];
const char *history_kind_name(
    enum history_kind kind); /* "elected", "task-lost", ... Static storage. */

enum request_kind {
    REQUEST_STOP,
    REQUEST_RESIGN,
    REQUEST_PAUSE,
    REQUEST_RESUME,
    REQUEST_CHECKPOINT,
    REQUEST_RESTORE,     /* Held: load the newest checkpoint, with shards also from `path`. */
    REQUEST_DRAIN,       /* In /drains, to the agent of a host: leave within `step` ms. */
    REQUEST_ACCEPT_LOSS, /* Held: load the newest loadable checkpoint not beyond `step`. */
    REQUEST_SCALE,       /* The run is to have `step` workers (C22). */
    REQUEST_KINDS
};
struct request {
    enum request_kind kind;
    uint64_t wall_ms;
    char by[HOST_NAME_MAX_BYTES];
    uint64_t step;               /* ACCEPT_LOSS: 0: the initial values. DRAIN, SCALE. */
    char path[RESTORE_PATH_MAX]; /* RESTORE. */
};
extern const char *const request_kind_names[];
const char *request_kind_name(enum request_kind kind);

enum kill_signal { KILL_SIGKILL, KILL_SIGTERM, KILL_SIGSTOP, KILL_SIGCONT, KILL_SIGNALS };
/* A signal for one process, sent by its agent if that allows faults. */
struct kill_request {
    uint64_t incarnation; /* A process with another one is not signalled. */
    enum kill_signal signal;
    uint64_t wall_ms;
    char by[HOST_NAME_MAX_BYTES];
};
extern const char *const kill_signal_names[];
const char *kill_signal_name(enum kill_signal signal); /* "KILL", "TERM", ... Static storage. */
bool kill_signal_parse(const char *name, enum kill_signal *out);

/*
 * Encoders write a NUL-terminated JSON text to `text` and return its length, which always fits.
 * Decoders read `size` bytes; TN_ECORRUPT: the error names the field, `*out` is undefined.
 */
size_t chief_record_encode(const struct chief_record *record, char text[static ZNODE_JSON_MAX]);
size_t member_encode(const struct member *member, char text[static ZNODE_JSON_MAX]);
size_t exit_note_encode(const struct exit_note *note, char text[static ZNODE_JSON_MAX]);
size_t run_encode(const struct run *run, char text[static ZNODE_JSON_MAX]);
size_t assignment_encode(const struct assignment *assignment, char text[static ZNODE_JSON_MAX]);
size_t history_encode(const struct history_entry *entry, char text[static ZNODE_JSON_MAX]);
size_t request_encode(const struct request *request, char text[static ZNODE_JSON_MAX]);
size_t kill_request_encode(const struct kill_request *order, char text[static ZNODE_JSON_MAX]);
char *spec_encode(const struct spec *spec); /* malloc'ed; NULL: out of memory. */

MUST_CHECK enum tn_status chief_record_decode(const void *data, size_t size,
                                              struct chief_record *out, struct error *error);
MUST_CHECK enum tn_status member_decode(const void *data, size_t size, struct member *out,
                                        struct error *error);
MUST_CHECK enum tn_status exit_note_decode(const void *data, size_t size, struct exit_note *out,
                                           struct error *error);
MUST_CHECK enum tn_status run_decode(const void *data, size_t size, struct run *out,
                                     struct error *error);
MUST_CHECK enum tn_status assignment_decode(const void *data, size_t size, struct assignment *out,
                                            struct error *error);
MUST_CHECK enum tn_status history_decode(const void *data, size_t size, struct history_entry *out,
                                         struct error *error);
MUST_CHECK enum tn_status request_decode(const void *data, size_t size, struct request *out,
                                         struct error *error);
MUST_CHECK enum tn_status kill_request_decode(const void *data, size_t size,
                                              struct kill_request *out, struct error *error);
MUST_CHECK enum tn_status spec_decode(const void *data, size_t size, struct spec *out,
                                      struct error *error);

#endif
