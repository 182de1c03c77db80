/*
 * cli/inspect/terminal.h: a terminal taken over for a picture that is drawn again and again, with
 * ANSI escapes alone: the alternate screen, no cursor, keys without Enter; and given back as it
 * was.
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
    bool taken, has_keys;
    int signals; /* A signalfd: SIGWINCH, SIGTSTP, SIGHUP. */
    struct termios before;
};

/* stdout is one that can be drawn on. */
bool terminal_is_there(void);

/* Take it over. SIGWINCH, SIGTSTP and SIGHUP are blocked from then on: call it before there is any
 * thread. TN_EIO. */
MUST_CHECK enum tn_status terminal_take(struct terminal *terminal, struct error *error);
/* Give it back as it was. Harmless when it was not taken. */
void terminal_give_back(struct terminal *terminal);

/* For poll(): signals, and keys; -1: none. */
int terminal_signals_fd(const struct terminal *terminal);
int terminal_keys_fd(const struct terminal *terminal);

enum terminal_news {
    TERMINAL_REDRAW = 1, /* Another size, or back from Ctrl-Z, which this handles. */
    TERMINAL_LEAVE = 2,  /* 'q', or the terminal is gone. */
};
/* What has happened, when poll() says that something has. */
unsigned terminal_hear(struct terminal *terminal);

void terminal_size(uint32_t *columns, uint32_t *rows);

/* Draw a frame: its lines over those of the last one. False: nobody can see it any more. */
bool terminal_draw(const char *frame);

/* The environment's locale writes UTF-8. */
bool terminal_is_utf8(void);

#endif
