/* A mapped file that becomes shorter ends the process with a message, whether the handler of fault
 * signals is installed as well or not; other causes of SIGBUS end it as before. Each test forks. */
#include "common/base/mapping_fault.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/fault_signals.h"
#include "common/base/log.h"
#include "tanist/status.h"

enum { TEXT_BYTES = 2048, FILE_BYTES = 8192 };

struct end {
    int status; /* As waitpid() gives it. */
    char text[TEXT_BYTES];
};

/* A child writes no core file, and does not have the handlers of a sanitizer. */
static void prepare_child(int errors)
{
    const struct rlimit none = {0};
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(SIGBUS, SIG_DFL);
    (void)dup2(errors, STDERR_FILENO);
}

/* The end of a process that did `act`, with its output on stderr. */
static struct end end_of(void (*act)(void))
{
    struct end end = {0};
    int output[2];
    size_t used = 0;
    ssize_t got;
    assert_int_equal(pipe(output), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        prepare_child(output[1]);
        mapping_faults_handle();
        act();
        _exit(0);
    }
    close(output[1]);
    while ((got = read(output[0], end.text + used, sizeof end.text - 1 - used)) > 0) {
        used += (size_t)got;
    }
    close(output[0]);
    assert_int_equal(waitpid(pid, &end.status, 0), pid);
    return end;
}

/* Read a page of `file` behind its end. */
static void read_behind_the_end(int file)
{
    if (ftruncate(file, FILE_BYTES) != 0) { _exit(1); }
    const char *bytes = mmap(NULL, FILE_BYTES, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED || ftruncate(file, 0) != 0) { _exit(1); }
    (void)*(const volatile char *)(bytes + FILE_BYTES / 2);
}

static void read_shorter_file(void)
{
    char path[] = "/tmp/tanist-mapping-\"fault.XXXXXX";
    const int file = mkstemp(path);
    if (file < 0 || unlink(path) != 0) { _exit(1); }
    read_behind_the_end(file);
}

static void read_shorter_file_as_a_node(void)
{
    fault_signals_handle();
    read_shorter_file();
}

static void read_shorter_file_with_json(void)
{
    log_init(LOG_INFO, LOG_JSON, "worker:0");
    read_shorter_file();
}

static void file_is_named(void **state)
{
    (void)state;
    void (*const acts[])(void) = {read_shorter_file, read_shorter_file_as_a_node};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        const struct end end = end_of(acts[i]);
        assert_true(WIFEXITED(end.status));
        assert_int_equal(WEXITSTATUS(end.status), TN_EXIT_IO);
        assert_non_null(strstr(end.text, "tanist: /tmp/tanist-mapping-\"fault."));
        assert_non_null(strstr(end.text, "became shorter"));
    }
}

static void message_is_json(void **state)
{
    (void)state;
    const struct end end = end_of(read_shorter_file_with_json);
    assert_true(WIFEXITED(end.status));
    assert_non_null(strstr(end.text, "\"message\":\"/tmp/tanist-mapping-?fault."));
    assert_int_equal(end.text[0], '{');
    assert_string_equal(end.text + strlen(end.text) - 3, "\"}\n");
}

static void read_shorter_memory(void)
{
    read_behind_the_end(memfd_create("test", MFD_CLOEXEC));
}

static void raise_bus(void)
{
    (void)raise(SIGBUS);
}

static void other_causes_end_the_process_by_the_signal(void **state)
{
    (void)state;
    void (*const acts[])(void) = {read_shorter_memory, raise_bus};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        const struct end end = end_of(acts[i]);
        assert_true(WIFSIGNALED(end.status));
        assert_int_equal(WTERMSIG(end.status), SIGBUS);
        assert_string_equal(end.text, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_is_named),
        cmocka_unit_test(message_is_json),
        cmocka_unit_test(other_causes_end_the_process_by_the_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
