/*
 * common/base/stop_signals.h: the signals that ask a program to stop.
 */
#ifndef COMMON_BASE_STOP_SIGNALS_H
#define COMMON_BASE_STOP_SIGNALS_H

#include <signal.h>

/* Fill `out` with SIGINT, SIGTERM and SIGHUP; without SIGHUP if the program was started with it
 * ignored, as by nohup(1). A signalfd would report it all the same. */
void stop_signals_set(sigset_t *out);

#endif
