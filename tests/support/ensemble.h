/*
 * tests/support/ensemble.h: a throw-away ZooKeeper ensemble of real servers, in a folder under
 * /tmp.
 *
 * The servers get SIGKILL when the thread that started them ends, so none outlives its test. Every
 * function fails the test, with words, when it cannot do its work.
 */
#ifndef TESTS_SUPPORT_ENSEMBLE_H
#define TESTS_SUPPORT_ENSEMBLE_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/ensemble/ensemble.h"

struct test_ensemble {
    char dir[64]; /* What else a test keeps may go here too. */
    struct ensemble ensemble;
    pid_t pids[ENSEMBLE_SERVERS_MAX]; /* 0: not running. */
};

/* Start 1 or 3 servers and wait until they serve. Is Java missing, the test is skipped. */
void test_ensemble_start(struct test_ensemble *test, size_t count);
/* Kill them all and remove the folder. */
void test_ensemble_stop(struct test_ensemble *test);

/* SIGKILL, and reap. */
void test_ensemble_kill_server(struct test_ensemble *test, size_t index);
void test_ensemble_start_server(struct test_ensemble *test, size_t index);
/* SIGSTOP or SIGCONT to all. */
void test_ensemble_signal_all(struct test_ensemble *test, int signal);

/* Wait until every running server is a member of the quorum. */
void test_ensemble_wait(struct test_ensemble *test);
/* Before each test: thaw and start all, whatever became of the test before. */
void test_ensemble_heal(struct test_ensemble *test);
/* The server with that client address ("127.0.0.1:20131"). */
size_t test_ensemble_find(const struct test_ensemble *test, const char *address);
/* The server that leads now. */
size_t test_ensemble_leader(const struct test_ensemble *test);

#endif
