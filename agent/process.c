#include "agent/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/fault_signals.h"
#include "tanist/status.h"

/* The data of the child between vfork and exec. The child runs in the parent's memory and changes
 * only `failed` and `what`. */
struct launch {
    const struct process_config *config;
    pid_t parent;
    int log, null, network;    /* Descriptors; -1: none. */
    volatile int failed;       /* errno; 0: nothing failed. */
    const char *volatile what; /* The subject of the call being made. */
};

/* In the child: only system calls. Never returns. */
static _Noreturn void become(struct launch *launch)
{
    assert(launch->log >= 0 && launch->null >= 0);
    union {
        const char *const *given;
        char *const *wanted;
    } arguments = {.given = launch->config->arguments}; /* execve() does not change them. */
    sigset_t blocked;
    sigemptyset(&blocked);
    if (launch->config->blocks_faults) { fault_signals_set(&blocked); }
    launch->what = "folder";
    if (launch->config->folder != NULL && chdir(launch->config->folder) != 0) { goto fail; }
    launch->what = "network";
    if (launch->network >= 0 && setns(launch->network, CLONE_NEWNET) != 0) { goto fail; }
    launch->what = "log";
    if (dup2(launch->null, 0) < 0 || dup2(launch->log, 1) < 0 || dup2(launch->log, 2) < 0) {
        goto fail;
    }
    launch->what = "process group";
    if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) { goto fail; }
    if (launch->config->nice != 0) {
        (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + launch->config->nice);
    }
    if (launch->config->processors != NULL) {
        (void)sched_setaffinity(0, sizeof *launch->config->processors, launch->config->processors);
    }
    if (getppid() != launch->parent) { _exit(TN_EXIT_ERROR); /* The parent died before prctl(). */ }
    /* Libraries open sockets that are not close-on-exec. */
    (void)syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
    launch->what = "inherited file";
    if (launch->config->inherited > 0 && fcntl(launch->config->inherited, F_SETFD, 0) != 0) {
        goto fail;
    }
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    launch->what = "program";
    execve(launch->config->program, arguments.wanted, launch->config->environment);
fail:
    launch->failed = errno;
    _exit(127);
}

/* A frame of its own, so that the child of vfork does not write into the caller's. */
static __attribute__((noinline)) pid_t launch_child(struct launch *launch)
{
    pid_t pid = vfork();
    if (pid == 0) { become(launch); }
    return pid;
}

static enum tn_status watch_child(struct launch *launch, pid_t pid, struct process *out,
                                  struct error *error)
{
    const struct process_config *config = launch->config;
    assert(out != NULL);
    if (pid < 0) {
        return error_set(error, TN_EIO, "cannot start %s: %s", config->program, strerror(errno));
    }
    if (launch->failed != 0) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
        return error_set(error, TN_EIO, "cannot start %s: %s: %s", config->program, launch->what,
                         strerror(launch->failed));
    }
    out->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (out->pidfd >= 0) {
        out->pid = pid;
        return TN_OK;
    }
    enum tn_status status =
        error_set(error, TN_EIO, "cannot watch %s: %s", config->program, strerror(errno));
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
    return status;
}

static enum tn_status open_files(struct launch *launch, struct error *error)
{
    const struct process_config *config = launch->config;
    assert(launch->log < 0 && launch->null < 0 && launch->network < 0);
    const char *path = config->log_path != NULL ? config->log_path : "/dev/null";
    if (config->output > 0) {
        launch->log = fcntl(config->output, F_DUPFD_CLOEXEC, 3);
    } else {
        /* Not through a link that another user made in a shared folder. */
        launch->log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    if (launch->log < 0) {
        return error_set(error, TN_EIO, "cannot open the log %s: %s", path, strerror(errno));
    }
    launch->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (launch->null < 0) {
        return error_set(error, TN_EIO, "cannot open /dev/null: %s", strerror(errno));
    }
    if (config->network != NULL) { launch->network = open(config->network, O_RDONLY | O_CLOEXEC); }
    if (config->network == NULL || launch->network >= 0) { return TN_OK; }
    return error_set(error, TN_EIO, "cannot open the network namespace %s: %s", config->network,
                     strerror(errno));
}

enum tn_status process_start(const struct process_config *config, struct process *out,
                             struct error *error)
{
    assert(config->program != NULL && config->arguments != NULL);
    *out = (struct process){.pidfd = -1};
    struct launch launch = {
        .config = config, .parent = getpid(), .log = -1, .null = -1, .network = -1};
    enum tn_status status = open_files(&launch, error);
    if (status == TN_OK) { status = watch_child(&launch, launch_child(&launch), out, error); }
    const int opened[] = {launch.log, launch.null, launch.network};
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++) {
        if (opened[i] >= 0) { close(opened[i]); }
    }
    return status;
}

void process_reap(struct process *process, int *exit_code, int *signal_number)
{
    int status = 0;
    pid_t got;
    assert(process->pid > 0 && process->pidfd >= 0);
    do {
        got = waitpid(process->pid, &status, 0);
    } while (got < 0 && errno == EINTR);
    assert(got == process->pid);
    *signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    close(process->pidfd);
    process->pidfd = -1;
    process->pid = 0;
}

bool process_wait(struct process *process, int timeout_ms, int *exit_code, int *signal_number)
{
    assert(process->pid > 0);
    struct pollfd end = {.fd = process->pidfd, .events = POLLIN};
    int ready;
    do {
        ready = poll(&end, 1, timeout_ms);
    } while (ready < 0 && errno == EINTR);
    if (ready <= 0) { return false; }
    process_reap(process, exit_code, signal_number);
    return true;
}

static const char *exit_code_text(int exit_code)
{
    switch (exit_code) {
    case TN_EXIT_OK: return "success";
    case TN_EXIT_ERROR: return "error";
    case TN_EXIT_CANNOT_CONNECT: return "cannot connect";
    case TN_EXIT_INVALID_INPUT: return "invalid input";
    case TN_EXIT_SERVER_ERROR: return "server error";
    case TN_EXIT_UNHEALTHY: return "cluster not healthy";
    case TN_EXIT_IO: return "input or output failed";
    case TN_EXIT_SESSION_EXPIRED: return "ZooKeeper session expired";
    case TN_EXIT_DEPOSED: return "deposed by a later chief";
    case TN_EXIT_RESIGNED: return "resigned";
    case TN_EXIT_TASK_TAKEN: return "another node holds the task";
    case TN_EXIT_DEVICE_FAILED: return "the GPU failed";
    case TN_EXIT_ARGUMENTS: return "bad arguments";
    default: return NULL;
    }
}

void process_describe_end(int exit_code, int signal_number, char *text, size_t size)
{
    assert(text != NULL && size > 0);
    bool signaled = signal_number != 0;
    const char *name = signaled ? strsignal(signal_number) : exit_code_text(exit_code);
    snprintf(text, size, "%s %d%s%s%s", signaled ? "signal" : "exit code",
             signaled ? signal_number : exit_code, name != NULL ? " (" : "",
             name != NULL ? name : "", name != NULL ? ")" : "");
}
