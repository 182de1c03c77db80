/* The checks of `tanist chaos attack`, on good and on bad histories. */
#include "chaos/attack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* A chief is killed, another one is elected, training continues. */
static const char good[] =
    "[{'kind':'planned','t_ms':0,'id':1,'fault':'kill','selector':'chief','for_ms':0},"
    "{'kind':'chief','t_ms':1,'component':'coordinator:0','epoch':4},"
    "{'kind':'step','t_ms':2,'step':100,'generation':2,'phase':'running'},"
    "{'kind':'fault','t_ms':10,'id':1,'fault':'kill','selector':'chief'},"
    "{'kind':'chief','t_ms':20,'component':'coordinator:1','epoch':5},"
    "{'kind':'step','t_ms':30,'step':110,'generation':2,'phase':'running'},"
    "{'kind':'step','t_ms':900,'step':500,'generation':2,'phase':'running'},"
    "{'kind':'end','t_ms':901}]";

/* The history with `from` replaced by `to`; as JSON. */
static json_t *history_with(const char *from, const char *to)
{
    char text[2 * sizeof good];
    const char *at = from != NULL ? strstr(good, from) : good;
    assert_non_null(at);
    int length = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good,
                          from != NULL ? to : "", at + (from != NULL ? strlen(from) : 0));
    assert_in_range(length, 1, sizeof text - 1);
    for (char *quote = text; (quote = strchr(quote, '\'')) != NULL;) { *quote = '"'; }
    json_t *lines = json_loads(text, 0, NULL);
    assert_non_null(lines);
    return lines;
}

/* The name of the only check that fails; "": none fails, "?": several do. */
static const char *failed_check(const char *from, const char *to)
{
    static char name[32];
    json_t *lines = history_with(from, to), *verdict = attack_judge(lines, 1000);
    size_t i;
    const json_t *check;
    name[0] = '\0';
    json_array_foreach(json_object_get(verdict, "checks"), i, check)
    {
        if (json_is_true(json_object_get(check, "ok"))) { continue; }
        snprintf(name, sizeof name, "%s",
                 *name ? "?" : json_string_value(json_object_get(check, "name")));
    }
    assert_int_equal(json_is_true(json_object_get(verdict, "ok")), *name == '\0');
    json_decref(verdict);
    json_decref(lines);
    return name;
}

/* A history without errors passes. */
static void good_history_passes(void **state)
{
    (void)state;
    assert_string_equal(failed_check(NULL, NULL), "");
    assert_string_equal(
        failed_check("500,'generation':2,'phase':'running'", "500,'generation':3,'phase':'done'"),
        "");
}

/* An epoch is not higher than all before. */
static void repeated_epoch_fails(void **state)
{
    (void)state;
    assert_string_equal(failed_check("'epoch':5", "'epoch':4"), "epochs");
    assert_string_equal(failed_check("'epoch':5", "'epoch':3"), "epochs");
}

/* A generation decreases. */
static void decreasing_generation_fails(void **state)
{
    (void)state;
    assert_string_equal(failed_check("500,'generation':2", "500,'generation':1"), "generations");
}

/* Training stands still for longer than the bound. */
static void late_recovery_fails(void **state)
{
    (void)state;
    assert_string_equal(failed_check("'t_ms':900", "'t_ms':2900"), "recovery");
}

/* The cluster is paused at the end. */
static void paused_end_fails(void **state)
{
    (void)state;
    assert_string_equal(
        failed_check("500,'generation':2,'phase':'running'", "500,'generation':2,'phase':'paused'"),
        "alive");
}

/* No fault was injected. */
static void history_without_faults_fails(void **state)
{
    (void)state;
    assert_string_equal(failed_check("{'kind':'fault'", "{'kind':'skipped','text':'no agent'"),
                        "faults");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_history_passes),
        cmocka_unit_test(repeated_epoch_fails),
        cmocka_unit_test(decreasing_generation_fails),
        cmocka_unit_test(late_recovery_fails),
        cmocka_unit_test(paused_end_fails),
        cmocka_unit_test(history_without_faults_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
