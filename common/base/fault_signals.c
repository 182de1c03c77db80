#include "common/base/fault_signals.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGABRT};

enum { COUNT = sizeof numbers / sizeof *numbers };

static struct sigaction previous[COUNT];

void fault_signals_set(sigset_t *out)
{
    assert(out != NULL);
    sigemptyset(out);
    for (size_t i = 0; i < COUNT; i++) { sigaddset(out, numbers[i]); }
}

void fault_signals_block_others(sigset_t *before)
{
    sigset_t others;
    sigfillset(&others);
    for (size_t i = 0; i < COUNT; i++) { sigdelset(&others, numbers[i]); }
    (void)pthread_sigmask(SIG_SETMASK, &others, before);
}

/* The kernel's own signals have a positive si_code. abort() and raise() send one with si_pid of
 * this process; they send it again after the handler returns, or here. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    const bool sent = info->si_code <= 0;
    if (sent && info->si_pid != getpid()) { (void)kill(getpid(), SIGKILL); }
    for (size_t i = 0; i < COUNT; i++) {
        if (numbers[i] == number) { (void)sigaction(number, &previous[i], NULL); }
    }
    if (sent) { (void)raise(number); } /* Delivered when this handler returns. */
}

void fault_signals_handle(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigset_t faults;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < COUNT; i++) {
        const int failed = sigaction(numbers[i], &action, &previous[i]);
        assert(failed == 0);
    }
    fault_signals_set(&faults);
    (void)sigprocmask(SIG_UNBLOCK, &faults, NULL);
}
