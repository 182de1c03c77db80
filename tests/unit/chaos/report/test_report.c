/*
 * The report of a campaign of two rounds: the golden history, and one that is missing. report.json
 * is compared with golden_report.json; to rewrite that file from the report:
 *
 *     TANIST_REWRITE_GOLDEN=1 ctest --test-dir build -R chaos_report_report
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

#include "chaos/history/json_member.h"
#include "chaos/report/report.h"
#include "common/base/files.h"

enum { FILE_MAX = 1 << 24 };
static const char *const golden = "tests/unit/chaos/report/golden_report.json";

struct fixture {
    char dir[64], json_path[128], html_path[128];
    char *json_text, *html;
    json_t *json;
};

static char *text_of(const char *path)
{
    struct error error;
    char *text = NULL;
    size_t size;
    return files_read(path, FILE_MAX, &text, &size, &error) == TN_OK ? text : NULL;
}

static int write_report(void **state)
{
    static struct fixture fixture;
    static const char *const histories[] = {"tests/unit/chaos/history/golden_history.jsonl",
                                            "tests/unit/chaos/history/missing.jsonl"};
    struct error error;
    *state = &fixture;
    strcpy(fixture.dir, "/tmp/tanist-report.XXXXXX");
    if (mkdtemp(fixture.dir) == NULL) { return -1; }
    if (report_write(fixture.dir, histories, 2, &error) != TN_OK) { return -1; }
    snprintf(fixture.json_path, sizeof fixture.json_path, "%s/report.json", fixture.dir);
    snprintf(fixture.html_path, sizeof fixture.html_path, "%s/report.html", fixture.dir);
    fixture.json_text = text_of(fixture.json_path);
    fixture.html = text_of(fixture.html_path);
    fixture.json = json_loads(fixture.json_text, 0, NULL);
    return fixture.json != NULL && fixture.html != NULL ? 0 : -1;
}

static int remove_report(void **state)
{
    struct fixture *fixture = *state;
    unlink(fixture->json_path);
    unlink(fixture->html_path);
    rmdir(fixture->dir);
    json_decref(fixture->json);
    free(fixture->json_text);
    free(fixture->html);
    return 0;
}

static const json_t *campaign_of(const struct fixture *fixture)
{
    return json_object_get(fixture->json, "campaign");
}

/* All of report.json is as it was when it was last reviewed. */
static void json_equals_the_golden_file(void **state)
{
    const struct fixture *fixture = *state;
    struct error error;
    if (getenv("TANIST_REWRITE_GOLDEN") != NULL) {
        size_t size = strlen(fixture->json_text);
        assert_int_equal(files_write_atomic(golden, fixture->json_text, size, &error), TN_OK);
    }
    char *expected = text_of(golden);
    assert_non_null(expected);
    if (strcmp(fixture->json_text, expected) != 0) {
        fail_msg(
            "report.json differs from %s: if it is right, rewrite with TANIST_REWRITE_GOLDEN=1",
            golden);
    }
    free(expected);
}

/* Sums are over all rounds; a round whose history is missing has failed. */
static void missing_history_is_a_failed_round(void **state)
{
    const json_t *campaign = campaign_of(*state);
    assert_int_equal(json_member_integer(campaign, "rounds", 0), 2);
    assert_int_equal(json_member_integer(campaign, "passed", 0), 1);
    assert_int_equal(json_member_integer(campaign, "failed", 0), 1);
}

/* Faults are counted by kind, and by the failpoint or else the phase at which they were
 * injected. */
static void faults_are_counted_by_kind_and_moment(void **state)
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

/* The digest of each sync round is compared with that of the baseline run. */
static void digests_are_compared(void **state)
{
    const json_t *digest = json_object_get(campaign_of(*state), "digest");
    assert_string_equal(json_member_text(digest, "baseline", ""), "aa");
    assert_int_equal(json_member_integer(digest, "equal", 0), 1);
}

/* Names, texts and plans of a history are text on the page, never markup. */
static void history_never_becomes_markup(void **state)
{
    const struct fixture *fixture = *state;
    assert_null(strstr(fixture->html, "<script>alert"));
    assert_null(strstr(fixture->html, "<b>bold"));
    assert_null(strstr(fixture->html, "<aa>"));
    assert_non_null(strstr(fixture->html, "&lt;script&gt;alert(1)"));
    assert_non_null(strstr(fixture->html, "SIGKILL to coordinator:0 &lt;&amp;&gt; &#39;x&#39;"));
}

/* The page loads nothing. */
static void page_is_one_file(void **state)
{
    const struct fixture *fixture = *state;
    assert_null(strstr(fixture->html, "http:"));
    assert_null(strstr(fixture->html, "https:"));
    assert_null(strstr(fixture->html, "src="));
    assert_null(strstr(fixture->html, "@import"));
    assert_null(strstr(fixture->html, "<link"));
}

/* A campaign without a history is an error, not an empty report. */
static void no_history_is_an_error(void **state)
{
    (void)state;
    struct error error;
    assert_int_equal(report_write("/tmp", NULL, 0, &error), TN_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_equals_the_golden_file),
        cmocka_unit_test(missing_history_is_a_failed_round),
        cmocka_unit_test(faults_are_counted_by_kind_and_moment),
        cmocka_unit_test(digests_are_compared),
        cmocka_unit_test(history_never_becomes_markup),
        cmocka_unit_test(page_is_one_file),
        cmocka_unit_test(no_history_is_an_error),
    };
    return cmocka_run_group_tests(tests, write_report, remove_report);
}
