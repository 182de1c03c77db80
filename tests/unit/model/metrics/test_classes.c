/* Metrics of classes: the figures of scikit-learn 1.9.1 on the same scores. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/metrics/area.h"
#include "model/metrics/classes.h"

enum { ROWS = 10, CLASSES = 3 };

/* In eighths; some are equal. */
static const float scores[ROWS][CLASSES] = {
    {5, 2, 1}, {1, 5, 2}, {2, 2, 4}, {4, 2, 2}, {1, 1, 6},
    {3, 3, 2}, {0, 4, 4}, {2, 5, 1}, {6, 1, 1}, {1, 2, 5},
};
static const uint32_t labels[ROWS] = {0, 1, 2, 1, 2, 0, 2, 0, 0, 1};

static void assert_near(double found, double wanted)
{
    assert_true(fabs(found - wanted) < 1e-12);
}

static struct class_metrics *of_rows(uint32_t top_k, uint32_t rows)
{
    struct class_metrics *metrics = NULL;
    assert_int_equal(class_metrics_open(CLASSES, top_k, &metrics, NULL), TN_OK);
    for (uint32_t i = 0; i < rows; i++) {
        assert_int_equal(class_metrics_add(metrics, scores[i], labels[i], NULL), TN_OK);
    }
    return metrics;
}

/* Means over three classes, and each class against the others. */
static void three_classes_agree_with_scikit_learn(void **state)
{
    (void)state;
    struct class_summary summary;
    struct class_result results[CLASSES];
    struct class_metrics *metrics = of_rows(2, ROWS);
    assert_int_equal(class_metrics_results(metrics, &summary, results, NULL), TN_OK);
    assert_int_equal(summary.rows, ROWS);
    assert_near(summary.accuracy, 0.6);
    assert_near(summary.precision, 0.5833333333333334);
    assert_near(summary.recall, 0.5833333333333334);
    assert_near(summary.f1, 0.5833333333333334);
    assert_near(summary.auc, 0.798611111111111);
    assert_near(summary.top_k, 1); /* 0.9 there: of equal scores, the last class is first. */
    const double precisions[] = {0.75, 1.0 / 3, 2.0 / 3};
    const double areas[] = {0.8958333333333333, 0.5952380952380952, 0.9047619047619049};
    for (uint32_t c = 0; c < CLASSES; c++) {
        assert_near(results[c].precision, precisions[c]);
        assert_near(results[c].auc, areas[c]);
    }
    class_metrics_close(metrics);
}

/* Lines are labels, columns predictions; of equal scores the first class is predicted. */
static void confusion_has_labels_by_predictions(void **state)
{
    (void)state;
    static const uint64_t wanted[CLASSES][CLASSES] = {{3, 1, 0}, {1, 1, 1}, {0, 1, 2}};
    struct class_metrics *metrics = of_rows(1, ROWS);
    assert_true(class_metrics_has_confusion(metrics));
    for (uint32_t label = 0; label < CLASSES; label++) {
        for (uint32_t c = 0; c < CLASSES; c++) {
            assert_int_equal(class_metrics_confusion(metrics, label, c), wanted[label][c]);
        }
    }
    class_metrics_close(metrics);
}

/* The summary of two classes is that of class 1, as scikit-learn's average="binary". */
static void two_classes_report_class_one(void **state)
{
    (void)state;
    static const float ones[] = {0.1F, 0.4F, 0.35F, 0.8F, 0.4F, 0.9F};
    static const uint32_t truth[] = {0, 0, 1, 1, 1, 0};
    struct class_summary summary;
    struct class_result results[2];
    struct class_metrics *metrics = NULL;
    assert_int_equal(class_metrics_open(2, 1, &metrics, NULL), TN_OK);
    for (uint32_t i = 0; i < 6; i++) {
        const float pair[] = {1 - ones[i], ones[i]};
        assert_int_equal(class_metrics_add(metrics, pair, truth[i], NULL), TN_OK);
    }
    assert_int_equal(class_metrics_results(metrics, &summary, results, NULL), TN_OK);
    assert_near(summary.auc, 0.5);
    assert_near(summary.precision, 0.5);
    assert_near(summary.recall, 1.0 / 3);
    assert_near(summary.f1, 0.4);
    class_metrics_close(metrics);
}

/* Classes without examples: no area, and zeros elsewhere. */
static void absent_classes_have_no_area(void **state)
{
    (void)state;
    struct class_summary summary;
    struct class_result results[CLASSES];
    struct class_metrics *metrics = of_rows(1, 1);
    assert_int_equal(class_metrics_results(metrics, &summary, results, NULL), TN_OK);
    assert_true(isnan(summary.auc));
    assert_true(isnan(results[2].auc));
    assert_near(results[2].recall, 0);
    assert_near(summary.accuracy, 1);
    class_metrics_close(metrics);
}

/* A score that is not a number has no place in the order. */
static void area_of_nan_is_nan(void **state)
{
    (void)state;
    struct area_score pairs[] = {{0.5F, true}, {NAN, false}};
    assert_true(isnan(area_under_curve(pairs, 2)));
    pairs[1].score = 0.25F;
    assert_near(area_under_curve(pairs, 2), 1);
    pairs[0].score = pairs[1].score = 0.5F;
    assert_near(area_under_curve(pairs, 2), 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_classes_agree_with_scikit_learn),
        cmocka_unit_test(confusion_has_labels_by_predictions),
        cmocka_unit_test(two_classes_report_class_one),
        cmocka_unit_test(absent_classes_have_no_area),
        cmocka_unit_test(area_of_nan_is_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
