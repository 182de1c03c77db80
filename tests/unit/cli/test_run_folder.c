/* The folder of a run while another agent moves it aside. The linker replaces fcntl(), so that the
 * tests act between open() and the lock. */
#include "cli/run_folder.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct stage {
    char parent[64], dir[96];
    struct job job;
    struct run_folder other;                  /* The folder of the other agent. */
    void (*before_lock)(struct stage *stage); /* Called once. */
};

static struct stage *current;

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (command == F_OFD_SETLK && current->before_lock != NULL) {
        void (*act)(struct stage *) = current->before_lock;
        current->before_lock = NULL;
        act(current);
    }
    return __real_fcntl(fd, command, argument);
}

static enum tn_status open_folder(struct stage *stage, struct run_folder *folder,
                                  struct error *error)
{
    return run_folder_open(folder, stage->dir, &stage->job, false, false, error);
}

/* A folder that holds a finished run. */
static int make_stage(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);
    struct run_folder folder;
    struct error error;
    assert_non_null(stage);
    *state = current = stage;
    (void)snprintf(stage->parent, sizeof stage->parent, "/tmp/tanist-folder-XXXXXX");
    assert_non_null(mkdtemp(stage->parent));
    (void)snprintf(stage->dir, sizeof stage->dir, "%s/run", stage->parent);
    job_init(&stage->job);
    (void)snprintf(stage->job.name, sizeof stage->job.name, "test");
    stage->other.lock = -1;
    assert_int_equal(open_folder(stage, &folder, &error), TN_OK);
    assert_int_equal(run_folder_finish(&folder, "{}", &error), TN_OK);
    run_folder_close(&folder);
    return 0;
}

static int remove_stage(void **state)
{
    struct stage *stage = *state;
    char command[128];
    run_folder_close(&stage->other);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", stage->parent);
    free(stage);
    return system(command);
}

static void other_moves_aside(struct stage *stage)
{
    struct error error;
    assert_int_equal(open_folder(stage, &stage->other, &error), TN_OK);
}

static void other_moves_aside_and_ends(struct stage *stage)
{
    struct error error;
    other_moves_aside(stage);
    assert_int_equal(run_folder_finish(&stage->other, "{}", &error), TN_OK);
    run_folder_close(&stage->other);
}

/* The lock of a folder that was moved aside is not the lock of the new one. */
static void folder_is_locked_once_while_it_is_moved_aside(void **state)
{
    struct stage *stage = *state;
    struct run_folder folder;
    struct error error;
    stage->before_lock = other_moves_aside;
    assert_int_equal(open_folder(stage, &folder, &error), TN_EEXIST);
    assert_non_null(strstr(error.text, "in use by another tanist"));
    assert_true(run_folder_in_use(stage->dir));
}

/* A run that ends in the new folder before it is locked is moved aside, too. */
static void every_finished_run_is_moved_aside(void **state)
{
    struct stage *stage = *state;
    struct run_folder folder;
    struct error error;
    stage->before_lock = other_moves_aside_and_ends;
    assert_int_equal(open_folder(stage, &folder, &error), TN_OK);
    assert_false(run_folder_has_result(stage->dir));
    assert_true(run_folder_in_use(stage->dir));
    run_folder_close(&folder);
    assert_false(run_folder_in_use(stage->dir));
}

static void other_ends(struct stage *stage)
{
    run_folder_close(&stage->other);
}

/* Its pid is one that no process has, as if a process that it was starting had the lock. */
static void other_is_killed(struct stage *stage)
{
    char path[128];
    other_moves_aside(stage);
    (void)snprintf(path, sizeof path, "%s/lock", stage->dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "%d\n", INT_MAX) > 0);
    assert_int_equal(fclose(file), 0);
    stage->before_lock = other_ends;
}

/* The lock of an agent that was killed may outlive it for a moment. */
static void a_lock_whose_holder_has_ended_is_awaited(void **state)
{
    struct stage *stage = *state;
    struct run_folder folder;
    struct error error;
    struct run_folder *other = &stage->other;
    assert_int_equal(open_folder(stage, other, &error), TN_OK);
    run_folder_close(other);
    stage->before_lock = other_is_killed;
    assert_int_equal(open_folder(stage, &folder, &error), TN_OK);
    assert_null(stage->before_lock);
    run_folder_close(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(folder_is_locked_once_while_it_is_moved_aside, make_stage,
                                        remove_stage),
        cmocka_unit_test_setup_teardown(every_finished_run_is_moved_aside, make_stage,
                                        remove_stage),
        cmocka_unit_test_setup_teardown(a_lock_whose_holder_has_ended_is_awaited, make_stage,
                                        remove_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
