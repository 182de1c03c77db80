/* The sender of a signal decides how a node ends: each test forks a process that handles the fault
 * signals as a node does. */
#include "common/base/fault_signals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGABRT};

enum { COUNT = sizeof numbers / sizeof *numbers };

static void segfault(void)
{
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile char *)page = 1;
}

/* Without a core file, and without the report that a sanitizer would write. */
static void prepare_child(void)
{
    const struct rlimit none = {0};
    (void)setrlimit(RLIMIT_CORE, &none);
    for (int i = 0; i < COUNT; i++) { (void)signal(numbers[i], SIG_DFL); }
}

/* The signal that ended a process that did `act` with the fault signals handled. */
static int end_of(void (*act)(void))
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        prepare_child();
        fault_signals_handle();
        act();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void own_error_ends_the_process_by_its_signal(void **state)
{
    (void)state;
    assert_int_equal(end_of(segfault), SIGSEGV);
    assert_int_equal(end_of(abort), SIGABRT);
}

static void raise_fpe(void)
{
    (void)raise(SIGFPE);
}

static void raised_signal_is_an_own_error(void **state)
{
    (void)state;
    assert_int_equal(end_of(raise_fpe), SIGFPE);
}

/* The signal of another process arrives before the handler exists, and waits for it. */
static void signal_of_another_process_ends_it_as_a_kill(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        int status = 0, sent[2];
        char byte = 0;
        assert_int_equal(pipe(sent), 0);
        sigset_t faults, before;
        fault_signals_set(&faults);
        sigprocmask(SIG_BLOCK, &faults, &before);
        const pid_t pid = fork();
        if (pid == 0) {
            prepare_child();
            if (read(sent[0], &byte, 1) == 1) { fault_signals_handle(); }
            _exit(0);
        }
        sigprocmask(SIG_SETMASK, &before, NULL);
        assert_int_equal(kill(pid, numbers[i]), 0);
        assert_int_equal(write(sent[1], &byte, 1), 1);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGKILL);
        close(sent[0]);
        close(sent[1]);
    }
}

/* The kernel does not let a process block its own error. */
static void own_error_ends_a_process_that_blocks_it(void **state)
{
    (void)state;
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        sigset_t faults;
        prepare_child();
        fault_signals_set(&faults);
        sigprocmask(SIG_BLOCK, &faults, NULL);
        segfault();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_error_ends_the_process_by_its_signal),
        cmocka_unit_test(raised_signal_is_an_own_error),
        cmocka_unit_test(signal_of_another_process_ends_it_as_a_kill),
        cmocka_unit_test(own_error_ends_a_process_that_blocks_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
