#include "agent/log_pipe.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/log_file.h"

enum { CHUNK_BYTES = 16 * 1024, PIPE_BYTES = 1024 * 1024, FLUSH_POLL_MS = 1 };

struct log_pipe {
    int input, output; /* The ends of the pipe; the program has `input`. */
    pthread_t thread;
    pthread_mutex_t lock; /* Held from a read until it is in the file. */
    struct log_file file;
};

/* False: every writer has closed the pipe. */
static bool copy_some(struct log_pipe *pipe)
{
    char chunk[CHUNK_BYTES];
    pthread_mutex_lock(&pipe->lock);
    ssize_t count = read(pipe->output, chunk, sizeof chunk);
    if (count > 0) { log_file_write(&pipe->file, chunk, (size_t)count); }
    pthread_mutex_unlock(&pipe->lock);
    return count > 0 || (count < 0 && errno == EINTR);
}

static void *copy(void *ctx)
{
    struct log_pipe *pipe = ctx;
    struct pollfd polled = {.fd = pipe->output, .events = POLLIN};
    do {
        (void)poll(&polled, 1, -1);
    } while (copy_some(pipe));
    return NULL;
}

static enum tn_status open_pipe(struct log_pipe *pipe, struct error *error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return error_set(error, TN_EIO, "cannot make a pipe: %s", strerror(errno));
    }
    pipe->output = ends[0];
    pipe->input = ends[1];
    (void)fcntl(pipe->input, F_SETPIPE_SZ, PIPE_BYTES); /* Where that is too much: 64 KiB. */
    if (pthread_create(&pipe->thread, NULL, copy, pipe) == 0) { return TN_OK; }
    close(pipe->input);
    close(pipe->output);
    return error_set(error, TN_ENOMEM, "cannot start the thread that writes %s", pipe->file.path);
}

enum tn_status log_pipe_open(const char *path, uint64_t limit, struct log_pipe **out,
                             struct error *error)
{
    assert(path != NULL);
    *out = NULL;
    struct log_pipe *pipe = calloc(1, sizeof *pipe);
    if (pipe == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    pthread_mutex_init(&pipe->lock, NULL);
    enum tn_status status = log_file_open(&pipe->file, path, limit, error);
    if (status == TN_OK) { status = open_pipe(pipe, error); }
    if (status == TN_OK) {
        *out = pipe;
        return TN_OK;
    }
    log_file_close(&pipe->file);
    pthread_mutex_destroy(&pipe->lock);
    free(pipe);
    return status;
}

int log_pipe_fd(const struct log_pipe *pipe)
{
    return pipe->input;
}

void log_pipe_flush(struct log_pipe *pipe)
{
    int waiting = 1;
    assert(pipe->output >= 0);
    while (waiting > 0) {
        pthread_mutex_lock(&pipe->lock);
        if (ioctl(pipe->output, FIONREAD, &waiting) != 0) { waiting = 0; }
        pthread_mutex_unlock(&pipe->lock);
        if (waiting > 0) { (void)poll(NULL, 0, FLUSH_POLL_MS); }
    }
}

void log_pipe_close(struct log_pipe *pipe)
{
    if (pipe == NULL) { return; }
    close(pipe->input);
    pthread_join(pipe->thread, NULL);
    close(pipe->output);
    log_file_close(&pipe->file);
    pthread_mutex_destroy(&pipe->lock);
    free(pipe);
}
