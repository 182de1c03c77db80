/* chaos/cluster/cluster_run.h: the environment of a run is the harness's, with some variables
 * set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "chaos/cluster/cluster_run.h"

static struct target_cluster cluster;

static int set_up(void **state)
{
    (void)state;
    cluster = (struct target_cluster){.dir = "/x/round-0001"};
    (void)setenv("TMPDIR", "/ours", 1);
    (void)setenv("TMPDIRECTORY", "/another", 1);
    (void)setenv("LD_PRELOAD", "", 1);
    (void)setenv(MARK_VARIABLE, "of-an-outer-harness", 1);
    return 0;
}

/* The number of entries with this prefix. */
static unsigned count(const struct cluster_run *run, const char *start)
{
    unsigned found = 0;
    for (char **entry = run->environment; *entry != NULL; entry++) {
        found += strncmp(*entry, start, strlen(start)) == 0;
    }
    return found;
}

/* A variable that the harness sets occurs once, with the new value. */
static void variables_are_replaced(void **state)
{
    (void)state;
    struct cluster_run run;
    assert_int_equal(cluster_run_init(&run, &cluster, NULL, "/lib/shim.so", "/x/faults", NULL),
                     TN_OK);
    assert_int_equal(count(&run, "TMPDIR="), 1);
    assert_int_equal(count(&run, "TMPDIR=/x/round-0001/scratch"), 1);
    assert_int_equal(count(&run, FAULTS_VARIABLE "=/x/faults"), 1);
    assert_int_equal(count(&run, "LD_PRELOAD="), 1);
    assert_int_equal(count(&run, "LD_PRELOAD=/lib/shim.so"), 1);
    assert_int_equal(count(&run, MARK_VARIABLE "="), 1);
    assert_int_equal(count(&run, run.mark), 1);
    cluster_run_free(&run);
}

/* Other variables are kept, also one whose name begins with that of a set one. */
static void other_variables_are_kept(void **state)
{
    (void)state;
    struct cluster_run run;
    assert_int_equal(cluster_run_init(&run, &cluster, NULL, NULL, "/x/faults", NULL), TN_OK);
    assert_int_equal(count(&run, "TMPDIRECTORY=/another"), 1);
    assert_int_equal(count(&run, "PATH="), getenv("PATH") != NULL ? 1 : 0);
    cluster_run_free(&run);
}

/* Without a shim LD_PRELOAD is not set, and no empty entry is added. */
static void no_shim_sets_no_preload(void **state)
{
    (void)state;
    struct cluster_run run;
    (void)unsetenv("LD_PRELOAD");
    assert_int_equal(cluster_run_init(&run, &cluster, NULL, NULL, "/x/faults", NULL), TN_OK);
    assert_int_equal(count(&run, "LD_PRELOAD"), 0);
    for (char **entry = run.environment; *entry != NULL; entry++) { assert_true(**entry != '\0'); }
    assert_ptr_equal(cluster.environment, run.environment);
    cluster_run_free(&run);
}

/* No two runs have the same mark, so killing one spares the other. */
static void marks_differ(void **state)
{
    (void)state;
    struct cluster_run a, b;
    assert_int_equal(cluster_run_init(&a, &cluster, NULL, NULL, "", NULL), TN_OK);
    assert_int_equal(cluster_run_init(&b, &cluster, NULL, NULL, "", NULL), TN_OK);
    assert_string_not_equal(a.mark, b.mark);
    assert_int_equal(strlen(a.mark), strlen(MARK_VARIABLE "=") + 32);
    cluster_run_free(&a);
    cluster_run_free(&b);
}

/* A run that was not started has not ended and has no result. */
static void run_that_was_not_started_has_no_result(void **state)
{
    (void)state;
    struct cluster_run run;
    int exit_code = -1;
    assert_int_equal(cluster_run_init(&run, &cluster, NULL, NULL, "", NULL), TN_OK);
    assert_false(cluster_run_ended(&run, &exit_code));
    assert_null(cluster_run_result(&run));
    cluster_run_free(&run);
}

#define WITH_VARIABLES(test) cmocka_unit_test_setup(test, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_VARIABLES(variables_are_replaced),
        WITH_VARIABLES(other_variables_are_kept),
        WITH_VARIABLES(no_shim_sets_no_preload),
        WITH_VARIABLES(marks_differ),
        WITH_VARIABLES(run_that_was_not_started_has_no_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
