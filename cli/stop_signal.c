#include "cli/stop_signal.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "common/base/stop_signals.h"

static volatile int arrived; /* The number of the signal. */

static void on_signal(int number)
{
    if (arrived == 0) { arrived = number; }
}

static void on_signal_or_end(int number)
{
    if (arrived != 0) { _exit(128 + number); }
    arrived = number;
}

static const volatile int *handle(void (*handler)(int number))
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigset_t signals;
    stop_signals_set(&signals);
    for (int number = 1; number < NSIG; number++) {
        if (sigismember(&signals, number) == 1) { sigaction(number, &action, NULL); }
    }
    return &arrived;
}

const volatile int *stop_on_signals(void)
{
    return handle(on_signal);
}

const volatile int *stop_or_end_on_signals(void)
{
    return handle(on_signal_or_end);
}
