/*
 * tanist/session.h: a graph computed by servers on several hosts, for inference and debugging: the
 * in-graph mode of distributed TensorFlow. `tanist serve` starts a server. The operations of a
 * graph are placed by tn_device_begin(graph, "/job:worker/task:1"): task K is the K-th server of
 * the session. Values that the requested results do not need are neither sent nor computed, and
 * servers that compute nothing for them need not run.
 *
 * Operations are computed as by tn_program_create() in TN_EVALUATE with kernels "portable": the
 * results have the same bits, however the graph is placed. docs/session.md has the rules of
 * placement, and describes the loss of a server.
 *
 * Threads: a session belongs to one thread at a time; several sessions may run at once. Blocking:
 * tn_session_run(), until the results have arrived or the time is over, and tn_session_restore(),
 * on the disk.
 */
#ifndef TANIST_SESSION_H
#define TANIST_SESSION_H

#include "tanist/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_session;

/* The default of each field is zero. */
struct tn_session_options {
    size_t struct_size; /* sizeof of this struct. */
    /* The values of the variables: tn_session_parameters() floats, one variable after another in
     * the graph's canonical order, as tn_program_initialize() writes them. Copied. NULL: the
     * initial values of the graph by `seed`. */
    const float *values;
    uint64_t seed;
    uint64_t timeout_ms; /* The limit of tn_session_run(); 0: ten minutes. */
};

/*
 * Place `graph` on the servers "HOST:PORT,HOST:PORT,...", at most 64; servers reach each other by
 * the same addresses. Nothing is sent yet, so servers may be started later. The graph may be
 * destroyed afterwards. `options` may be NULL.
 *
 *   TN_EINVAL  the graph has an error or computes nothing; an address is malformed or given twice;
 *              an operation or a variable is on a device that does not exist, which the error names
 *   TN_ENOMEM
 */
TN_API TN_CHECKED enum tn_status tn_session_open(struct tn_session **out, const char *servers,
                                                 const struct tn_graph *graph,
                                                 const struct tn_session_options *options,
                                                 struct tn_error *error);
/* The servers free all resources of the session. NULL is allowed. */
TN_API void tn_session_close(struct tn_session *session);

/* Number of floats of all variables. */
TN_API uint64_t tn_session_parameters(const struct tn_session *session);
/* Sets new values of the variables, in the format of the options, from the next run on. Copied. */
TN_API void tn_session_set_values(struct tn_session *session, const float *values);
/*
 * Values from a checkpoint of the run in folder `dir`: "12", "best", or with NULL the newest one,
 * as `tanist predict` uses them (with train.ema, the averages). Variables are found by their names
 * and must have the same shapes; the checkpoint may have more variables. After an error the values
 * are unchanged.
 *
 *   TN_EINVAL    the folder has no run or not this checkpoint; a variable is not in it, or has
 *                another number of elements, which the error names
 *   TN_ENOENT    a file of the model is not in the folder
 *   TN_ECORRUPT  the checkpoint is damaged, or a shard of it is not in the folder
 *   TN_EIO, TN_ENOMEM
 */
TN_API TN_CHECKED enum tn_status tn_session_restore(struct tn_session *session, const char *dir,
                                                    const char *checkpoint, struct tn_error *error);

/* The values of a field: type and shape of its placeholder, with the number of examples in front;
 * `data` is read during the call. */
struct tn_feed {
    const char *field;
    struct tn_view values;
};

/* The value of a tn_output() or tn_metric(). `value` is written by tn_session_run() and valid until
 * the next call with this session. */
struct tn_fetch {
    const char *name;
    struct tn_view value;
};

/*
 * Compute the values of all `fetches` from `feeds`. Feeds that they do not need are not sent. All
 * fields must have the same number of examples; if no field is needed, the number is 1. The first
 * run with given fetches and a given number of examples sends the parts of the graph; later runs
 * send only tensors.
 *
 * After an error the session can be used again. The next run that needs a lost server connects to
 * it again and sends its parts and values again, so the server may have been restarted.
 *
 *   TN_EINVAL     a fetch does not exist; a field is missing, is fed twice, or has another type or
 *                 shape; the fetches need a table or an operation of the user's code; a server
 *                 refused its part
 *   TN_ECONNECT   a server could not be reached; the error names it and its task
 *   TN_ECLOSED    a server was lost in this run: it ended, or was silent for 4 s; named likewise
 *   TN_ETIMEDOUT  the time is over; the error names the servers that have not answered
 *   TN_ENOMEM     here, or the limit of a server's memory, which the error names
 */
TN_API TN_CHECKED enum tn_status tn_session_run(struct tn_session *session,
                                                const struct tn_feed *feeds, uint32_t feed_count,
                                                struct tn_fetch *fetches, uint32_t fetch_count,
                                                struct tn_error *error);

#ifdef __cplusplus
}
#endif
#endif
