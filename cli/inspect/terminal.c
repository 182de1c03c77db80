#include "cli/inspect/terminal.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define ENTER       "\x1b[?1049h\x1b[?25l\x1b[2J"
#define LEAVE       "\x1b[?25h\x1b[?1049l"
#define HOME        "\x1b[H"
#define LINE_END    "\x1b[K"
#define CLEAR_BELOW "\x1b[J"

enum { COLUMNS = 80, ROWS = 24 };

bool terminal_is_usable(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(kind != NULL && strcmp(kind, "dumb") == 0);
}

static bool put(const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, size);
        if (written < 0 && errno == EINTR) { continue; }
        if (written < 0) { return false; }
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

static void enter(struct terminal *terminal)
{
    struct termios raw = terminal->before;
    assert(!terminal->full_screen);
    raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (terminal->has_keys) { (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw); }
    (void)put(ENTER, strlen(ENTER));
    terminal->full_screen = true;
}

enum tn_status terminal_open(struct terminal *terminal, struct error *error)
{
    sigset_t wanted;
    assert(!terminal->full_screen);
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGWINCH);
    sigaddset(&wanted, SIGTSTP);
    sigaddset(&wanted, SIGHUP);
    sigprocmask(SIG_BLOCK, &wanted, NULL);
    (void)signal(SIGTTOU, SIG_IGN); /* So that the settings can be restored from the background. */
    *terminal = (struct terminal){.signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK)};
    if (terminal->signals < 0) { return error_set(error, TN_EIO, "signalfd: %s", strerror(errno)); }
    terminal->has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &terminal->before) == 0;
    enter(terminal);
    return TN_OK;
}

static void leave(struct terminal *terminal)
{
    if (!terminal->full_screen) { return; }
    terminal->full_screen = false;
    (void)put(LEAVE, strlen(LEAVE));
    if (terminal->has_keys) { (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->before); }
}

void terminal_close(struct terminal *terminal)
{
    if (!terminal->full_screen) { return; }
    leave(terminal);
    close(terminal->signals);
}

int terminal_signals_fd(const struct terminal *terminal)
{
    return terminal->full_screen ? terminal->signals : -1;
}

int terminal_keys_fd(const struct terminal *terminal)
{
    return terminal->full_screen && terminal->has_keys ? STDIN_FILENO : -1;
}

static unsigned read_keys(void)
{
    char keys[64];
    ssize_t count = read(STDIN_FILENO, keys, sizeof keys);
    for (ssize_t i = 0; i < count; i++) {
        if (keys[i] == 'q' || keys[i] == 'Q') { return TERMINAL_LEAVE; }
    }
    return 0;
}

static void suspend(struct terminal *terminal)
{
    leave(terminal);
    (void)raise(SIGSTOP);
    enter(terminal);
}

unsigned terminal_next(struct terminal *terminal)
{
    struct signalfd_siginfo info;
    unsigned events = 0;
    assert(terminal->full_screen);
    while (read(terminal->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGTSTP) { suspend(terminal); }
        events |= info.ssi_signo == SIGHUP ? TERMINAL_LEAVE : TERMINAL_REDRAW;
    }
    if (terminal->has_keys) { events |= read_keys(); }
    return events;
}

void terminal_size(uint32_t *columns, uint32_t *rows)
{
    struct winsize size = {0};
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    *columns = known ? size.ws_col : COLUMNS;
    *rows = known ? size.ws_row : ROWS;
}

/* One write, so that a frame never appears in part. No line end follows the last line: the
 * terminal would scroll. */
bool terminal_draw(const char *frame)
{
    assert(frame != NULL);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) { return false; }
    fputs(HOME, out);
    for (const char *at = frame; *at;) {
        size_t length = strcspn(at, "\n");
        fprintf(out, "%.*s" LINE_END, (int)length, at);
        at += length + (at[length] == '\n');
        if (*at) { fputs("\r\n", out); }
    }
    fputs(CLEAR_BELOW, out);
    bool good = fclose(out) == 0 && put(text, size);
    free(text);
    return good;
}

bool terminal_is_utf8(void)
{
    const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (int i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && *value) {
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
        }
    }
    return false;
}
