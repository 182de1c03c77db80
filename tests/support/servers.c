#include "tests/support/servers.h"

struct test_ensemble servers;

int servers_start(void **state)
{
    (void)state;
    test_ensemble_start(&servers, 3);
    return 0;
}

int servers_start_one(void **state)
{
    (void)state;
    test_ensemble_start(&servers, 1);
    return 0;
}

int servers_stop(void **state)
{
    (void)state;
    test_ensemble_stop(&servers);
    return 0;
}

int servers_heal(void **state)
{
    (void)state;
    test_ensemble_heal(&servers);
    return 0;
}

void servers_kill_all(void)
{
    for (size_t i = 0; i < servers.ensemble.count; i++) { test_ensemble_kill_server(&servers, i); }
}

void servers_connect(struct test_client *client, uint32_t session_timeout_ms, uint32_t deadline_ms)
{
    const char *connect = servers.ensemble.connect;
    test_client_open(client, connect, session_timeout_ms, deadline_ms, NULL, NULL);
}
