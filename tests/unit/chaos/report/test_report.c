/* A report of a golden history: what its JSON says, and that nothing of a history becomes markup.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "chaos/history/history.h"
#include "chaos/history/json_member.h"
#include "chaos/history/recovery.h"
#include "chaos/report/report.h"
#include "chaos/report/report_private.h"
#include "common/base/files.h"

static const char *const golden = "tests/unit/chaos/history/golden_history.jsonl";

struct fixture {
    char dir[64];
    json_t *json;
    char *html;
};

static int write_golden(void **state)
{
    static struct fixture fixture;
    struct error error;
    char path[128];
    size_t size;
    const char *const histories[] = {golden, "tests/unit/chaos/history/missing.jsonl"};
    strcpy(fixture.dir, "/tmp/tanist-report.XXXXXX");
    if (mkdtemp(fixture.dir) == NULL) { return -1; }
    if (report_write(fixture.dir, histories, 2, &error) != TN_OK) { return -1; }
    snprintf(path, sizeof path, "%s/report.json", fixture.dir);
    fixture.json = json_load_file(path, 0, NULL);
    snprintf(path, sizeof path, "%s/report.html", fixture.dir);
    *state = &fixture;
    return files_read(path, 1 << 24, &fixture.html, &size, &error) == TN_OK ? 0 : -1;
}

static int remove_golden(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/report.json", fixture->dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/report.html", fixture->dir);
    unlink(path);
    rmdir(fixture->dir);
    json_decref(fixture->json);
    free(fixture->html);
    return 0;
}

static const json_t *campaign_of(const struct fixture *fixture)
{
    return json_object_get(fixture->json, "campaign");
}

/* Sums over rounds; a round whose history is missing has failed. */
static void test_sums(void **state)
{
    const struct fixture *fixture = *state;
    const json_t *campaign = campaign_of(fixture);
    assert_int_equal(json_member_integer(fixture->json, "version", 0), 1);
    assert_int_equal(json_member_integer(campaign, "rounds", 0), 2);
    assert_int_equal(json_member_integer(campaign, "passed", 0), 1);
    assert_int_equal(json_member_integer(campaign, "failed", 0), 1);
    assert_int_equal(json_member_integer(campaign, "faults", 0), 4);
    assert_int_equal(json_member_integer(campaign, "skipped", 0), 1);
    assert_int_equal(json_array_size(json_object_get(fixture->json, "recoveries")), 3);
    assert_string_equal(json_member_text(campaign, "plan", ""), "kill-chief");
}

/* Faults are counted by kind, and by the failpoint or else the phase in which they struck. */
static void test_moments(void **state)
{
    const json_t *campaign = campaign_of(*state);
    const json_t *kinds = json_object_get(campaign, "faults_by_kind");
    const json_t *moments = json_object_get(campaign, "faults_by_moment");
    const json_t *at = json_object_get(json_object_get(campaign, "faults_at"), "kill");
    assert_int_equal(json_member_integer(kinds, "kill", 0), 3);
    assert_int_equal(json_member_integer(kinds, "freeze", 0), 1);
    assert_int_equal(json_member_integer(moments, "running", 0), 3);
    assert_int_equal(json_member_integer(moments, "ckpt.before_sync", 0), 1);
    assert_int_equal(json_member_integer(at, "running", 0), 2);
}

/* The digest of each sync round is compared with the calm run's. */
static void test_digests(void **state)
{
    const json_t *digest = json_object_get(campaign_of(*state), "digest");
    assert_string_equal(json_member_text(digest, "calm", ""), "aa");
    assert_int_equal(json_member_integer(digest, "equal", 0), 1);
}

/* Failovers have percentiles of their own. */
static void test_failovers(void **state)
{
    const struct fixture *fixture = *state;
    const json_t *percentiles = json_object_get(fixture->json, "percentiles");
    const json_t *kill = json_object_get(json_object_get(percentiles, "failover"), "kill chief");
    assert_int_equal(json_member_integer(kill, "count", 0), 1);
    assert_float_equal(json_member_number(kill, "p99", 0), 45, 0.001);
}

/* Names, texts and plans of a history are words on the page, never markup. */
static void test_nothing_is_markup(void **state)
{
    const struct fixture *fixture = *state;
    assert_null(strstr(fixture->html, "<script>alert"));
    assert_null(strstr(fixture->html, "<b>bold"));
    assert_null(strstr(fixture->html, "<aa>"));
    assert_non_null(strstr(fixture->html, "&lt;script&gt;alert(1)"));
    assert_non_null(strstr(fixture->html, "SIGKILL to coordinator:0 &lt;&amp;&gt; &#39;x&#39;"));
}

/* The page asks for nothing but itself. */
static void test_it_is_one_file(void **state)
{
    const struct fixture *fixture = *state;
    assert_null(strstr(fixture->html, "http:"));
    assert_null(strstr(fixture->html, "https:"));
    assert_null(strstr(fixture->html, "src="));
    assert_null(strstr(fixture->html, "@import"));
    assert_null(strstr(fixture->html, "<link"));
}

/* No history at all is an error, not an empty report. */
static void test_no_history(void **state)
{
    (void)state;
    struct error error;
    assert_int_equal(report_write("/tmp", NULL, 0, &error), TN_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_digests),
        cmocka_unit_test(test_failovers),
        cmocka_unit_test(test_nothing_is_markup),
        cmocka_unit_test(test_it_is_one_file),
        cmocka_unit_test(test_no_history),
    };
    return cmocka_run_group_tests(tests, write_golden, remove_golden);
}
