#include "common/base/stop_signals.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

void stop_signals_set(sigset_t *out)
{
    struct sigaction hangup;
    assert(out != NULL);
    sigemptyset(out);
    sigaddset(out, SIGINT);
    sigaddset(out, SIGTERM);
    const bool known = sigaction(SIGHUP, NULL, &hangup) == 0;
    if (!known || hangup.sa_handler != SIG_IGN) { sigaddset(out, SIGHUP); }
}
