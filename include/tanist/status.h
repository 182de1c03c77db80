/*
 * tanist/status.h: how a call can end, and how a program can end.
 *
 * Codes and texts come from one list, so they cannot drift apart. Zero is success. Threads:
 * everything here may be called from any thread.
 */
#ifndef TANIST_STATUS_H
#define TANIST_STATUS_H

#define TN_STATUS_LIST(X)                                                                          \
    X(OK, "ok")                                                                                    \
    X(EINVAL, "invalid input")                                                                     \
    X(ENOENT, "not found")                                                                         \
    X(EEXIST, "already exists")                                                                    \
    X(EBUSY, "in use by another process")                                                          \
    X(ENOMEM, "out of memory")                                                                     \
    X(ENOSPC, "no space left on the device")                                                       \
    X(EIO, "input or output failed")                                                               \
    X(ECORRUPT, "data is damaged")                                                                 \
    X(EPROTO, "peer broke the protocol")                                                           \
    X(ECONNECT, "cannot connect")                                                                  \
    X(ECLOSED, "connection closed")                                                                \
    X(ETIMEDOUT, "timed out")                                                                      \
    X(EEXPIRED, "ZooKeeper session expired")                                                       \
    X(EREFUSED, "refused")                                                                         \
    X(EUNHEALTHY, "cluster is not healthy")                                                        \
    X(EINTERNAL, "internal error")

enum tn_status {
#define X(name, text) TN_##name,
    TN_STATUS_LIST(X)
#undef X
        TN_STATUS_COUNT
};

/* Exit codes of the program; 0 to 6 and 128 follow etcdctl's. Documented in docs/exit-codes.md. */
enum tn_exit {
    TN_EXIT_OK = 0,
    TN_EXIT_ERROR = 1,
    TN_EXIT_CANNOT_CONNECT = 2,
    TN_EXIT_INVALID_INPUT = 3,
    TN_EXIT_SERVER_ERROR = 4,
    TN_EXIT_UNHEALTHY = 5,
    TN_EXIT_IO = 6,
    /* How a node tells its agent why it left; an agent restarts all of these but
       TN_EXIT_TASK_TAKEN. */
    TN_EXIT_SESSION_EXPIRED = 10, /* ZooKeeper ended our session: our ephemerals are gone. */
    TN_EXIT_DEPOSED = 11,         /* A later chief rules. */
    TN_EXIT_RESIGNED = 12,        /* The chief was asked to step down. */
    TN_EXIT_TASK_TAKEN = 13,      /* A living node holds our task. */
    TN_EXIT_ARGUMENTS = 128,
};

/* Text of a status, in lower case without a full stop. Static storage; never NULL. */
const char *tanist_strerror(enum tn_status status);

/* Exit code that a program ending because of `status` should have. */
enum tn_exit tanist_exit_code(enum tn_status status);

#endif
