/* The JSON of znodes: all decoders refuse the same texts, with errors that name the znode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cluster/znode_codec.h"

struct record {
    uint32_t count;
};

static const struct json_field fields[] = {
    {.name = "version", .type = FIELD_OTHER},
    {"count", FIELD_UINT, JSON_MEMBER(struct record, count), .most = 9},
};
static const struct json_table table = {
    JSON_FIELDS(fields),
    .rules = JSON_ALL_REQUIRED,
    .status = TN_ECORRUPT,
};

/* A record survives encoding; its text has the version of the format. */
static void text_comes_back(void **state)
{
    (void)state;
    char text[ZNODE_JSON_MAX];
    const struct record in = {.count = 7};
    struct record out = {0};
    const size_t size = znode_encode(&table, &in, text);
    assert_string_equal(text, "{\"count\":7,\"version\":1}");
    assert_int_equal(size, strlen(text));
    assert_int_equal(znode_decode(&table, "/x", text, size, &out, NULL), TN_OK);
    assert_int_equal(out.count, 7);
}

/* An error names the znode and what is wrong, without characters that control a terminal. The
 * status is the same if the caller wants no error. */
static void wrong_text_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"", "/x: not JSON: empty"},
        {"{\"version\": 1, \x1b[2J}", "/x: not JSON"},
        {"[]", "/x: version is 0"},
        {"{\"version\":2,\"count\":7}", "/x: version is 2, this program reads 1"},
        {"{\"version\":\"1\",\"count\":7}", "/x: version is 0"},
        {"{\"version\":1,\"count\":7,\"count\":8}", "/x: not JSON: duplicate object key"},
        {"{\"version\":1}", "count"},
        {"{\"version\":1,\"count\":10}", "count"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct record out = {0};
        struct error error = {0};
        const char *text = wrong[i][0];
        assert_int_equal(znode_decode(&table, "/x", text, strlen(text), &out, &error), TN_ECORRUPT);
        assert_non_null(strstr(error.text, wrong[i][1]));
        assert_null(strchr(error.text, '\x1b'));
        assert_int_equal(znode_decode(&table, "/x", text, strlen(text), &out, NULL), TN_ECORRUPT);
    }
}

/* The JSON belongs to the caller, also if a value is wrong. */
static void object_is_kept(void **state)
{
    (void)state;
    static const char text[] = "{\"version\":1,\"count\":10,\"more\":true}";
    struct record out = {0};
    json_t *object = NULL;
    assert_int_equal(znode_decode_object(&table, "/x", text, strlen(text), &out, &object, NULL),
                     TN_ECORRUPT);
    assert_true(json_is_true(json_object_get(object, "more")));
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_comes_back),
        cmocka_unit_test(wrong_text_is_refused),
        cmocka_unit_test(object_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
