#include "cli/stop_signal.h"

#include <signal.h>
#include <stddef.h>

static volatile int wanted; /* Set by signals. */

static void on_signal(int number)
{
    wanted = number;
}

const volatile int *stop_on_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &wanted;
}
