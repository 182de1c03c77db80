/* agent/ensemble: files, ports, processes and answers of real ZooKeeper servers. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/ensemble/zoo_repair.h"
#include "agent/ensemble/zoo_server.h"
#include "common/base/clock.h"
#include "common/base/files.h"
#include "tests/support/patience.h"
#include "tests/support/servers.h"

static struct error error;

/* Exactly one of three servers is the leader. */
static void one_of_three_leads(void **state)
{
    (void)state;
    struct ensemble_health health;
    unsigned leaders = 0;
    for (size_t i = 0; i < 3; i++) {
        const char *address = servers.ensemble.servers[i].address;
        assert_int_equal(ensemble_probe(address, 2000, &health), TN_OK);
        if (health.mode == ENSEMBLE_LEADER) { leaders++; }
    }
    assert_int_equal(leaders, 1);
}

/* A folder in use, or of an ensemble of another size, is refused. */
static void folder_is_guarded(void **state)
{
    (void)state;
    struct ensemble again;
    assert_int_equal(ensemble_prepare(servers.dir, 3, 100, NULL, NULL, &again, &error), TN_EEXIST);
    assert_non_null(strstr(error.text, "is running at 127.0.0.1:"));
    assert_int_equal(ensemble_prepare(servers.dir, 1, 100, NULL, NULL, &again, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "of 3 servers, not 1"));
    assert_int_equal(ensemble_prepare(servers.dir, 2, 100, NULL, NULL, &again, &error), TN_EINVAL);
    assert_int_equal(ensemble_prepare("/proc/nowhere", 1, 100, NULL, NULL, &again, &error),
                     TN_ENOENT);
}

/* After a stop the same folder gives the same ports; one that is in use is replaced. */
static void ports_outlive_a_restart(void **state)
{
    (void)state;
    struct ensemble again;
    servers_kill_all();
    assert_int_equal(ensemble_prepare(servers.dir, 3, 100, NULL, NULL, &again, &error), TN_OK);
    assert_string_equal(again.connect, servers.ensemble.connect);

    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char *port = strchr(again.servers[1].address, ':') + 1;
    address.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int yes = 1; /* Connections of the dead server are in TIME_WAIT. */
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)(void *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(ensemble_prepare(servers.dir, 3, 100, NULL, NULL, &servers.ensemble, &error),
                     TN_OK);
    assert_string_not_equal(again.connect, servers.ensemble.connect);
    close(fd);
}

/* A run that has only chosen its ports keeps others from them, although no server listens there. */
static void chosen_ports_are_reserved(void **state)
{
    (void)state;
    char dir[sizeof servers.dir + 8];
    struct port_leases leases = {0}, others = {0};
    struct ensemble first, again;
    snprintf(dir, sizeof dir, "%s/other", servers.dir);
    assert_int_equal(ensemble_prepare(dir, 3, 100, NULL, &leases, &first, &error), TN_OK);
    assert_int_equal(leases.count, 9);
    /* The same files again, as those of a run that had the same ports earlier. */
    assert_int_equal(ensemble_prepare(dir, 3, 100, NULL, &others, &again, &error), TN_OK);
    assert_string_not_equal(again.connect, first.connect);
    assert_int_equal(others.count, 9);
    port_leases_end(&others);
    port_leases_end(&leases);
    /* No run has them now. */
    assert_int_equal(ensemble_prepare(dir, 3, 100, NULL, &leases, &first, &error), TN_OK);
    assert_string_equal(again.connect, first.connect);
    port_leases_end(&leases);
}

/* A closed port, a frozen server and a malformed address have different errors, in bounded time. */
static void probing_is_bounded(void **state)
{
    (void)state;
    struct ensemble_health health;
    const char *address = servers.ensemble.servers[0].address;
    test_ensemble_signal_all(&servers, SIGSTOP);
    uint64_t start_ms = clock_monotonic_ms();
    assert_int_equal(ensemble_probe(address, 200, &health), TN_ETIMEDOUT);
    assert_true(clock_monotonic_ms() - start_ms >= 200);
    test_ensemble_signal_all(&servers, SIGCONT);
    assert_int_equal(ensemble_probe("127.0.0.1:1", 1000, &health), TN_ECONNECT);
    assert_int_equal(ensemble_probe("127.0.0.1", 1000, &health), TN_EINVAL);
}

/* Without a majority a server reports that it does not serve. */
static void lost_majority_is_unhealthy(void **state)
{
    (void)state;
    struct ensemble_health health;
    test_ensemble_kill_server(&servers, 1);
    test_ensemble_kill_server(&servers, 2);
    uint64_t until_ms = clock_monotonic_ms() + patience_ms(20000);
    enum tn_status status = TN_OK;
    while (status != TN_EUNHEALTHY && clock_monotonic_ms() < until_ms) {
        status = ensemble_probe(servers.ensemble.servers[0].address, 1000, &health);
    }
    assert_int_equal(status, TN_EUNHEALTHY);
}

static void write_text(const char *path, const char *text)
{
    assert_int_equal(files_write_atomic(path, text, strlen(text), &error), TN_OK);
}

/* A detached server: dataDir and myid are created and its process is recognised; after its end
 * another process with the same pid is not. */
static void detached_server_is_recognised(void **state)
{
    (void)state;
    static struct zoo_server_files server;
    static struct ensemble_command command;
    char path[128];
    char text[512];
    pid_t pid = 0;
    snprintf(path, sizeof path, "%s/own.cfg", servers.dir);
    snprintf(text, sizeof text,
             "dataDir=%s/own/data\nclientPort=9\nadmin.enableServer=false\n"
             "server.4=127.0.0.1:7:8;127.0.0.1:9\nserver.5=127.0.0.1:7:8;127.0.0.2:10\n",
             servers.dir);
    write_text(path, text);
    if (zoo_server_read(path, &server, &error) != TN_OK) { fail_msg("%s", error.text); }
    assert_int_equal(server.id, 4);
    assert_true(server.id_missing);
    assert_int_equal(zoo_server_prepare(&server, &error), TN_OK);
    assert_int_equal(zoo_server_read(path, &server, &error), TN_OK);
    assert_false(server.id_missing);
    assert_int_equal(ensemble_command(server.cfg_path, 64, &command, &error), TN_OK);
    assert_int_equal(zoo_server_detach(&server, &command, &pid, &error), TN_OK);
    assert_int_equal(zoo_server_note_pid(&server, pid, &error), TN_OK);
    for (int i = 0; i < 500 && zoo_server_pid(&server) == 0; i++) {
        pause_ms(10); /* The child has not called execve() yet. */
    }
    assert_int_equal(zoo_server_pid(&server), pid);
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
    assert_int_equal(zoo_server_pid(&server), 0);
    assert_int_equal(zoo_server_note_pid(&server, getpid(), &error), TN_OK);
    assert_int_equal(zoo_server_pid(&server), 0);
}

static void path_of_log(size_t index, const char *name, char path[static 256])
{
    snprintf(path, 256, "%s/zookeeper/%zu/data%s", servers.dir, index + 1, name);
}

/* A log whose header was never written is removed, and nothing else. */
static void log_without_header_is_removed(void **state)
{
    (void)state;
    char data[256], broken[256];
    path_of_log(0, "", data);
    path_of_log(0, "/version-2/log.700000001", broken);
    test_ensemble_kill_server(&servers, 0);
    assert_int_equal(zoo_repair(data), 0);
    assert_int_equal(files_write_atomic(broken, "ZKLG", 4, NULL), TN_OK);
    assert_true(zoo_repair_needed(data));
    assert_int_equal(zoo_repair(data), 1);
    assert_int_not_equal(access(broken, F_OK), 0);
    assert_false(zoo_repair_needed(data));
    test_ensemble_start_server(&servers, 0);
    test_ensemble_wait(&servers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_of_three_leads, servers_heal),
        cmocka_unit_test_setup(folder_is_guarded, servers_heal),
        cmocka_unit_test_setup(ports_outlive_a_restart, servers_heal),
        cmocka_unit_test_setup(chosen_ports_are_reserved, servers_heal),
        cmocka_unit_test_setup(probing_is_bounded, servers_heal),
        cmocka_unit_test_setup(lost_majority_is_unhealthy, servers_heal),
        cmocka_unit_test_setup(detached_server_is_recognised, servers_heal),
        cmocka_unit_test_setup(log_without_header_is_removed, servers_heal),
    };
    return cmocka_run_group_tests(tests, servers_start, servers_stop);
}
