/* agent/process.h with real processes. */
#include "agent/process.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static enum tn_status start_nice(const char *log_path, int nice, struct process *process,
                                 struct error *error)
{
    static const char *const arguments[] = {"true", NULL};
    static char *const environment[] = {NULL};
    const struct process_config config = {.program = "/bin/true",
                                          .arguments = arguments,
                                          .environment = environment,
                                          .log_path = log_path,
                                          .nice = nice};
    return process_start(&config, process, error);
}

static enum tn_status start(const char *log_path, struct process *process, struct error *error)
{
    return start_nice(log_path, 0, process, error);
}

/* A link that another user left in a shared folder does not choose the file that is written; new
 * files are private. */
static void log_does_not_follow_a_link(void **state)
{
    (void)state;
    char folder[] = "/tmp/tanist-process-XXXXXX", log[64], victim[64];
    struct process process;
    struct error error;
    struct stat info;
    int exit_code, signal_number;
    assert_non_null(mkdtemp(folder));
    snprintf(log, sizeof log, "%s/log", folder);
    snprintf(victim, sizeof victim, "%s/victim", folder);
    assert_int_equal(symlink(victim, log), 0);
    assert_int_equal(start(log, &process, &error), TN_EIO);
    assert_non_null(strstr(error.text, log));
    assert_int_equal(access(victim, F_OK), -1);
    assert_int_equal(unlink(log), 0);
    assert_int_equal(start(log, &process, &error), TN_OK);
    assert_true(process_wait(&process, -1, &exit_code, &signal_number));
    assert_int_equal(exit_code, 0);
    assert_int_equal(stat(log, &info), 0);
    assert_int_equal(info.st_mode & 0777U, 0600);
    assert_int_equal(unlink(log), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* Without a descriptor to watch it, a process is ended again, and no pid stays behind. */
static void unwatched_process_is_ended(void **state)
{
    (void)state;
    struct process process = {.pid = 12345};
    struct error error;
    struct rlimit before, limit;
    int lowest = dup(0);
    assert_true(lowest >= 0 && close(lowest) == 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)lowest + 2; /* Enough for the log and /dev/null. */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    enum tn_status status = start(NULL, &process, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, TN_EIO);
    assert_non_null(strstr(error.text, "cannot watch /bin/true"));
    assert_int_equal(process.pid, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static int niceness(const struct process *process)
{
    return getpriority(PRIO_PROCESS, (id_t)process->pid);
}

/* `nice tanist chaos run`: what it starts stays as nice. The kernel limits the sum. */
static void niceness_is_added_to_the_parents(void **state)
{
    enum { NICEST = 19 };
    (void)state;
    struct process process;
    struct error error;
    int exit_code, signal_number;
    assert_int_equal(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 1), 0);
    const int ours = getpriority(PRIO_PROCESS, 0);
    for (int more = 0; more <= 2; more += 2) {
        assert_int_equal(start_nice(NULL, more, &process, &error), TN_OK);
        const int expected = ours + more < NICEST ? ours + more : NICEST;
        /* TSan makes a fork of vfork, which does not wait until the child runs the program. */
        for (int i = 0; i < 1000 && niceness(&process) != expected; i++) {
            (void)poll(NULL, 0, 10);
        }
        assert_int_equal(niceness(&process), expected);
        assert_true(process_wait(&process, -1, &exit_code, &signal_number));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unwatched_process_is_ended),
        cmocka_unit_test(niceness_is_added_to_the_parents),
        cmocka_unit_test(log_does_not_follow_a_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
