/*
 * tests/support/ensemble.h: a temporary ZooKeeper ensemble of real servers, in a folder under /tmp.
 *
 * The servers get SIGKILL when the thread that started them ends, so none outlives its test. Every
 * function fails the test with a message when it cannot do its work.
 */
#ifndef TESTS_SUPPORT_ENSEMBLE_H
#define TESTS_SUPPORT_ENSEMBLE_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/ensemble/ensemble.h"

struct test_ensemble {
    char dir[64]; /* Tests may keep files of their own in it. */
    struct ensemble ensemble;
    pid_t pids[ENSEMBLE_SERVERS_MAX]; /* 0: not running. */
};

/* Starts 1 or 3 servers and waits until they serve. Without ZooKeeper the test is skipped. */
void test_ensemble_start(struct test_ensemble *test, size_t count);
/* Kills all servers and removes the folder. */
void test_ensemble_stop(struct test_ensemble *test);

/* Sends SIGKILL and waits for the end of the process. A server that does not run is ignored. */
void test_ensemble_kill_server(struct test_ensemble *test, size_t index);
void test_ensemble_start_server(struct test_ensemble *test, size_t index);
/* Sends SIGSTOP or SIGCONT to all that run. */
void test_ensemble_signal_all(struct test_ensemble *test, int signal);

/* Waits until every running server is a member of the quorum. */
void test_ensemble_wait(struct test_ensemble *test);
/* Thaws and starts all servers, whatever the test before did to them. */
void test_ensemble_heal(struct test_ensemble *test);
/* Index of the server with that client address ("127.0.0.1:20131"). */
size_t test_ensemble_find(const struct test_ensemble *test, const char *address);
/* Index of the present leader. */
size_t test_ensemble_leader(const struct test_ensemble *test);

void pause_ms(long ms);

#endif
