/* The codec: every type there and back, every wrong value refused by name with its remedy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_codec.h"
#include "common/base/minmax.h"

enum color { RED, GREEN };

struct inner {
    uint32_t weight;
};

struct record {
    uint16_t small;
    uint32_t middle;
    uint64_t large, limit;
    double real;
    bool flag;
    char text[8], choice[8];
    enum color color;
    uint64_t hash, digest[2];
    uint32_t list_length;
    uint16_t list[3];
    struct inner inner;
    uint32_t inners_length;
    struct inner inners[2];
    char letter;
};

static json_t *build_letter(const void *member)
{
    return json_stringn(member, 1);
}

static bool read_letter(const json_t *value, void *member)
{
    if (json_string_length(value) != 1) { return false; }
    *(char *)member = json_string_value(value)[0];
    return true;
}

static const struct json_converter letter = {build_letter, read_letter, "one letter"};
static const char *const colors[] = {"red", "green", NULL};
static const struct json_field inner_fields[] = {
    {"weight", FIELD_UINT, JSON_MEMBER(struct inner, weight), .least = 1, .most = 9},
};
static const struct json_table inner_table = {
    JSON_FIELDS(inner_fields),
    .rules = JSON_ALL_REQUIRED,
    .status = TN_ECORRUPT,
};
static const struct json_field number = {
    .type = FIELD_UINT,
    .size = sizeof(uint16_t),
    .none = "null",
};
static const struct json_field inner_element = {
    .type = FIELD_OBJECT,
    .size = sizeof(struct inner),
    .table = &inner_table,
};

#define AT(member) JSON_MEMBER(struct record, member)
static const struct json_field fields[] = {
    {"small", FIELD_UINT, AT(small)},
    {"section.middle", FIELD_UINT, AT(middle), .tags = 1},
    {"section.large", FIELD_UINT, AT(large), .tags = 3},
    {"limit", FIELD_UINT, AT(limit), .most = 9, .none = "none"},
    {"real", FIELD_REAL, AT(real), .least = -1, .most = 1, .none = "null"},
    {"flag", FIELD_BOOL, AT(flag)},
    {"text", FIELD_TEXT, AT(text), .wanted = "a word"},
    {"choice", FIELD_CHOICE, AT(choice), .names = colors},
    {"color", FIELD_ENUM, AT(color), .names = colors},
    {"hash", FIELD_HEX, AT(hash)},
    {"digest", FIELD_HEX, AT(digest)},
    {"list", FIELD_LIST, AT(list), .element = &number,
     .length_offset = offsetof(struct record, list_length)},
    {"inner", FIELD_OBJECT, AT(inner), .table = &inner_table},
    {"inners", FIELD_LIST, AT(inners), .element = &inner_element, .least = 1,
     .length_offset = offsetof(struct record, inners_length)},
    {"letter", FIELD_CUSTOM, AT(letter), .converter = &letter},
    {"other", FIELD_OTHER, .help = "The caller reads it."},
};
static const struct json_table table = {
    JSON_FIELDS(fields),
    .rules = JSON_UNKNOWN_REFUSED,
    .status = TN_EINVAL,
};
static const struct json_table strict = {
    JSON_FIELDS(fields),
    .rules = JSON_ALL_REQUIRED,
    .status = TN_ECORRUPT,
};

static const char whole[] =
    "{\"small\":65535,\"section\":{\"middle\":4294967295,\"large\":4611686018427387903},"
    "\"limit\":\"none\",\"real\":null,\"flag\":true,\"text\":\"seven b\",\"choice\":\"green\","
    "\"color\":\"green\",\"hash\":\"00000000000000ff\","
    "\"digest\":\"00000000000000020000000000000001\",\"list\":[1,null],\"inner\":{\"weight\":1},"
    "\"inners\":[{\"weight\":2},{\"weight\":3}],\"letter\":\"x\"}";

static enum tn_status read_text(const struct json_table *by, const char *text, struct record *out,
                                struct error *error)
{
    json_t *object = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(object);
    enum tn_status status = json_codec_read(by, object, "", out, error);
    json_decref(object);
    return status;
}

/* A decoded text is encoded to the same text, in the order of the table. */
static void every_type_comes_back(void **state)
{
    (void)state;
    struct record record = {0};
    assert_int_equal(read_text(&table, whole, &record, NULL), TN_OK);
    assert_true(record.small == UINT16_MAX && record.limit == UINT64_MAX && isnan(record.real));
    assert_true(record.large == COUNTER_MAX && record.color == GREEN && record.hash == 0xff);
    assert_true(record.digest[0] == 1 && record.digest[1] == 2);
    assert_true(record.list_length == 2 && record.list[1] == UINT16_MAX);
    assert_true(record.inners_length == 2 && record.inners[1].weight == 3);
    json_t *object = json_object();
    assert_true(json_codec_build(&table, &record, 0, object));
    char *text = json_dumps(object, JSON_COMPACT);
    assert_string_equal(text, whole);
    free(text);
    json_decref(object);
}

/* Absent members stay as they are where not all keys are required. */
static void absent_members_stay(void **state)
{
    (void)state;
    struct record record = {.middle = 5, .text = "kept"};
    assert_int_equal(read_text(&table, "{\"small\": 1, \"other\": []}", &record, NULL), TN_OK);
    assert_true(record.small == 1 && record.middle == 5);
    assert_string_equal(record.text, "kept");
}

/* Tags select rows. */
static void tags_select_rows(void **state)
{
    (void)state;
    const struct record record = {.middle = 5, .large = 6};
    json_t *object = json_object();
    assert_true(json_codec_build(&table, &record, 2, object));
    char *text = json_dumps(object, JSON_COMPACT);
    assert_string_equal(text, "{\"section\":{\"large\":6}}");
    free(text);
    json_decref(object);
}

static const struct {
    const char *json, *message;
} wrong[] = {
    {"7", "the document is 7: give an object, {...}"},
    {"{\"smal\": 1}", "unknown key \"smal\": did you mean \"small\"?"},
    {"{\"zzzzzzzz\": 1}", "unknown key \"zzzzzzzz\": the keys are small, section.middle, "},
    {"{\"section\": {\"midle\": 1}}", "did you mean \"section.middle\"?"},
    {"{\"section\": 1}", "section is 1: give a section, an object {...}"},
    {"{\"small\": 65536}", "small is 65536: give a whole number"},
    {"{\"small\": -1}", "small is -1: "},
    {"{\"small\": 1e3}", "small is 1000.0: "},
    {"{\"small\": null}", "small is null: "},
    {"{\"section\": {\"middle\": 4294967296}}", "section.middle is 4294967296: "},
    {"{\"limit\": 10}", "limit is 10: give a whole number from 0 to 9, or \"none\""},
    {"{\"limit\": \"nil\"}", "limit is \"nil\": "},
    {"{\"real\": 1.5}", "real is 1.5: give a number from -1 to 1, or null"},
    {"{\"flag\": 1}", "flag is 1: give true or false"},
    {"{\"text\": \"eight by\"}", "text is \"eight by\": give a word, a text of at most 7 bytes"},
    {"{\"choice\": \"blue\"}", "choice is \"blue\": give \"red\" or \"green\""},
    {"{\"color\": 0}", "color is 0: give \"red\" or \"green\""},
    {"{\"hash\": \"ff\"}", "hash is \"ff\": give 16 hexadecimal digits"},
    {"{\"hash\": \"00000000000000FF\"}", "give 16 hexadecimal digits"},
    {"{\"digest\": 0}", "give 32 hexadecimal digits"},
    {"{\"list\": 1}", "list is 1: give a list of at most 3 whole numbers"},
    {"{\"list\": [1, 2, 3, 4]}", "list is [1, 2, 3, 4]: "},
    {"{\"list\": [1, \"x\"]}", "list[1] is \"x\": give a whole number, or null"},
    {"{\"inner\": []}", "inner is []: expected an object"},
    {"{\"inner\": {}}", "inner.weight is missing: expected a whole number from 1 to 9"},
    {"{\"inners\": []}", "inners is []: give a list of 1 to 2 objects"},
    {"{\"inners\": [{\"weight\": 1}, {\"weight\": 0}]}", "inners[1].weight is 0: expected"},
    {"{\"letter\": \"xy\"}", "letter is \"xy\": give one letter"},
};

/* Each wrong value is named with its place, the value and the expected value. */
static void wrong_values_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct record record = {0};
        struct error error = {0};
        enum tn_status status = read_text(&table, wrong[i].json, &record, &error);
        assert_true(status == TN_EINVAL || status == TN_ECORRUPT);
        assert_int_equal(error.status, status);
        if (strstr(error.text, wrong[i].message) == NULL) {
            fail_msg("%s: %s; expected: %s", wrong[i].json, error.text, wrong[i].message);
        }
    }
}

/* A strict table ignores unknown keys and names the first one that is missing. */
static void required_keys_are_named(void **state)
{
    (void)state;
    struct record record = {0};
    struct error error = {0};
    assert_int_equal(read_text(&strict, "{\"later\": 1, \"small\": 1}", &record, &error),
                     TN_ECORRUPT);
    assert_string_equal(error.text, "section.middle is missing: expected a whole number");
}

struct ranges {
    double seconds[2];
    uint32_t counts[2];
};
static const struct json_field range_fields[] = {
    {"seconds", FIELD_REAL_RANGE, JSON_MEMBER(struct ranges, seconds), .most = 10,
     .wanted = "seconds"},
    {"counts", FIELD_UINT_RANGE, JSON_MEMBER(struct ranges, counts), .least = 1, .most = 5},
};
static const struct json_table ranges_table = {
    JSON_FIELDS(range_fields),
    .rules = JSON_UNKNOWN_REFUSED | JSON_WHOLE_REALS,
    .status = TN_EINVAL,
};

/* A range is one number or two in order; a table can require whole numbers for reals. */
static void ranges_have_two_ends(void **state)
{
    (void)state;
    static const char *const bad[] = {"[2, 1]", "[1]", "[1, 2, 3]", "\"1\"", "[0, 11]", "-1"};
    struct ranges out = {0};
    json_t *object = json_pack("{s:f, s:[i, f]}", "seconds", 0.5, "counts", 2, 3.0);
    assert_int_equal(json_codec_read(&ranges_table, object, "", &out, NULL), TN_OK);
    assert_true(out.seconds[0] == 0.5 && out.seconds[1] == 0.5);
    assert_true(out.counts[0] == 2 && out.counts[1] == 3);
    json_decref(object);
    const struct json_field *field = json_codec_find(&ranges_table, "seconds");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct error error = {0};
        json_t *value = json_loads(bad[i], JSON_DECODE_ANY, NULL);
        assert_int_equal(
            json_codec_read_field(&ranges_table, field, value, "faults[2]", &out, &error),
            TN_EINVAL);
        assert_non_null(strstr(error.text, ": give seconds, a number from 0 to 10, or a range"));
        assert_int_equal(strncmp(error.text, "faults[2].seconds is ", 21), 0);
        json_decref(value);
    }
}

/* Any bytes are a JSON string; a long value is cut between characters in messages. */
static void texts_become_utf8(void **state)
{
    (void)state;
    struct error error = {0};
    char longer[201];
    json_t *text = json_text("a\xff\xc3\xa9");
    assert_string_equal(json_string_value(text), "a?\xc3\xa9");
    json_decref(text);
    for (size_t i = 0; i < 200; i += 2) { memcpy(longer + i, "\xc3\xa9", 2); }
    longer[200] = '\0';
    text = json_string(longer);
    assert_int_equal(json_refuse("set", "", text, &error, "give %d", 1), TN_EINVAL);
    assert_non_null(strstr(error.text, "...: give 1"));
    json_decref(text);
    text = json_string(error.text);
    assert_non_null(text);
    json_decref(text);
}

struct divided {
    uint32_t a, b, c;
};

#define DIVIDED(key) .name = #key, .type = FIELD_UINT, JSON_MEMBER(struct divided, key)

static const struct json_field first_row[] = {{DIVIDED(a)}};
static const struct json_field second_row[] = {{DIVIDED(b)}};
static const struct json_field third_row[] = {{DIVIDED(c)}};
static const struct json_part second = {JSON_FIELDS(second_row)};
static const struct json_part third = {JSON_FIELDS(third_row)};
static const struct json_part *const divided_parts[] = {&second, &third, NULL};
static const struct json_table divided_table = {
    JSON_FIELDS(first_row),
    .parts = divided_parts,
    .rules = JSON_ALL_REQUIRED | JSON_UNKNOWN_REFUSED,
    .status = TN_EINVAL,
};

/* A table in several parts is one table, in their order. */
static void parts_are_one_table(void **state)
{
    (void)state;
    struct error error = {0};
    struct divided from = {1, 2, 3}, to = {0};
    json_t *object = json_object();
    assert_int_equal(json_codec_count(&divided_table), 3);
    assert_string_equal(json_codec_row(&divided_table, 1)->name, "b");
    assert_true(json_codec_build(&divided_table, &from, 0, object));
    char *text = json_dumps(object, JSON_COMPACT);
    assert_string_equal(text, "{\"a\":1,\"b\":2,\"c\":3}");
    free(text);
    assert_int_equal(json_codec_read(&divided_table, object, "", &to, &error), TN_OK);
    assert_memory_equal(&to, &from, sizeof to);
    json_object_set_new(object, "another", json_integer(4));
    assert_int_equal(json_codec_read(&divided_table, object, "", &to, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "the keys are a, b, c"));
    json_object_del(object, "another");
    json_object_del(object, "c");
    assert_int_equal(json_codec_read(&divided_table, object, "", &to, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "c is missing"));
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_comes_back),   cmocka_unit_test(absent_members_stay),
        cmocka_unit_test(tags_select_rows),        cmocka_unit_test(wrong_values_are_named),
        cmocka_unit_test(required_keys_are_named), cmocka_unit_test(ranges_have_two_ends),
        cmocka_unit_test(texts_become_utf8),       cmocka_unit_test(parts_are_one_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
