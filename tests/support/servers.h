/*
 * tests/support/servers.h: one ensemble for all tests of a program, as cmocka fixtures.
 *
 *   cmocka_unit_test_setup(server_death_is_survived, servers_heal),
 *   ...
 *   return cmocka_run_group_tests(tests, servers_start, servers_stop);
 */
#ifndef TESTS_SUPPORT_SERVERS_H
#define TESTS_SUPPORT_SERVERS_H

#include "tests/support/ensemble.h"
#include "tests/support/test_client.h"

extern struct test_ensemble servers;

/* Group fixtures: start three servers, start one, stop and remove them. */
int servers_start(void **state);
int servers_start_one(void **state);
int servers_stop(void **state);

/* Test fixture: all servers run and serve, whatever the test before did to them. */
int servers_heal(void **state);

void servers_kill_all(void);

/* Opens a session without credentials. */
void servers_connect(struct test_client *client, uint32_t session_timeout_ms, uint32_t deadline_ms);

#endif
