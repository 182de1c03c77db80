/* cli/stop_signal.h: the signals that ask a program to stop, for commands that end in order. */
#ifndef CLI_STOP_SIGNAL_H
#define CLI_STOP_SIGNAL_H

enum { STOPPED_EXIT = 130 }; /* The exit code of a command that was stopped. */

/* Catch them from now on (stop_signals_set()). The returned variable becomes not 0 when one
 * arrives: it is the number of the first. */
const volatile int *stop_on_signals(void);

/* As stop_on_signals(), but a second signal ends the process at once, with 128 + its number. */
const volatile int *stop_or_end_on_signals(void);

#endif
