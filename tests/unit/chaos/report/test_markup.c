/* chaos/report/markup.h: text from outside never becomes markup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "chaos/report/markup.h"

/* Characters that XML does not allow are replaced, and quotes cannot end an attribute. */
static void text_is_escaped(void **state)
{
    (void)state;
    struct markup markup = {0};
    markup_text(&markup, "a\x01\"<>&'\n");
    assert_string_equal(markup.at, "a\xef\xbf\xbd&quot;&lt;&gt;&amp;&#39;\n");
    markup_free(&markup);
}

/* Labels and titles escape what they format. */
static void labels_are_escaped(void **state)
{
    (void)state;
    struct markup markup = {0};
    markup_title(&markup, "%s", "<b>");
    markup_label(&markup, "tick", 1, 2.25, "%s", "a&b");
    assert_string_equal(markup.at, "<title>&lt;b&gt;</title>"
                                   "<text class=\"tick\" x=\"1.0\" y=\"2.2\">a&amp;b</text>");
    markup_free(&markup);
}

/* A part that ran out of memory makes the whole fail. */
static void failure_is_passed_on(void **state)
{
    (void)state;
    struct markup whole = {0}, part = {.failed = true};
    markup_join(&whole, &part);
    assert_true(whole.failed);
    markup_free(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(labels_are_escaped),
        cmocka_unit_test(failure_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
