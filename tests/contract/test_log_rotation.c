/* Rotation while a process writes: every line is in one of the files, whole, once and in order. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/log_pipe.h"
#include "agent/process.h"
#include "common/base/files.h"
#include "common/base/log.h"
#include "common/base/log_file.h"

enum { THREADS = 4, LINES = 400, LOG_BYTES_MAX = 1 << 20 };

static char folder[64], path[128];

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tanist-log-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/log", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i <= LOG_FILES_KEPT; i++) {
        char name[160];
        snprintf(name, sizeof name, i > 0 ? "%s.%d" : "%s", path, i);
        (void)unlink(name);
    }
    return rmdir(folder);
}

/* Check the lines "... writer=W number=N ...", oldest file first. Returns the number of files. */
static int check_lines(int writers, int lines)
{
    int next[THREADS] = {0}, files = 0;
    for (int i = LOG_FILES_KEPT; i >= 0; i--) {
        char name[160], *data = NULL;
        size_t size = 0;
        snprintf(name, sizeof name, i > 0 ? "%s.%d" : "%s", path, i);
        if (files_read(name, LOG_BYTES_MAX, &data, &size, NULL) != TN_OK) { continue; }
        files++;
        assert_true(size > 0);
        assert_int_equal(data[size - 1], '\n');
        for (char *rest = data, *line; (line = strsep(&rest, "\n")) != NULL && rest != NULL;) {
            const char *at = strstr(line, "writer=");
            int writer = -1, number = -1;
            assert_non_null(at);
            assert_int_equal(sscanf(at, "writer=%d number=%d", &writer, &number), 2);
            assert_in_range(writer, 0, writers - 1);
            assert_int_equal(number, next[writer]);
            assert_non_null(strstr(at, "end."));
            next[writer]++;
        }
        free(data);
    }
    for (int i = 0; i < writers; i++) { assert_int_equal(next[i], lines); }
    return files;
}

static void *write_lines(void *ctx)
{
    const int writer = *(const int *)ctx;
    for (int i = 0; i < LINES; i++) { log_info("writer=%d number=%d %060d end.", writer, i, 0); }
    return NULL;
}

/* In a process of its own, whose stderr is the file. */
static _Noreturn void log_from_threads(void)
{
    pthread_t threads[THREADS];
    int writers[THREADS];
    if (freopen(path, "a", stderr) == NULL) { _exit(1); }
    log_init(LOG_INFO, LOG_TEXT, "ps:0");
    log_rotate_stderr(path, LOG_FILE_LEAST_BYTES);
    for (int i = 0; i < THREADS; i++) {
        writers[i] = i;
        if (pthread_create(&threads[i], NULL, write_lines, &writers[i]) != 0) { _exit(2); }
    }
    for (int i = 0; i < THREADS; i++) { pthread_join(threads[i], NULL); }
    _exit(0);
}

static void threads_share_a_log_that_is_rotated(void **state)
{
    (void)state;
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) { log_from_threads(); }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_in_range(check_lines(THREADS, LINES), 3, LOG_FILES_KEPT + 1);
}

/* A program that knows nothing of the rotation writes lines in pieces. */
static void output_of_a_program_is_rotated(void **state)
{
    (void)state;
    extern char **environ;
    struct log_pipe *log = NULL;
    struct process process = {0};
    int exit_code = -1, signal_number = -1;
    const char *const arguments[] = {
        "sh", "-c",
        "i=0; while [ $i -lt 1600 ]; do printf 'writer=0 '; printf 'number=%d ' $i; "
        "printf '%090d end.\\n' 0; i=$((i+1)); done",
        NULL};
    assert_int_equal(log_pipe_open(path, LOG_FILE_LEAST_BYTES, &log, NULL), TN_OK);
    const struct process_config config = {.program = "/bin/sh",
                                          .arguments = arguments,
                                          .environment = environ,
                                          .output = log_pipe_fd(log)};
    assert_int_equal(process_start(&config, &process, NULL), TN_OK);
    assert_true(process_wait(&process, -1, &exit_code, &signal_number));
    assert_int_equal(exit_code, 0);
    log_pipe_flush(log);
    const int files = check_lines(1, 1600);
    log_pipe_close(log);
    assert_int_equal(check_lines(1, 1600), files);
    assert_in_range(files, 3, LOG_FILES_KEPT + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_share_a_log_that_is_rotated, setup, teardown),
        cmocka_unit_test_setup_teardown(output_of_a_program_is_rotated, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
