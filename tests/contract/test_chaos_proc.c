/* chaos/cluster/proc.h against the real /proc. */
#include "chaos/cluster/proc.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

/* Opening a file adds one descriptor to the usage of this process. */
static void usage_counts_descriptors(void **state)
{
    (void)state;
    struct proc_usage before, after;
    assert_true(proc_usage(getpid(), &before));
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(proc_usage(getpid(), &after));
    assert_true(close(fd) == 0);
    assert_true(before.rss_kib > 100 && before.threads >= 1);
    assert_int_equal(after.descriptors, before.descriptors + 1);
}

/* A process is found by its mark while it runs, but not as a zombie. */
static void find_marked_finds_a_running_child(void **state)
{
    (void)state;
    char *arguments[] = {"sleep", "60", NULL};
    char *environment[] = {"OTHER=1", "TANIST_TEST_MARK=4711", NULL};
    char command[32];
    struct proc_usage sample;
    pid_t child = fork();
    if (child == 0) {
        (void)execve("/bin/sleep", arguments, environment);
        _exit(127);
    }
    pid_t found[2] = {0};
    for (int i = 0; i < 500 && proc_find_marked("TANIST_TEST_MARK=4711", found, 2) == 0; i++) {
        (void)usleep(10000);
    }
    assert_int_equal(found[0], child);
    proc_command(child, command, sizeof command);
    assert_string_equal(command, "sleep 60");
    assert_int_equal(proc_find_marked("TANIST_TEST_MARK=471", NULL, 0), 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(proc_find_marked("TANIST_TEST_MARK=4711", found, 2), 0);
    assert_false(proc_usage(child, &sample));
    assert_int_equal(waitpid(child, NULL, 0), child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(usage_counts_descriptors),
                                       cmocka_unit_test(find_marked_finds_a_running_child)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
