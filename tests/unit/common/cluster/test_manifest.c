/* Manifests: encoding, decoding, and errors that name the wrong field. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/minmax.h"
#include "common/cluster/manifest.h"

static struct manifest sample(void)
{
    struct manifest manifest = {
        .id = 12,
        .generation = 2,
        .step = 1200,
        .epoch = 7,
        .created_wall_ms = 1700000000123,
        .variables_hash = 0xfedcba9876543210ULL,
        .parameter_count = 101770,
        .seed = UINT64_MAX,
        .slices = 8,
        .state_arrays = 3,
        .shard_count = 2,
        .optimizer = "adam",
        .mode = "sync",
        .kernels = "cpu/openblas-0.3.21/\"haswell\"",
        .best = {.checkpoint = 9, .step = 900, .metric = BEST_ACCURACY, .value = 0.1},
        .shards = {{0, 60000, 737280, {1, 2}, "host-a:/var/tanist/\xc3\xa9"},
                   {60000, 41770, 520192, {UINT64_MAX, 0}, "host-b:/var/tanist"}},
    };
    return manifest;
}

static char *encode(const struct manifest *manifest)
{
    char *text;
    size_t size;
    assert_int_equal(manifest_encode(manifest, &text, &size, NULL), TN_OK);
    assert_int_equal(strlen(text), size);
    return text;
}

/* An encoded manifest is decoded to the same fields, which encode to the same bytes. */
static void manifest_comes_back(void **state)
{
    (void)state;
    struct manifest manifest = sample();
    struct manifest decoded;
    struct error error;
    char *text = encode(&manifest);
    assert_int_equal(manifest_decode(text, strlen(text), &decoded, &error), TN_OK);
    assert_memory_equal(&decoded, &manifest, sizeof manifest);
    char *again = encode(&decoded);
    assert_string_equal(again, text);
    free(again);
    free(text);
}

static struct manifest with_chain(void)
{
    struct manifest manifest = sample();
    manifest.chain_count = 2;
    manifest.chain[0] = (struct manifest_rows){.checkpoint = 9, .bytes = 4096, .digest = {5, 6}};
    manifest.chain[1] = (struct manifest_rows){.checkpoint = 12, .bytes = 160, .digest = {7, 8}};
    return manifest;
}

/* The files of tables come back; a manifest without them has the text that it always had. */
static void chain_comes_back(void **state)
{
    (void)state;
    struct manifest manifest = with_chain();
    struct manifest decoded;
    struct error error;
    char *text = encode(&manifest);
    assert_int_equal(manifest_decode(text, strlen(text), &decoded, &error), TN_OK);
    assert_memory_equal(&decoded, &manifest, sizeof manifest);
    free(text);
    manifest = sample();
    text = encode(&manifest);
    assert_null(strstr(text, "chain"));
    free(text);
}

/* The same of the borders between the rows of its shards, which fit their number. */
static void borders_come_back(void **state)
{
    (void)state;
    struct manifest manifest = with_chain();
    struct manifest decoded;
    struct error error;
    char *text = encode(&manifest);
    assert_null(strstr(text, "buckets"));
    free(text);
    manifest.rows = (struct row_borders){.count = 1, .buckets = {4095}};
    text = encode(&manifest);
    assert_int_equal(manifest_decode(text, strlen(text), &decoded, &error), TN_OK);
    assert_memory_equal(&decoded, &manifest, sizeof manifest);
    free(text);
    manifest.rows.count = 2;
    assert_int_equal(manifest_check(&manifest, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "buckets"));
}

static void wrong_chains_are_refused(void **state)
{
    static const char *const texts[] = {"chain ends with checkpoint 11", "chain[1].checkpoint is 9",
                                        "with 0 bytes"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct error error;
        struct manifest manifest = with_chain();
        if (i == 0) { manifest.chain[1].checkpoint = 11; }
        if (i == 1) { manifest.chain[1].checkpoint = 9; }
        if (i == 2) { manifest.chain[0].bytes = 0; }
        assert_int_equal(manifest_check(&manifest, &error), TN_EINVAL);
        if (strstr(error.text, texts[i]) == NULL) { fail_msg("%s", error.text); }
    }
}

/* The text of the largest possible manifest is within the limit. */
static void largest_manifest_fits(void **state)
{
    (void)state;
    struct manifest manifest = sample();
    manifest.id = manifest.parameter_count = COUNTER_MAX;
    manifest.chain_count = MANIFEST_CHAIN_MAX;
    for (uint64_t f = 0; f < MANIFEST_CHAIN_MAX; f++) {
        manifest.chain[f] = (struct manifest_rows){
            .checkpoint = COUNTER_MAX - MANIFEST_CHAIN_MAX + 1 + f, .bytes = COUNTER_MAX};
    }
    manifest.shard_count = MANIFEST_SHARDS_MAX;
    for (uint32_t i = 0; i < MANIFEST_SHARDS_MAX; i++) {
        struct manifest_shard *shard = &manifest.shards[i];
        shard->first = i == 0 ? 0 : COUNTER_MAX - 64 + i;
        shard->count = i == 0 ? COUNTER_MAX - 63 : 1;
        shard->bytes = COUNTER_MAX;
        memset(shard->place, '"', sizeof shard->place - 1);
    }
    struct manifest decoded;
    char *text = encode(&manifest);
    assert_true(strlen(text) <= MANIFEST_JSON_MAX);
    assert_int_equal(manifest_decode(text, strlen(text), &decoded, NULL), TN_OK);
    free(text);
}

/* Any flipped bit and any cut gives TN_ECORRUPT (or a later format) and a message. */
static void any_damage_is_refused(void **state)
{
    (void)state;
    struct manifest manifest = with_chain();
    struct manifest decoded;
    char *text = encode(&manifest);
    size_t size = strlen(text);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        struct error error = {.status = TN_OK};
        text[bit / 8] = (char)(text[bit / 8] ^ (1 << bit % 8));
        enum tn_status status = manifest_decode(text, size, &decoded, &error);
        assert_true(status == TN_ECORRUPT || status == TN_EINVAL);
        assert_int_equal(error.status, status);
        assert_true(error.text[0] != '\0');
        text[bit / 8] = (char)(text[bit / 8] ^ (1 << bit % 8));
    }
    for (size_t cut = 0; cut < size; cut++) {
        assert_int_equal(manifest_decode(text, cut, &decoded, NULL), TN_ECORRUPT);
    }
    free(text);
}

/* Encoding names each impossible field. */
static void impossible_fields_are_named(void **state)
{
    (void)state;
    struct manifest bad[11];
    static const char *const names[11] = {"id",
                                          "parameters",
                                          "mode",
                                          "state_",
                                          "shards",
                                          "shards[1].first",
                                          "shards[1].count",
                                          "shards end",
                                          "shards[0].bytes",
                                          "best",
                                          "best"};
    for (size_t i = 0; i < 11; i++) { bad[i] = sample(); }
    bad[0].id = 0;
    bad[1].parameter_count = 0;
    strcpy(bad[2].mode, "maybe");
    bad[3].state_arrays = MANIFEST_ARRAYS_MAX + 1;
    bad[4].shard_count = 0;
    bad[5].shards[1].first = 59999;
    bad[6].shards[1].count = 41771;
    bad[7].shards[1].count = 41769;
    bad[8].shards[0].bytes = 0;
    bad[9].best.checkpoint = 13; /* A later one. */
    bad[10].best.value = (double)NAN;
    for (size_t i = 0; i < 11; i++) {
        struct error error;
        char *text;
        size_t size;
        assert_int_equal(manifest_encode(&bad[i], &text, &size, &error), TN_EINVAL);
        assert_null(text);
        assert_non_null(strstr(error.text, names[i]));
    }
}

/* A text that is not UTF-8 is an error when encoding. */
static void text_must_be_utf8(void **state)
{
    (void)state;
    struct manifest manifest = sample();
    char *text;
    size_t size;
    memcpy(manifest.shards[0].place, "\xff\xfe", 3);
    assert_int_equal(manifest_encode(&manifest, &text, &size, NULL), TN_EINVAL);
}

/* A later format is refused; the error names the program to use. */
static void later_format_is_refused(void **state)
{
    (void)state;
    struct manifest manifest = sample();
    struct manifest decoded;
    struct error error;
    char *text = encode(&manifest);
    char *digit = strstr(text, "\"format\":1");
    assert_non_null(digit);
    digit[9] = '2';
    assert_int_equal(manifest_decode(text, strlen(text), &decoded, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "format is 2"));
    free(text);
}

/* Duplicate and unknown keys are refused. */
static void other_keys_are_refused(void **state)
{
    (void)state;
    struct manifest manifest = sample();
    struct manifest decoded;
    char *text = encode(&manifest);
    static const char *const extra[] = {"{\"id\":12,", "{\"other\":1,"};
    for (size_t i = 0; i < 2; i++) {
        char longer[8192];
        int size = snprintf(longer, sizeof longer, "%s%s", extra[i], text + 1);
        assert_int_equal(manifest_decode(longer, (size_t)size, &decoded, NULL), TN_ECORRUPT);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manifest_comes_back),      cmocka_unit_test(chain_comes_back),
        cmocka_unit_test(wrong_chains_are_refused), cmocka_unit_test(largest_manifest_fits),
        cmocka_unit_test(any_damage_is_refused),    cmocka_unit_test(impossible_fields_are_named),
        cmocka_unit_test(text_must_be_utf8),        cmocka_unit_test(later_format_is_refused),
        cmocka_unit_test(other_keys_are_refused),   cmocka_unit_test(borders_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
