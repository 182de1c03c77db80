/* The record of a run takes the place of its ZooKeeper when that has ended. */
#include "cli/inspect/recorded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

struct folder {
    char path[64], record[96];
};

/* The folder of a run without an agent. */
static int make_folder(void **state)
{
    const struct run run = {.phase = RUN_DONE};
    struct error error = {0};
    struct folder *folder = calloc(1, sizeof *folder);
    *state = folder;
    if (folder == NULL) { return -1; }
    (void)snprintf(folder->path, sizeof folder->path, "/tmp/tanist-recorded-XXXXXX");
    if (mkdtemp(folder->path) == NULL) { return -1; }
    (void)snprintf(folder->record, sizeof folder->record, "%s/record.json", folder->path);
    return run_record_write_run(folder->path, &run, 300, &error) == TN_OK ? 0 : -1;
}

static int remove_folder(void **state)
{
    struct folder *folder = *state;
    (void)unlink(folder->record);
    const int result = rmdir(folder->path);
    free(folder);
    return result;
}

static enum tn_status read_after(const struct folder *folder, enum tn_status status)
{
    const struct target_options given = {.dir = folder->path};
    struct error error = {.status = status, .text = "cause"};
    struct run_record *record = calloc(1, sizeof *record);
    assert_non_null(record);
    const enum tn_status found = recorded_read(&given, status, record, &error);
    if (found == TN_OK) {
        assert_int_equal(record->run.phase, RUN_DONE);
        assert_int_equal(record->step, 300);
    } else {
        assert_string_equal(error.text, "cause");
    }
    free(record);
    return found;
}

/* ZooKeeper had ended before the command connected, or ended while the command read from it. */
static void the_end_of_zookeeper_leads_to_the_record(void **state)
{
    static const enum tn_status ends[] = {TN_EUNHEALTHY, TN_ECONNECT, TN_ETIMEDOUT, TN_EEXPIRED};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        assert_int_equal(read_after(*state, ends[i]), TN_OK);
    }
}

/* Another error is not hidden by the record. */
static void other_errors_remain(void **state)
{
    static const enum tn_status others[] = {TN_EINVAL, TN_ECORRUPT, TN_ENOMEM};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(read_after(*state, others[i]), others[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_end_of_zookeeper_leads_to_the_record, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(other_errors_remain, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
