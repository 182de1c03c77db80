/* cli/stop_signal.h: SIGINT and SIGTERM as a wish to stop, for commands that end in their own time.
 */
#ifndef CLI_STOP_SIGNAL_H
#define CLI_STOP_SIGNAL_H

enum { STOPPED_EXIT = 130 }; /* The exit code of a command that was stopped so. */

/* From here on both signals are caught. What it returns becomes not 0 when one has come. */
const volatile int *stop_on_signals(void);

#endif
