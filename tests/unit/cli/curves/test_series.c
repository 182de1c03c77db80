/* Series of metrics: later values count, annulled steps vanish, thinning keeps extremes. */
#include "cli/curves/series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char dir[64], path[96];
static struct run_series run;

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/tanist-series.XXXXXX");
    if (mkdtemp(dir) == NULL) { return 1; }
    snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
    return 0;
}

static int end(void **state)
{
    (void)state;
    run_series_free(&run);
    unlink(path);
    return rmdir(dir);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static enum tn_status read_metric(const char *metric, struct error *error)
{
    return run_series_read(&run, dir, &metric, 1, error);
}

/* A load annuls the points above its step in all lines before it, and only these. */
static void load_annuls_later_points(void **state)
{
    (void)state;
    struct error error;
    write_file("{\"event\":\"loaded\",\"step\":0}\n"
               "{\"step\":100,\"loss\":4}\n{\"step\":200,\"loss\":3}\n{\"step\":300,\"loss\":2}\n"
               "{\"step\":77\n"
               "{\"event\":\"loaded\",\"step\":200}\n"
               "{\"step\":300,\"loss\":1.5}\n{\"step\":100,\"accuracy\":0.5}\n"
               "{\"event\":\"done\",\"step\":300,\"loss\":9}\n{\"step\":300,\"loss\":1.25}\n");
    assert_int_equal(read_metric("loss", &error), TN_OK);
    const struct series *series = &run.series[0];
    assert_int_equal(series->count, 3);
    assert_true(series->points[0].step == 100 && series->points[0].value == 4);
    assert_true(series->points[1].step == 200 && series->points[1].value == 3);
    assert_true(series->points[2].step == 300 && series->points[2].value == 1.25);
    assert_int_equal(run.mark_count, 1);
    assert_int_equal(run.marks[0], 200);
}

/* A value that arrives late is put at its place. */
static void late_values_are_sorted(void **state)
{
    (void)state;
    struct error error;
    write_file("{\"step\":100,\"loss\":1}\n{\"step\":300,\"loss\":3}\n{\"step\":200,\"loss\":2}\n");
    assert_int_equal(read_metric("loss", &error), TN_OK);
    assert_int_equal(run.series[0].count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(run.series[0].points[i].step == 100 * (i + 1));
        assert_true(run.series[0].points[i].value == (double)(i + 1));
    }
}

/* The error names the metrics that exist. */
static void unknown_metric_is_refused(void **state)
{
    (void)state;
    struct error error;
    write_file("{\"step\":100,\"loss\":1,\"accuracy\":0.5}\n");
    assert_int_equal(read_metric("auc", &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "auc"));
    assert_non_null(strstr(error.text, "loss, accuracy"));
    unlink(path);
    assert_int_equal(read_metric("loss", &error), TN_ENOENT);
    write_file("");
}

/* Few points remain, among them the extremes. */
static void thinning_keeps_extremes(void **state)
{
    (void)state;
    enum { COUNT = 1000, MOST = 20 };
    static struct series_point points[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        points[i] = (struct series_point){.step = i, .value = (double)(i % 7)};
    }
    points[503].value = -5;
    points[777].value = 50;
    const struct series series = {.points = points, .count = COUNT};
    size_t count = 0;
    struct series_point *thin = series_thin(&series, MOST, &count);
    assert_non_null(thin);
    assert_true(count <= MOST);
    bool low = false, high = false;
    for (size_t i = 0; i < count; i++) {
        low = low || thin[i].step == 503;
        high = high || thin[i].step == 777;
        assert_true(i == 0 || thin[i].step > thin[i - 1].step);
    }
    assert_true(low && high);
    free(thin);
    write_file("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(load_annuls_later_points, begin, end),
        cmocka_unit_test_setup_teardown(late_values_are_sorted, begin, end),
        cmocka_unit_test_setup_teardown(unknown_metric_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(thinning_keeps_extremes, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
