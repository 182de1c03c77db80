#include "common/base/mapping_fault.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "tanist/status.h"

enum { CHUNK_BYTES = 4096, PATH_BYTES = 1024, HEX_DIGIT_BITS = 4 };

/* The file /proc/self/maps, whose lines are "FIRST-LAST rwxp OFFSET DEVICE INODE   PATH". */
struct maps {
    int file;
    size_t at, size;
    char chunk[CHUNK_BYTES];
};

static struct sigaction previous;

/* A handler may call only functions that are safe in one: no stdio, no allocation. */

/* The next character; 0 at the end. */
static char next(struct maps *maps)
{
    if (maps->at == maps->size) {
        const ssize_t got = read(maps->file, maps->chunk, sizeof maps->chunk);
        maps->at = 0;
        maps->size = got > 0 ? (size_t)got : 0;
        if (got <= 0) { return '\0'; }
    }
    return maps->chunk[maps->at++];
}

/* A hexadecimal number and the character after it. */
static uintptr_t read_number(struct maps *maps)
{
    uintptr_t value = 0;
    for (char c = next(maps); c != '\0'; c = next(maps)) {
        const bool is_digit = c >= '0' && c <= '9', is_letter = c >= 'a' && c <= 'f';
        if (!is_digit && !is_letter) { break; }
        value = (value << HEX_DIGIT_BITS) + (uintptr_t)(is_digit ? c - '0' : c - 'a' + 10);
    }
    return value;
}

/* The path in the rest of the line, "" without one. Returns false at the end of the file. */
static bool read_path(struct maps *maps, char path[static PATH_BYTES])
{
    size_t length = 0;
    char c = next(maps);
    for (; c != '\0' && c != '\n'; c = next(maps)) {
        if ((length > 0 || c == '/') && length < PATH_BYTES - 1) { path[length++] = c; }
    }
    path[length] = '\0';
    return c != '\0';
}

/* The file that is mapped at `address`. False: none. */
static bool find_file(uintptr_t address, char path[static PATH_BYTES])
{
    struct maps maps = {.file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    bool found = false, more = true;
    if (maps.file < 0) { return false; }
    while (!found && more) {
        const uintptr_t first = read_number(&maps), last = read_number(&maps);
        more = read_path(&maps, path);
        found = more && address >= first && address < last && path[0] == '/';
    }
    (void)close(maps.file);
    return found && strncmp(path, "/memfd:", 7) != 0 && strncmp(path, "/dev/", 5) != 0;
}

static void print(const char *text)
{
    const ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written; /* The process ends in any case. */
}

/* In JSON a path may have no quotes and no control characters. */
static void make_plain(char *path)
{
    for (; *path != '\0'; path++) {
        if (*path == '"' || *path == '\\' || (unsigned char)*path < ' ') { *path = '?'; }
    }
}

static void report(char *path)
{
    const bool json = log_is_json();
    if (json) { make_plain(path); }
    print(json ? "{\"time\":null,\"level\":\"error\",\"task\":\"\",\"epoch\":0,\"generation\":0,"
                 "\"message\":\""
               : "tanist: ");
    print(path);
    print(" became shorter while it was in use, or its disk fails: files must not change while a "
          "run uses them");
    print(json ? "\"}\n" : "\n");
}

/* The kernel's own signals have a positive si_code. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    static atomic_flag is_reported = ATOMIC_FLAG_INIT;
    char path[PATH_BYTES];
    (void)context;
    const bool sent = info->si_code <= 0;
    if (!sent && find_file((uintptr_t)info->si_addr, path)) {
        /* Several threads may read the file. */
        while (atomic_flag_test_and_set(&is_reported)) { (void)pause(); }
        report(path);
        _exit(TN_EXIT_IO);
    }
    (void)sigaction(number, &previous, NULL);
    if (sent) { (void)raise(number); } /* Delivered when this handler returns. */
}

void mapping_faults_handle(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    const int failed = sigaction(SIGBUS, &action, &previous);
    assert(failed == 0);
}
