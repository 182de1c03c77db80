/* The store under SIGKILL, on a failing, a full and a read-only device: a shard is complete or
 * absent, and older checkpoints stay intact. Tests that mount are skipped without root. */
#include "tests/contract/store_fixture.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "common/base/clock.h"

enum { PARAMETERS = 700000, SMALL = 3000, KILLS = 100 };

static void sleep_us(uint64_t microseconds)
{
    struct timespec left = {.tv_sec = (time_t)(microseconds / 1000000),
                            .tv_nsec = (long)(microseconds % 1000000) * 1000};
    nanosleep(&left, NULL);
}

/* A child writes the shard repeatedly and is killed after `after_us`. */
static void write_and_kill(const struct manifest *manifest, uint64_t after_us)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct manifest own = *manifest;
        for (;;) {
            if (write_shard(&own, 0, NULL) != TN_OK) { _exit(1); }
        }
    }
    int status;
    sleep_us(after_us);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status)); /* All of its writes succeeded. */
}

/* After a SIGKILL at any of 100 moments of a write the shard is intact or absent. */
static void killed_writer_leaves_all_or_nothing(void **state)
{
    (void)state;
    int present = 0;
    struct manifest manifest = write_checkpoint(1, PARAMETERS, 1);
    uint64_t began = clock_monotonic_ns();
    manifest = write_checkpoint(1, PARAMETERS, 1);
    uint64_t took_us = (clock_monotonic_ns() - began) / 1000;
    for (uint64_t i = 0; i < KILLS; i++) {
        /* Every other time there is no older shard. */
        if (i % 2 == 0) { (void)unlink(shard_path(&manifest, 0)); }
        bool older = access(shard_path(&manifest, 0), F_OK) == 0;
        write_and_kill(&manifest, took_us * (i * 37 % KILLS) * 2 / KILLS);
        enum tn_status status = store_verify(dir, &manifest, 0, NULL, NULL);
        assert_true(status == TN_OK || (status == TN_ENOENT && !older));
        if (status == TN_OK) { present++; }
    }
    print_message("%d of %d killed writers left a complete shard\n", present, KILLS);
    /* The next write removes their files. */
    struct manifest again = write_checkpoint(1, PARAMETERS, 1);
    assert_true(digest_equal(again.shards[0].digest, manifest.shards[0].digest));
    assert_int_equal(unlink(shard_path(&again, 0)), 0);
    char folder[PATH_MAX];
    assert_true(store_path_of_shard_folder(folder, dir, 1, 0, 1));
    assert_int_equal(rmdir(folder), 0);
}

/* ----------------------------------------------------------- failing disks */

/* From now on the system call `number` fails with EIO in this process. */
static bool make_fail(long number)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof steps / sizeof steps[0], .filter = steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The status of a write in a child whose system call `number` fails; -1: seccomp is not allowed. */
static int write_with_failure(const struct manifest *manifest, long number)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct manifest own = *manifest;
        if (!make_fail(number)) { _exit(255); }
        _exit((int)write_shard(&own, 0, NULL));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
}

/* Whichever system call fails, the write returns TN_EIO, the shard is complete or absent, and the
 * next write succeeds. */
static void failing_disk_is_an_error(void **state)
{
    (void)state;
    static const long calls[] = {SYS_mkdir, SYS_fallocate, SYS_pwritev, SYS_fsync, SYS_rename};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct manifest manifest = write_checkpoint(1, SMALL, 1);
        assert_int_equal(store_discard(dir, 1, NULL), TN_OK);
        int status = write_with_failure(&manifest, calls[i]);
        if (status == -1) { skip(); }
        if (status != TN_EIO) {
            fail_msg("system call %ld failed, but the write returned %d", calls[i], status);
        }
        enum tn_status found = store_verify(dir, &manifest, 0, NULL, NULL);
        assert_true(found == TN_ENOENT || found == TN_OK);
    }
}

/* ------------------------------------------------------------ small devices */

/* Mount a memory file system of 1 MiB at `dir`. False: not permitted. */
static bool mount_small(void)
{
    if (mount("tanist-test", dir, "tmpfs", 0, "size=1m") == 0) { return true; }
    print_message("SKIPPED: cannot mount a tmpfs: %s\n", strerror(errno));
    return false;
}

static int unmount_and_remove(void **state)
{
    (void)umount2(dir, MNT_DETACH);
    return remove_dir(state);
}

static void fill_device(off_t leave_bytes)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/filler", dir);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    assert_true(fd >= 0);
    off_t size = 0;
    while (posix_fallocate(fd, size, 4096) == 0) { size += 4096; }
    assert_int_equal(ftruncate(fd, size > leave_bytes ? size - leave_bytes : 0), 0);
    close(fd);
}

/* A write on an almost full device succeeds or returns TN_ENOSPC with a text, and an older
 * checkpoint stays intact. */
static void full_device_is_an_error(void **state)
{
    (void)state;
    if (!mount_small()) { skip(); }
    struct manifest earlier = write_checkpoint(1, SMALL, 1);
    assert_int_equal(store_put_manifest(dir, &earlier, NULL), TN_OK);
    int failed = 0;
    for (off_t left = 0; left <= 160 * 1024; left += 4096) {
        struct error error = {.text = ""};
        struct manifest manifest = manifest_make(2, SMALL, 1);
        fill_device(left);
        enum tn_status status = write_shard(&manifest, 0, &error);
        assert_true(status == TN_OK || status == TN_ENOSPC);
        if (status == TN_ENOSPC) { failed++; }
        if (status == TN_ENOSPC) { assert_true(error.text[0] != '\0'); }
        assert_int_equal(store_verify(dir, &earlier, 0, NULL, NULL), TN_OK);
        assert_int_equal(store_discard(dir, 2, NULL), TN_OK);
    }
    assert_true(failed > 10 && failed < 41);
}

/* A copy of a manifest on a full device is refused, and the old copy stays. */
static void full_device_keeps_the_old_manifest(void **state)
{
    (void)state;
    if (!mount_small()) { skip(); }
    struct manifest found;
    struct manifest manifest = write_checkpoint(1, SMALL, 1);
    assert_int_equal(store_put_manifest(dir, &manifest, NULL), TN_OK);
    fill_device(0);
    struct manifest other = manifest;
    other.epoch++;
    assert_int_equal(store_put_manifest(dir, &other, NULL), TN_ENOSPC);
    assert_int_equal(store_get_manifest(dir, 1, &found, NULL), TN_OK);
    assert_int_equal(found.epoch, manifest.epoch);
}

/* A read-only device can be read and verified; writing to it is an error. */
static void read_only_device_can_be_read(void **state)
{
    (void)state;
    if (!mount_small()) { skip(); }
    struct error error;
    struct store_metadata metadata;
    struct manifest manifest = write_checkpoint(1, SMALL, 1);
    assert_int_equal(store_put_manifest(dir, &manifest, NULL), TN_OK);
    assert_int_equal(mount("tanist-test", dir, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=1m"), 0);
    assert_int_equal(read_range(&manifest, 0, SMALL, &metadata, NULL), TN_OK);
    struct manifest next = manifest_make(2, SMALL, 1);
    assert_int_equal(write_shard(&next, 0, &error), TN_EIO);
    assert_non_null(strstr(error.text, "Read-only file system"));
    assert_int_equal(store_put_manifest(dir, &manifest, &error), TN_EIO);
    size_t removed;
    assert_int_equal(store_collect(dir, NULL, 0, 9, &removed, &error), TN_EIO);
    assert_int_equal(store_verify(dir, &manifest, 0, NULL, NULL), TN_OK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, unmount_and_remove)
    const struct CMUnitTest tests[] = {
        TEST(killed_writer_leaves_all_or_nothing),
        TEST(failing_disk_is_an_error),
        TEST(full_device_is_an_error),
        TEST(full_device_keeps_the_old_manifest),
        TEST(read_only_device_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
