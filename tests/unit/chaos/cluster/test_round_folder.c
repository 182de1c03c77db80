/* chaos/cluster/round_folder.h: only the history is kept, and nothing outside is removed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "chaos/cluster/round_folder.h"

/* BASE/round is the folder; BASE/outside must stay as it is. */
struct scene {
    char base[64], round[96];
};

static char *path_in(const struct scene *scene, const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", scene->base, name);
    return path;
}

static void make_file(const struct scene *scene, const char *name)
{
    FILE *file = fopen(path_in(scene, name), "w");
    assert_non_null(file);
    fputs("x", file);
    fclose(file);
}

static void make_folder(const struct scene *scene, const char *name)
{
    assert_int_equal(mkdir(path_in(scene, name), 0700), 0);
}

static bool exists(const struct scene *scene, const char *name)
{
    struct stat info;
    return lstat(path_in(scene, name), &info) == 0;
}

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    snprintf(scene->base, sizeof scene->base, "/tmp/test_chaos_folder.XXXXXX");
    assert_non_null(mkdtemp(scene->base));
    snprintf(scene->round, sizeof scene->round, "%s/round", scene->base);
    make_folder(scene, "round");
    make_folder(scene, "outside");
    make_file(scene, "outside/precious");
    make_file(scene, "round/history.jsonl");
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    static const char *const names[] = {"round/history.jsonl", "outside/precious", "round", "link",
                                        "outside"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)remove(path_in(scene, names[i]));
    }
    assert_int_equal(rmdir(scene->base), 0);
    free(scene);
    return 0;
}

/* All files and folders are removed except the history; one of that name below is removed. */
static void history_is_kept(void **state)
{
    struct scene *scene = *state;
    make_file(scene, "round/run.log");
    make_folder(scene, "round/run");
    make_folder(scene, "round/run/logs");
    make_file(scene, "round/run/logs/ps-0.log");
    make_file(scene, "round/run/history.jsonl");
    folder_keep_history(scene->round);
    assert_false(exists(scene, "round/run"));
    assert_false(exists(scene, "round/run.log"));
    assert_true(exists(scene, "round/history.jsonl"));
}

/* A link is removed, but not its target. */
static void links_are_not_followed(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(symlink("../outside", path_in(scene, "round/folder")), 0);
    assert_int_equal(symlink("../outside/precious", path_in(scene, "round/file")), 0);
    folder_keep_history(scene->round);
    assert_false(exists(scene, "round/folder"));
    assert_false(exists(scene, "round/file"));
    assert_true(exists(scene, "outside/precious"));
}

/* A link that is given as the folder is not followed either. */
static void folder_that_is_a_link_is_ignored(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(symlink("outside", path_in(scene, "link")), 0);
    folder_keep_history(path_in(scene, "link"));
    assert_true(exists(scene, "outside/precious"));
}

/* A missing folder is not an error. */
static void missing_folder_is_ignored(void **state)
{
    struct scene *scene = *state;
    folder_keep_history(path_in(scene, "nowhere"));
    assert_true(exists(scene, "outside/precious"));
}

#define WITH_FOLDERS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDERS(history_is_kept),
        WITH_FOLDERS(links_are_not_followed),
        WITH_FOLDERS(folder_that_is_a_link_is_ignored),
        WITH_FOLDERS(missing_folder_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
