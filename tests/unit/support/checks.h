/* tests/unit/support/checks.h: histories for tests of the checks of a verdict, and assertions on
 * the name, the result and the stated values of a check. */
#ifndef TESTS_UNIT_SUPPORT_CHECKS_H
#define TESTS_UNIT_SUPPORT_CHECKS_H

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <jansson.h>

/* A new reference of the JSON in `text`, which has ' for ". */
static inline json_t *parse_quoted(const char *text)
{
    char copy[4096];
    assert_true(strlen(text) < sizeof copy);
    (void)snprintf(copy, sizeof copy, "%s", text);
    for (char *at = copy; *at != '\0'; at++) {
        if (*at == '\'') { *at = '"'; }
    }
    json_t *json = json_loads(copy, 0, NULL);
    assert_non_null(json);
    return json;
}

/* Whether `text` contains `value`, not as a part of a longer number or word. */
static inline bool check_states(const char *text, const char *value)
{
    size_t length = strlen(value);
    for (const char *at = text; (at = strstr(at, value)) != NULL; at++) {
        bool begins = at == text || !isalnum((unsigned char)at[-1]);
        if (begins && !isalnum((unsigned char)at[length])) { return true; }
    }
    return false;
}

/*
 * The check `name` passed ("+") or failed ("-"), and its text states each of the values that follow
 * in `want`, separated by "|": "-ps:0|214". The sentence around the values is not tested. Takes
 * the reference of `checks`.
 */
static inline void assert_check(json_t *checks, const char *name, const char *want)
{
    char values[256], *rest = NULL;
    const json_t *found = NULL, *check;
    size_t i;
    json_array_foreach(checks, i, check)
    {
        if (strcmp(json_string_value(json_object_get(check, "name")), name) == 0) { found = check; }
    }
    assert_non_null(found);
    const char *text = json_string_value(json_object_get(found, "text"));
    if (json_is_true(json_object_get(found, "ok")) != (want[0] == '+')) {
        fail_msg("%s must %s: %s", name, want[0] == '+' ? "pass" : "fail", text);
    }
    assert_in_range(snprintf(values, sizeof values, "%s", want + 1), 0, sizeof values - 1);
    for (char *value = strtok_r(values, "|", &rest); value != NULL;
         value = strtok_r(NULL, "|", &rest)) {
        if (!check_states(text, value)) { fail_msg("%s: \"%s\" is not in: %s", name, value, text); }
    }
    json_decref(checks);
}

#endif
