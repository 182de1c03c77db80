/* Limits of control groups, read from folders that look like those of the kernel. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/base/cgroup.h"
#include "common/base/files.h"

static char root[] = "/tmp/tanist-cgroup-XXXXXX";

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) == NULL;
}

static int remove_root(void **state)
{
    (void)state;
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command) != 0; /* NOLINT(cert-env33-c) */
}

static const char *in_root(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

/* A file of a group, and the folders above it. */
static void write_file(const char *group, const char *name, const char *text)
{
    char path[PATH_MAX];
    assert_int_equal(files_make_folders(in_root(group), NULL), TN_OK);
    snprintf(path, sizeof path, "%s/%s/%s", root, group, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static void check(const char *membership, uint64_t memory_bytes, uint32_t processors)
{
    struct cgroup_limits limits;
    char path[PATH_MAX];
    write_file(".", "membership", membership);
    snprintf(path, sizeof path, "%s/membership", root);
    cgroup_limits_of(path, root, &limits);
    assert_int_equal(limits.memory_bytes, memory_bytes);
    assert_int_equal(limits.processors, processors);
}

static void nothing_limits(void **state)
{
    (void)state;
    struct cgroup_limits limits = {.memory_bytes = 1, .processors = 1};
    cgroup_limits_of(in_root("no such file"), root, &limits);
    assert_int_equal(limits.memory_bytes, 0);
    assert_int_equal(limits.processors, 0);
    check("", 0, 0);
    check("0::/\n", 0, 0);
    check("0\n0:\n::\nmemory\n\n", 0, 0);
    check("0::/no/such/group\n", 0, 0);
}

static void version_2(void **state)
{
    (void)state;
    write_file("two/job", "memory.max", "max\n");
    write_file("two/job", "cpu.max", "max 100000\n");
    check("0::/two/job\n", 0, 0);
    write_file("two/job", "memory.max", "4194304\n");
    write_file("two/job", "cpu.max", "250000 100000\n");
    check("0::/two/job\n", 4194304, 2);
    /* Groups inside are limited, too, but not the one around it. */
    check("0::/two/job/inner\n", 4194304, 2);
    check("0::/two\n", 0, 0);
    write_file("two/job/inner", "memory.max", "8388608\n");
    write_file("two/job/inner", "cpu.max", "50000 100000\n");
    check("0::/two/job/inner\n", 4194304, 1);
    write_file("two", "memory.max", "2097152");
    check("0::/two/job/inner\n", 2097152, 1);
    write_file("two/job/inner", "cpu.max", "garbage");
    write_file("two/job", "cpu.max", "100000 0\n");
    check("0::/two/job/inner\n", 2097152, 0);
}

static void version_1(void **state)
{
    (void)state;
    write_file("memory/a/b", "memory.limit_in_bytes", "1048576\n");
    write_file("cpu/c", "cpu.cfs_quota_us", "-1\n");
    write_file("cpu/c", "cpu.cfs_period_us", "100000\n");
    check("4:memory:/a/b\n3:cpuset:/x\n2:cpu,cpuacct:/c\n0::/\n", 1048576, 0);
    write_file("cpu/c", "cpu.cfs_quota_us", "400000\n");
    check("4:memory:/a/b\n3:cpuset:/x\n2:cpu,cpuacct:/c\n0::/\n", 1048576, 4);
    check("3:cpuset:/a/b\n2:cpuacct:/c\n", 0, 0);
}

/* A container without a name space of groups sees its own one at the root of the hierarchy. */
static void path_of_the_host(void **state)
{
    (void)state;
    write_file("memory", "memory.limit_in_bytes", "524288\n");
    write_file("unified", "cpu.max", "300000 100000\n");
    check("4:memory:/docker/0123\n0::/docker/0123\n", 524288, 3);
}

static void own_groups_can_be_read(void **state)
{
    (void)state;
    struct cgroup_limits limits = {.processors = UINT32_MAX};
    cgroup_limits_read(&limits);
    assert_true(limits.processors < UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_limits),
        cmocka_unit_test(version_2),
        cmocka_unit_test(version_1),
        cmocka_unit_test(path_of_the_host),
        cmocka_unit_test(own_groups_can_be_read),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
