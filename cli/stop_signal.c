#include "cli/stop_signal.h"

#include <signal.h>
#include <stddef.h>

static volatile int arrived; /* The number of the signal. */

static void on_signal(int number)
{
    arrived = number;
}

const volatile int *stop_on_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &arrived;
}
