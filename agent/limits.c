#include "agent/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    FILES_OWN = 48,      /* An agent has them, or a server of ZooKeeper with few connections. */
    FILES_PER_CHILD = 2, /* A pipe of the agent, or a connection. */
    FILES_USUAL = 1024,
    THREADS_PER_PROCESS = 16, /* A node has about 20, a server of ZooKeeper more. */
    THREADS_USUAL = 4096,
    /* A server of ZooKeeper allocates 1 MiB at once for its log, and writes on. */
    FILE_BYTES = 16 << 20,
    STACK_BYTES = 2 << 20, /* The deepest calls, of `tanist plan`, use about 1.1 MiB. */
    STACK_KIB_USUAL = 8192,
};

static bool is_below(const struct rlimit *limit, rlim_t least)
{
    return limit->rlim_cur != RLIM_INFINITY && limit->rlim_cur < least;
}

static enum tn_status check_files(uint32_t children, struct error *error)
{
    struct rlimit limit;
    const rlim_t least = FILES_OWN + FILES_PER_CHILD * (rlim_t)children;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || !is_below(&limit, least)) { return TN_OK; }
    limit.rlim_cur = limit.rlim_max;
    if (!is_below(&limit, least) && setrlimit(RLIMIT_NOFILE, &limit) == 0) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "a process may have at most %" PRIu64 " open files, too few for %" PRIu32
                     " processes: raise the limit, for instance with `ulimit -n %d`",
                     (uint64_t)limit.rlim_max, children, FILES_USUAL);
}

static enum tn_status check_file_bytes(struct error *error)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || !is_below(&limit, FILE_BYTES)) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "a file may have at most %" PRIu64
                     " KiB, too few for a server of ZooKeeper, which needs %d KiB: remove the "
                     "limit with `ulimit -f unlimited`",
                     (uint64_t)limit.rlim_cur / 1024, FILE_BYTES / 1024);
}

/* It counts all threads of the user, so that even a higher limit may be too low. */
static enum tn_status check_threads(uint32_t children, struct error *error)
{
    struct rlimit limit;
    const rlim_t least = THREADS_PER_PROCESS * (1 + (rlim_t)children);
    if (geteuid() == 0 || getrlimit(RLIMIT_NPROC, &limit) != 0 || !is_below(&limit, least)) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "this user may have at most %" PRIu64 " threads, too few for %" PRIu32
                     " processes: raise the limit, for instance with `ulimit -u %d`",
                     (uint64_t)limit.rlim_cur, children, THREADS_USUAL);
}

enum tn_status limits_check_stack(struct error *error)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || !is_below(&limit, STACK_BYTES)) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "the stack of a thread may have at most %" PRIu64
                     " KiB, too few for this program, which needs %d KiB: raise the limit with "
                     "`ulimit -s %d`",
                     (uint64_t)limit.rlim_cur / 1024, STACK_BYTES / 1024, STACK_KIB_USUAL);
}

enum tn_status limits_check(uint32_t children, bool has_servers, struct error *error)
{
    assert(children > 0);
    enum tn_status status = check_files(children, error);
    if (status == TN_OK) { status = check_threads(children, error); }
    return status == TN_OK && has_servers ? check_file_bytes(error) : status;
}
