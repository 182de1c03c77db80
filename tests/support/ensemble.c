#include "tests/support/ensemble.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "tests/support/patience.h"

enum { START_MS = 60000, PROBE_MS = 500, POLL_MS = 20 };

void pause_ms(long ms)
{
    assert(ms >= 0);
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

void test_ensemble_start_server(struct test_ensemble *test, size_t index)
{
    assert(index < test->ensemble.count);
    assert(test->pids[index] == 0);
    const struct ensemble_server *server = &test->ensemble.servers[index];
    pid_t parent = getpid();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) {
        test->pids[index] = child;
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) { _exit(1); }
    int log = open(server->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (log < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0) { _exit(1); }
    execv(server->command.argv[0], (char *const *)server->command.argv);
    _exit(127);
}

void test_ensemble_kill_server(struct test_ensemble *test, size_t index)
{
    assert(index < test->ensemble.count);
    if (test->pids[index] == 0) { return; }
    kill(test->pids[index], SIGKILL);
    while (waitpid(test->pids[index], NULL, 0) < 0 && errno == EINTR) {}
    test->pids[index] = 0;
}

void test_ensemble_signal_all(struct test_ensemble *test, int signal)
{
    for (size_t i = 0; i < test->ensemble.count; i++) {
        if (test->pids[i] == 0) { continue; /* kill(0) would signal this process group. */ }
        kill(test->pids[i], signal);
        /* The threads of a process stop one by one. */
        if (signal == SIGSTOP) { waitpid(test->pids[i], NULL, WUNTRACED); }
    }
}

void test_ensemble_wait(struct test_ensemble *test)
{
    struct ensemble_health health;
    const uint64_t start_ms = patience_ms(START_MS), until_ms = clock_monotonic_ms() + start_ms;
    for (size_t i = 0; i < test->ensemble.count; i++) {
        if (test->pids[i] == 0) { continue; }
        while (ensemble_probe(test->ensemble.servers[i].address, PROBE_MS, &health) != TN_OK) {
            if (waitpid(test->pids[i], NULL, WNOHANG) != 0) {
                test->pids[i] = 0;
                fail_msg("server %zu exited, see %s", i, test->ensemble.servers[i].log_path);
            }
            if (clock_monotonic_ms() > until_ms) {
                fail_msg("server %zu does not serve after %" PRIu64 " ms", i, start_ms);
            }
            pause_ms(POLL_MS);
        }
    }
}

void test_ensemble_start(struct test_ensemble *test, size_t count)
{
    struct error error = {.text = ""};
    memset(test, 0, sizeof *test);
    snprintf(test->dir, sizeof test->dir, "/tmp/tanist-ensemble-XXXXXX");
    assert_non_null(mkdtemp(test->dir));
    enum tn_status status =
        ensemble_prepare(test->dir, count, 100, NULL, NULL, &test->ensemble, &error);
    if (status == TN_ENOENT) {
        test_ensemble_stop(test);
        print_message("%s\n", error.text);
        skip();
    }
    if (status != TN_OK) { fail_msg("%s", error.text); }
    for (size_t i = 0; i < count; i++) { test_ensemble_start_server(test, i); }
    test_ensemble_wait(test);
}

void test_ensemble_heal(struct test_ensemble *test)
{
    test_ensemble_signal_all(test, SIGCONT);
    for (size_t i = 0; i < test->ensemble.count; i++) {
        if (test->pids[i] == 0) { test_ensemble_start_server(test, i); }
    }
    test_ensemble_wait(test);
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
    (void)stat;
    (void)type;
    (void)walk;
    return remove(path);
}

void test_ensemble_stop(struct test_ensemble *test)
{
    for (size_t i = 0; i < test->ensemble.count; i++) { test_ensemble_kill_server(test, i); }
    nftw(test->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

size_t test_ensemble_find(const struct test_ensemble *test, const char *address)
{
    for (size_t i = 0; i < test->ensemble.count; i++) {
        if (strcmp(test->ensemble.servers[i].address, address) == 0) { return i; }
    }
    fail_msg("no server has the address %s", address);
    return 0;
}

size_t test_ensemble_leader(const struct test_ensemble *test)
{
    struct ensemble_health health;
    for (size_t i = 0; i < test->ensemble.count; i++) {
        enum tn_status status =
            ensemble_probe(test->ensemble.servers[i].address, PROBE_MS, &health);
        if (status == TN_OK && health.mode == ENSEMBLE_LEADER) { return i; }
    }
    fail_msg("no server is the leader");
    return 0;
}
