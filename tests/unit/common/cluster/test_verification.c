/* Verifications of checkpoints whose shards are on several hosts: names, texts, and the
 * result for a shard from the states that the folders know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cluster/verification.h"

#define ALPHA "alpha:/data/checkpoints"
#define BETA  "beta:/data/checkpoints"

/* Shard 0 was written on alpha, shard 1 on beta. */
static const struct manifest manifest = {
    .id = 7, .shard_count = 2, .shards = {{.place = ALPHA}, {.place = BETA}}};

static struct verification found_at(const char *place, enum verified_state first,
                                    enum verified_state second)
{
    struct verification verification = {
        .count = 2,
        .shards = {{first, "first"}, {second, "second"}},
    };
    memcpy(verification.place, place, strlen(place));
    return verification;
}

static struct shard_conclusion conclude(uint32_t shard, const struct verification *from,
                                        size_t count)
{
    struct shard_conclusion out;
    verification_conclude(&manifest, shard, from, count, "no answer", &out);
    return out;
}

/* An answer is found by the name of its request; other names are not requests. */
static void names_belong_to_a_request(void **state)
{
    (void)state;
    char request[VERIFICATION_NAME_MAX], prefix[VERIFICATION_NAME_MAX], name[VERIFICATION_NAME_MAX];
    verification_request_name(request, UINT64_MAX);
    assert_string_equal(request, "request-ffffffffffffffff");
    assert_true(verification_is_request(request));
    verification_answer_prefix(prefix, request);
    verification_answer_name(name, request, 5);
    assert_string_equal(name, "answer-ffffffffffffffff-0000000000000005");
    assert_memory_equal(name, prefix, strlen(prefix));
    assert_false(verification_is_request(name));
    assert_false(verification_is_request("request-fffffffffffffff"));
    assert_false(verification_is_request("request-../../../../../ff"));
}

/* A verification survives encoding, complete or not. */
static void text_comes_back(void **state)
{
    (void)state;
    struct verification in = found_at(ALPHA, VERIFIED_DAMAGED, VERIFIED_ABSENT), out;
    for (in.count = 0; in.count <= 2; in.count++) {
        char *text = verification_encode(&in);
        assert_non_null(text);
        assert_int_equal(verification_decode(text, strlen(text), &out, NULL), TN_OK);
        assert_int_equal(out.count, in.count);
        assert_string_equal(out.place, ALPHA);
        if (in.count > 0) { assert_string_equal(out.shards[0].reason, "first"); }
        free(text);
    }
}

/* A wrong text is refused: the error names the field. */
static void wrong_text_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"", "not JSON"},
        {"{}", "version"},
        {"{\"version\":1,\"place\":\"a\"}", "shards"},
        {"{\"version\":1,\"place\":\"a\",\"shards\":[{\"state\":\"fine\",\"reason\":\"\"}]}",
         "state"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct verification out;
        struct error error;
        assert_int_equal(verification_decode(wrong[i][0], strlen(wrong[i][0]), &out, &error),
                         TN_ECORRUPT);
        assert_non_null(strstr(error.text, wrong[i][1]));
    }
}

/* Each host knows its own shard; what no host knows is not verified. */
static void hosts_complete_each_other(void **state)
{
    (void)state;
    const struct verification both[] = {found_at(ALPHA, VERIFIED_INTACT, VERIFIED_ABSENT),
                                        found_at(BETA, VERIFIED_ABSENT, VERIFIED_DAMAGED)};
    assert_int_equal(conclude(0, both, 2).verdict, SHARD_VERDICT_OK);
    assert_int_equal(conclude(1, both, 2).verdict, SHARD_VERDICT_DAMAGED);
    assert_string_equal(conclude(1, both, 2).reason, "second");
    assert_string_equal(conclude(1, both, 2).place, BETA);
    assert_int_equal(conclude(1, both, 1).verdict, SHARD_VERDICT_UNKNOWN);
    assert_string_equal(conclude(1, both, 1).place, BETA);
    assert_string_equal(conclude(1, both, 1).reason, "no answer");
}

/* A shard that its own folder lacks is damage, unless another folder has it. */
static void missing_shard_is_damaged(void **state)
{
    (void)state;
    const struct verification here[] = {found_at(ALPHA, VERIFIED_ABSENT, VERIFIED_ABSENT),
                                        found_at(BETA, VERIFIED_INTACT, VERIFIED_INTACT)};
    assert_int_equal(conclude(0, here, 1).verdict, SHARD_VERDICT_DAMAGED);
    assert_int_equal(conclude(0, here, 2).verdict, SHARD_VERDICT_OK);
    assert_string_equal(conclude(0, here, 2).place, BETA);
}

/* A ps loads from its own folder, so an intact copy elsewhere does not hide damage there. */
static void own_folder_counts_most(void **state)
{
    (void)state;
    const struct verification both[] = {found_at(BETA, VERIFIED_INTACT, VERIFIED_INTACT),
                                        found_at(ALPHA, VERIFIED_DAMAGED, VERIFIED_DAMAGED)};
    assert_int_equal(conclude(0, both, 2).verdict, SHARD_VERDICT_DAMAGED);
    assert_int_equal(conclude(1, both, 2).verdict, SHARD_VERDICT_OK);
}

/* A verification that is not complete leaves the other shards open. */
static void unread_shard_is_not_verified(void **state)
{
    (void)state;
    struct verification slow = found_at(BETA, VERIFIED_ABSENT, VERIFIED_INTACT);
    slow.count = 1;
    assert_int_equal(conclude(1, &slow, 1).verdict, SHARD_VERDICT_UNKNOWN);
}

/* A moved folder is the place of the shards in it; the folder of no shard keeps its name. */
static void moved_folder_keeps_its_shards(void **state)
{
    (void)state;
    struct verification moved = found_at("gamma:/copy", VERIFIED_ABSENT, VERIFIED_INTACT);
    verification_adopt_place(&moved, &manifest);
    assert_string_equal(moved.place, BETA);
    moved = found_at("gamma:/empty", VERIFIED_ABSENT, VERIFIED_ABSENT);
    verification_adopt_place(&moved, &manifest);
    assert_string_equal(moved.place, "gamma:/empty");
    moved = found_at(ALPHA, VERIFIED_ABSENT, VERIFIED_INTACT);
    verification_adopt_place(&moved, &manifest);
    assert_string_equal(moved.place, ALPHA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_belong_to_a_request),
        cmocka_unit_test(text_comes_back),
        cmocka_unit_test(wrong_text_is_refused),
        cmocka_unit_test(hosts_complete_each_other),
        cmocka_unit_test(missing_shard_is_damaged),
        cmocka_unit_test(own_folder_counts_most),
        cmocka_unit_test(unread_shard_is_not_verified),
        cmocka_unit_test(moved_folder_keeps_its_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
