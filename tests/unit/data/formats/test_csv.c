/* The grammar of CSV: quotes, line ends, and problems. */
#include "data/formats/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct csv_text text_of(const char *text)
{
    return (struct csv_text){(const uint8_t *)text, strlen(text), ','};
}

/* The values of `text`, each in brackets, each record behind a bar. */
static const char *parsed(const char *source)
{
    static char out[256];
    const struct csv_text text = text_of(source);
    size_t used = 0;
    for (size_t at = 0; at < text.size;) {
        const char *problem;
        const size_t end = csv_record_end(&text, at, &problem);
        if (problem != NULL) { return problem; }
        out[used++] = '|';
        for (bool last = false; !last;) {
            const struct csv_value value = csv_value_at(&text, at);
            assert_null(value.problem);
            out[used++] = '[';
            used += csv_unquote(&value, (uint8_t *)out + used);
            out[used++] = ']';
            at = value.next;
            last = value.last;
        }
        assert_int_equal(at, end);
    }
    out[used] = '\0';
    return out;
}

static void test_values_and_records(void **state)
{
    static const char *const cases[][2] = {
        {"a,b\n1,2\n", "|[a][b]|[1][2]"},
        {"a,b\r\n1,2\r\n", "|[a][b]|[1][2]"},
        {"a,b\n1,2", "|[a][b]|[1][2]"},
        {"a,\n,b\n", "|[a][]|[][b]"},
        {"a,", "|[a][]"},
        {"\n", "|[]"},
        {"\"a,b\",\"c\"\"d\"\n", "|[a,b][c\"d]"},
        {"\"a\nb\r\nc\",d\r\ne,f\n", "|[a\nb\r\nc][d]|[e][f]"},
        {"\"\",\"\"\"\"\n", "|[][\"]"},
        {"\"a\"", "|[a]"},
        {"\"a\"\r\n\"b\"", "|[a]|[b]"},
        {"a\rb,c\n", "|[a\rb][c]"},
        {"a b ,\tc\n", "|[a b ][\tc]"},
        {"a,b\r", "|[a][b\r]"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(parsed(cases[i][0]), cases[i][1]);
    }
}

static void test_problems_are_found(void **state)
{
    static const char *const cases[][2] = {
        {"a,\"b\n", "a quote is not closed"},
        {"\"", "a quote is not closed"},
        {"\"a\"b,c\n", "a closing quote is followed by"},
        {"\"a\" ,c\n", "a closing quote is followed by"},
        {"\"a\"\r,c\n", "a closing quote is followed by"},
        {"a,5\"\n", "a quote is inside of a value"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = parsed(cases[i][0]);
        assert_memory_equal(found, cases[i][1], strlen(cases[i][1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_and_records),
        cmocka_unit_test(test_problems_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
