/* chaos/shim: this program starts itself as `tanist ps --index 1 OPERATION FILE` with the library
 * preloaded, does the operation, and exits with its errno. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/faults/fault_control.h"

enum { WRONG = 200, DAY_MS = 86400000 };

/* ------------------------------------------------------------- the process under test */

static int failed(long result)
{
    return result < 0 ? errno : 0;
}

static int change_file(const char *what, int fd)
{
    struct iovec part = {.iov_base = "abc", .iov_len = 3};
    if (strcmp(what, "write") == 0) { return failed(write(fd, "abc", 3)); }
    if (strcmp(what, "pwrite") == 0) { return failed(pwrite(fd, "abc", 3, 0)); }
    if (strcmp(what, "writev") == 0) { return failed(writev(fd, &part, 1)); }
    if (strcmp(what, "pwritev") == 0) { return failed(pwritev(fd, &part, 1, 0)); }
    if (strcmp(what, "ftruncate") == 0) { return failed(ftruncate(fd, 4096)); }
    if (strcmp(what, "allocate") == 0) { return posix_fallocate(fd, 0, 4096); }
    if (strcmp(what, "fsync") == 0) { return failed(fsync(fd)); }
    if (strcmp(what, "fdatasync") == 0) { return failed(fdatasync(fd)); }
    return WRONG;
}

static int sync_map(int fd)
{
    if (ftruncate(fd, 4096) != 0) { return WRONG; }
    char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) { return WRONG; }
    map[0] = 'a';
    return failed(msync(map, 4096, MS_SYNC));
}

static int sync_folder(void)
{
    int fd = open("/tmp", O_RDONLY | O_DIRECTORY);
    return fd < 0 ? WRONG : failed(fsync(fd));
}

static int write_pipe(void)
{
    int ends[2];
    return pipe(ends) != 0 ? WRONG : failed(write(ends[1], "abc", 3));
}

/* The file is descriptor 2, as the log of a node. */
static int write_log(int fd)
{
    return dup2(fd, 2) != 2 ? WRONG : failed(write(2, "abc", 3));
}

/* 0: all wall clocks are a day ahead of the kernel's, and the monotonic clock is not. */
static int read_clocks(void)
{
    struct timespec true_now, now, steady, true_steady;
    struct timeval of_day;
    (void)syscall(SYS_clock_gettime, CLOCK_REALTIME, &true_now);
    (void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &true_steady);
    if (clock_gettime(CLOCK_REALTIME, &now) != 0 || gettimeofday(&of_day, NULL) != 0) {
        return WRONG;
    }
    if (clock_gettime(CLOCK_MONOTONIC, &steady) != 0) { return WRONG; }
    int64_t day = DAY_MS / 1000, to = true_now.tv_sec + day;
    if (now.tv_sec - to < 0 || now.tv_sec - to > 5) { return 1; }
    if (of_day.tv_sec - to < 0 || of_day.tv_sec - to > 5) { return 2; }
    if (time(NULL) - to < 0 || time(NULL) - to > 5) { return 3; }
    return steady.tv_sec - true_steady.tv_sec > 5 ? 4 : 0;
}

static int subject(const char *what, const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0) { return WRONG; }
    if (strcmp(what, "msync") == 0) { return sync_map(fd); }
    if (strcmp(what, "folder") == 0) { return sync_folder(); }
    if (strcmp(what, "pipe") == 0) { return write_pipe(); }
    if (strcmp(what, "log") == 0) { return write_log(fd); }
    if (strcmp(what, "clocks") == 0) { return read_clocks(); }
    return change_file(what, fd);
}

/* ------------------------------------------------------------- the test */

static char folder[64], control_path[128], file_path[128], shim_path[PATH_MAX];
static struct fault_control *control;
static struct fault_slot *slot;

static int start(void **state)
{
    static const char *const names[] = {"ps:0", "ps:1", "zookeeper:2"};
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tanist-shim-XXXXXX");
    if (mkdtemp(folder) == NULL) { return -1; }
    snprintf(control_path, sizeof control_path, "%s/faults.ctl", folder);
    snprintf(file_path, sizeof file_path, "%s/file", folder);
    if (fault_control_create(control_path, names, 3, &control, NULL) != TN_OK) { return -1; }
    slot = fault_control_slot(control, "ps:1");
    return slot != NULL ? 0 : -1;
}

static int finish(void **state)
{
    (void)state;
    fault_control_close(control);
    (void)unlink(control_path);
    (void)unlink(file_path);
    return rmdir(folder);
}

static _Noreturn void execute(const char *const *arguments)
{
    union {
        const char *const *given;
        char *const *wanted;
    } vector = {.given = arguments};
    setenv("LD_PRELOAD", shim_path, 1);
    setenv("TANIST_FAULTS", control_path, 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
    execv("/proc/self/exe", vector.wanted);
    _exit(WRONG);
}

static int run(const char *const *arguments)
{
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) { execute(arguments); }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The errno of the operation in `tanist ps --index 1`. */
static int errno_of(const char *what)
{
    const char *const arguments[] = {"tanist", "ps", "--index", "1", what, file_path, NULL};
    return run(arguments);
}

static const char *const writes[] = {"write",   "pwrite",    "writev",
                                     "pwritev", "ftruncate", "allocate"};
static const char *const syncs[] = {"fsync", "fdatasync", "msync", "folder"};

/* Without faults all operations succeed. */
static void test_operations_succeed_without_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        assert_int_equal(errno_of(writes[i]), 0);
    }
    for (size_t i = 0; i < sizeof syncs / sizeof *syncs; i++) {
        assert_int_equal(errno_of(syncs[i]), 0);
    }
    assert_int_equal(slot->writes_failed + slot->syncs_failed + slot->clocks_shifted, 0);
}

/* Each way to change a file fails and is counted; syncs do not fail. */
static void test_writes_fail(void **state)
{
    (void)state;
    atomic_store(&slot->write_errno, ENOSPC);
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        assert_int_equal(errno_of(writes[i]), ENOSPC);
    }
    assert_int_equal(errno_of("fsync"), 0);
    assert_int_equal(slot->writes_failed, sizeof writes / sizeof *writes);
}

/* Pipes and the log are not on the disk, so they do not fail. */
static void test_only_files_fail(void **state)
{
    (void)state;
    atomic_store(&slot->write_errno, EIO);
    assert_int_equal(errno_of("pipe"), 0);
    assert_int_equal(errno_of("log"), 0);
    assert_int_equal(slot->writes_failed, 0);
}

/* Each way to sync fails, also of folders; writes do not fail. */
static void test_syncs_fail(void **state)
{
    (void)state;
    atomic_store(&slot->sync_errno, EIO);
    for (size_t i = 0; i < sizeof syncs / sizeof *syncs; i++) {
        assert_int_equal(errno_of(syncs[i]), EIO);
    }
    assert_int_equal(errno_of("write"), 0);
    assert_int_equal(slot->syncs_failed, sizeof syncs / sizeof *syncs);
}

/* A slow sync takes longer and succeeds. */
static void test_syncs_are_slow(void **state)
{
    (void)state;
    atomic_store(&slot->sync_delay_ms, 120);
    for (size_t i = 0; i < sizeof syncs / sizeof *syncs; i++) {
        uint64_t before_ms = clock_monotonic_ms();
        assert_int_equal(errno_of(syncs[i]), 0);
        assert_true(clock_monotonic_ms() - before_ms >= 120);
    }
    assert_int_equal(slot->syncs_delayed, sizeof syncs / sizeof *syncs);
}

/* Wall clocks are shifted, and no others. */
static void test_wall_clocks_are_shifted(void **state)
{
    (void)state;
    assert_int_not_equal(errno_of("clocks"), 0);
    atomic_store(&slot->clock_offset_ms, DAY_MS);
    assert_int_equal(errno_of("clocks"), 0);
    assert_true(slot->clocks_shifted >= 3);
}

/* Each process obeys only the slot with the name that its command line gives. */
static void test_other_processes_are_not_affected(void **state)
{
    const char *const others[][7] = {
        {"tanist", "ps", "--index", "0", "write", file_path},
        {"tanist", "worker", "--index", "1", "write", file_path},
        {"tanist", "ps", "--wait", "1", "write", file_path},
        {"other", "ps", "--index", "1", "write", file_path},
        {"/usr/bin/java", "-cp", "x", "/d/zookeeper/1/zoo.cfg", "write", file_path},
    };
    (void)state;
    atomic_store(&slot->write_errno, EIO);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(run(others[i]), 0);
    }
    assert_int_equal(slot->writes_failed, 0);
}

/* Each form of command line that the product uses gives a name. */
static void test_names_of_command_lines(void **state)
{
    const char *const ours[] = {"/x/tanist", "ps", "--index=1", "--zk", "write", file_path, NULL};
    const char *const server[] = {"/usr/bin/java", "-cp",     "x", "/d/zookeeper/2/zoo.cfg",
                                  "write",         file_path, NULL};
    (void)state;
    atomic_store(&slot->write_errno, EIO);
    atomic_store(&fault_control_slot(control, "zookeeper:2")->write_errno, ENOSPC);
    assert_int_equal(run(ours), EIO);
    assert_int_equal(run(server), ENOSPC);
}

/* Without a valid control file all operations succeed. */
static void test_without_a_control_file(void **state)
{
    (void)state;
    atomic_store(&slot->write_errno, EIO);
    control->version++;
    assert_int_equal(errno_of("write"), 0);
    assert_int_equal(unlink(control_path), 0);
    assert_int_equal(errno_of("write"), 0);
}

/* In the folder of the program. */
static int find_shim(void)
{
    const char *program = getenv("TANIST_PROGRAM");
    const char *slash = program != NULL ? strrchr(program, '/') : NULL;
    snprintf(shim_path, sizeof shim_path, "%.*s/tanist-faults.so",
             slash != NULL ? (int)(slash - program) : 5, slash != NULL ? program : "build");
    return access(shim_path, R_OK);
}

int main(int argc, char **argv)
{
    if (argc == 6 || argc == 7) { return subject(argv[argc - 2], argv[argc - 1]); }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_operations_succeed_without_faults, start, finish),
        cmocka_unit_test_setup_teardown(test_writes_fail, start, finish),
        cmocka_unit_test_setup_teardown(test_only_files_fail, start, finish),
        cmocka_unit_test_setup_teardown(test_syncs_fail, start, finish),
        cmocka_unit_test_setup_teardown(test_syncs_are_slow, start, finish),
        cmocka_unit_test_setup_teardown(test_wall_clocks_are_shifted, start, finish),
        cmocka_unit_test_setup_teardown(test_other_processes_are_not_affected, start, finish),
        cmocka_unit_test_setup_teardown(test_names_of_command_lines, start, finish),
        cmocka_unit_test_setup_teardown(test_without_a_control_file, start, finish),
    };
    if (find_shim() != 0) {
        fprintf(stderr, "%s does not exist: build all targets\n", shim_path);
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
