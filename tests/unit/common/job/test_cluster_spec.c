/* TF_CONFIG, and the flags and variables of distributed TensorFlow. */
#include "common/job/cluster_spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct cluster_spec spec;

static void refused(const char *text, const char *expected)
{
    struct error error = {0};
    cluster_spec_init(&spec);
    assert_int_equal(cluster_spec_read_tf_config(&spec, text, &error), TN_EINVAL);
    if (strstr(error.text, expected) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", error.text, expected);
    }
}

/* The list form: a chief is a coordinator; a task listens on its own address. */
static void list_form_is_read(void **state)
{
    (void)state;
    struct error error;
    char listen[TRANSPORT_ADDRESS_MAX];
    cluster_spec_init(&spec);
    assert_int_equal(cluster_spec_read_tf_config(
                         &spec,
                         "{\"cluster\": {\"chief\": [\"a:1\"], \"ps\": [\"b:2\", \"c:3\"],"
                         " \"worker\": [\"d:4\"], \"evaluator\": [\"e:5\"]},"
                         " \"task\": {\"type\": \"ps\", \"index\": 1}}",
                         &error),
                     TN_OK);
    assert_int_equal(spec.count[ROLE_COORDINATOR], 1);
    assert_int_equal(spec.count[ROLE_PS], 2);
    assert_int_equal(spec.count[ROLE_WORKER], 1);
    assert_int_equal(spec.count[ROLE_EVALUATOR], 1);
    assert_int_equal(spec.task.role, ROLE_PS);
    assert_true(cluster_spec_listen(&spec, listen));
    assert_string_equal(listen, "tcp://c:3");
}

/* The object form has explicit indices; the task index may be a text. */
static void object_form_is_read(void **state)
{
    (void)state;
    struct error error;
    cluster_spec_init(&spec);
    assert_int_equal(
        cluster_spec_read_tf_config(&spec,
                                    "{\"cluster\": {\"master\": [\"a:1\"],"
                                    " \"worker\": {\"2\": \"d:4\", \"0\": \"f:6\"}},"
                                    " \"task\": {\"type\": \"worker\", \"index\": \"2\"}}",
                                    &error),
        TN_OK);
    assert_int_equal(spec.count[ROLE_WORKER], 3);
    assert_string_equal(spec.address[cluster_spec_index((struct task){ROLE_WORKER, 0})], "f:6");
    assert_int_equal(spec.task.index, 2);
}

/* As in TensorFlow, the cluster need not name the evaluator; then the job has to. */
static void evaluator_is_a_task(void **state)
{
    (void)state;
    struct error error;
    static struct job job;
    cluster_spec_init(&spec);
    assert_int_equal(
        cluster_spec_read_tf_config(&spec,
                                    "{\"cluster\": {\"chief\": [\"a:1\"], \"worker\": [\"d:4\"]},"
                                    " \"task\": {\"type\": \"evaluator\", \"index\": 0}}",
                                    &error),
        TN_OK);
    assert_int_equal(spec.task.role, ROLE_EVALUATOR);
    job_init(&job);
    assert_int_equal(cluster_spec_apply(&spec, &job, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "set cluster.evaluators to 1"));
    job.cluster.evaluators = 1;
    assert_int_equal(cluster_spec_apply(&spec, &job, &error), TN_OK);
}

/* The error names the wrong part. */
static void wrong_config_is_named(void **state)
{
    (void)state;
    refused("{", "line 1");
    refused("[]", "give {\"cluster\"");
    refused("{\"cluster\": {\"wroker\": []}}", "\"wroker\" is unknown");
    refused("{\"cluster\": {\"worker\": [\"nowhere\"]}}", "give host:port");
    refused("{\"cluster\": {\"worker\": [\"h:0\"]}}", "give host:port");
    refused("{\"cluster\": {\"worker\": {\"x\": \"h:1\"}}}", "not a task index");
    refused("{\"cluster\": {\"worker\": 3}}", "neither a list");
    refused("{\"task\": {\"type\": \"evaluator\", \"index\": 1}}", "from 0 to 0");
    refused("{\"task\": {\"type\": \"worker\", \"index\": -1}}", "task index");
    refused("{\"task\": {}}", "task.type is missing");
}

/* A cluster in which the nodes would wait forever is refused at once. */
static void impossible_cluster_is_refused(void **state)
{
    (void)state;
    refused("{\"cluster\": {\"ps\": [\"b:2\"], \"worker\": [\"d:4\"]}}", "has no chief");
    refused("{\"cluster\": {}}", "has no chief");
    refused(
        "{\"cluster\": {\"chief\": [\"a:1\"], \"ps\": [\"b:2\"], \"worker\": [\"c:3\", \"b:2\"]}}",
        "ps:0 and worker:1 have the same address b:2");
    refused("{\"cluster\": {\"chief\": [\"a:1\"], \"ps\": [\"b:2\"]},"
            " \"task\": {\"type\": \"ps\", \"index\": 1}}",
            "task ps:1 is not in the cluster, which has 1 task");
    refused("{\"cluster\": {\"chief\": [\"a:1\"], \"ps\": [\"b:2\"]},"
            " \"task\": {\"type\": \"worker\", \"index\": 0}}",
            "task worker:0 is not in the cluster, which has 0 tasks");
    refused("{\"cluster\": {\"chief\": [\"a:1\"], \"worker\": {\"0\": \"b:2\", \"2\": \"c:3\"}},"
            " \"task\": {\"type\": \"worker\", \"index\": 1}}",
            "task worker:1 is not in the cluster");
}

/* Flags replace the values of TF_CONFIG, and the job gets the numbers of tasks. */
static void flags_replace_the_config(void **state)
{
    (void)state;
    struct error error;
    struct job job;
    cluster_spec_init(&spec);
    job_init(&job);
    assert_int_equal(cluster_spec_set_hosts(&spec, ROLE_WORKER, "a:1,b:2,c:3", &error), TN_OK);
    assert_int_equal(cluster_spec_set_hosts(&spec, ROLE_WORKER, "a:1", &error), TN_OK);
    assert_int_equal(cluster_spec_set_hosts(&spec, ROLE_PS, "a:1,,b:2", &error), TN_EINVAL);
    cluster_spec_init(&spec);
    assert_int_equal(cluster_spec_set_hosts(&spec, ROLE_PS, "a:1,b:2,c:3", &error), TN_OK);
    assert_int_equal(cluster_spec_set_task(&spec, "ps", "2", &error), TN_OK);
    assert_int_equal(cluster_spec_apply(&spec, &job, &error), TN_OK);
    assert_int_equal(job.cluster.ps, 3);
    assert_int_equal(cluster_spec_set_task(&spec, "worker", "9", &error), TN_OK);
    assert_int_equal(cluster_spec_apply(&spec, &job, &error), TN_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_form_is_read),
        cmocka_unit_test(object_form_is_read),
        cmocka_unit_test(evaluator_is_a_task),
        cmocka_unit_test(wrong_config_is_named),
        cmocka_unit_test(impossible_cluster_is_refused),
        cmocka_unit_test(flags_replace_the_config),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
