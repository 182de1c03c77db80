/*
 * cli/inspect/terminal.h: a terminal in full-screen mode, by ANSI escape sequences only: the
 * alternate screen, no cursor, keys without Enter. Afterwards the terminal is as it was before.
 *
 * Threads: the main thread.
 */
#ifndef CLI_INSPECT_TERMINAL_H
#define CLI_INSPECT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#include "common/base/error.h"

struct terminal {
    bool full_screen, has_keys;
    int signals; /* A signalfd: SIGWINCH, SIGTSTP, SIGHUP. */
    struct termios before;
};

/* stdout is a terminal that can show full-screen output. */
bool terminal_is_usable(void);

/* Enter full-screen mode. SIGWINCH, SIGTSTP and SIGHUP are blocked from then on: call it before any
 * thread is started. TN_EIO. */
MUST_CHECK enum tn_status terminal_open(struct terminal *terminal, struct error *error);
/* Leave full-screen mode. Harmless when it was not entered. */
void terminal_close(struct terminal *terminal);

/* For poll(): signals and keys; -1: none. */
int terminal_signals_fd(const struct terminal *terminal);
int terminal_keys_fd(const struct terminal *terminal);

enum terminal_event {
    TERMINAL_REDRAW = 1, /* The size has changed, or the process continues after Ctrl-Z. */
    TERMINAL_LEAVE = 2,  /* 'q' was pressed, or the terminal was closed. */
};
/* Call it when poll() reports one of the two. Returns a set of `enum terminal_event`. Handles
 * Ctrl-Z itself. */
unsigned terminal_next(struct terminal *terminal);

void terminal_size(uint32_t *columns, uint32_t *rows);

/* Draw a frame over the last one. False: the terminal can no longer be written. */
bool terminal_draw(const char *frame);

/* The locale of the environment uses UTF-8. */
bool terminal_is_utf8(void);

#endif
