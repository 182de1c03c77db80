/* The result of a run names the digest of its last checkpoint as the disk holds it, and a run whose
 * disk holds other parameters than a worker evaluated fails. */
#include "cli/run/stored_digest.h"

#include "tests/contract/store_fixture.h"

enum { PARAMETERS = 300000, SHARDS = 3, ID = 4 };

static const struct variable_table variables; /* Not placed: the order is that of the disk. */

/* A committed checkpoint and the run that ended with it, evaluated with the right parameters. */
static struct run finished_run(struct manifest *manifest)
{
    struct arrays arrays;
    struct run run = {.phase = RUN_DONE, .committed_checkpoint = ID, .committed_step = 10 * ID};
    *manifest = write_checkpoint(ID, PARAMETERS, SHARDS);
    assert_int_equal(store_put_manifest(dir, manifest, NULL), TN_OK);
    arrays_make(&arrays, PARAMETERS);
    arrays_fill(&arrays, 0, PARAMETERS);
    const struct digest digest = digest_of(arrays_bits(&arrays, 0), PARAMETERS * sizeof(float));
    arrays_free(&arrays);
    run.evaluation = (struct evaluation){.step = 10 * ID, .digest = {digest.low, digest.high}};
    return run;
}

/* Write shard 1 as a writer would that flips one bit before any digest is computed. */
static void write_flipped(struct manifest *manifest)
{
    struct arrays arrays;
    struct manifest_shard *part = &manifest->shards[1];
    char folder[PATH_MAX];
    assert_true(store_path_of_checkpoint(folder, dir, ID));
    remove_tree(folder);
    *manifest = write_checkpoint(ID, PARAMETERS, SHARDS);
    arrays_make(&arrays, part->count);
    arrays_fill(&arrays, part->first, part->count);
    arrays_bits(&arrays, 0)[7] ^= 1U << 3;
    const struct store_write_request request = request_of(manifest, 1, &arrays);
    assert_int_equal(store_write(dir, &request, NULL, NULL, &part->digest, &part->bytes, NULL),
                     TN_OK);
    arrays_free(&arrays);
    assert_int_equal(store_put_manifest(dir, manifest, NULL), TN_OK);
    assert_int_equal(store_verify(dir, manifest, STORE_ALL_SHARDS, NULL, NULL), TN_OK);
}

static void stored_digest_equals_the_evaluated_one(void **state)
{
    (void)state;
    char text[DIGEST_TEXT_BYTES], expected[DIGEST_TEXT_BYTES];
    struct manifest manifest;
    struct error error = {.text = ""};
    const struct run run = finished_run(&manifest);
    assert_int_equal(stored_digest_check(dir, &run, &variables, NULL, text, NULL, &error), TN_OK);
    digest_format((struct digest){run.evaluation.digest[0], run.evaluation.digest[1]}, expected);
    assert_string_equal(text, expected);
}

/* A writer that flips a bit leaves a checkpoint that is intact by all of its own digests. */
static void flipped_bit_of_the_writer_is_an_error(void **state)
{
    (void)state;
    char text[DIGEST_TEXT_BYTES];
    struct manifest manifest;
    struct error error = {.text = ""};
    const struct run run = finished_run(&manifest);
    write_flipped(&manifest);
    assert_int_equal(stored_digest_check(dir, &run, &variables, NULL, text, NULL, &error),
                     TN_ECORRUPT);
    assert_int_equal(strlen(text), 32);
    assert_non_null(strstr(error.text, text));
    assert_non_null(strstr(error.text, "checkpoint 4 (step 40)"));
}

/* An evaluation of an earlier step is not compared. */
static void evaluation_of_another_step_is_not_compared(void **state)
{
    (void)state;
    char text[DIGEST_TEXT_BYTES];
    struct manifest manifest;
    struct run run = finished_run(&manifest);
    run.evaluation = (struct evaluation){.step = 10};
    assert_int_equal(stored_digest_check(dir, &run, &variables, NULL, text, NULL, NULL), TN_OK);
}

static void missing_shard_is_damage_and_a_missing_manifest_is_not(void **state)
{
    (void)state;
    char text[DIGEST_TEXT_BYTES], path[PATH_MAX];
    struct manifest manifest;
    struct error error = {.text = ""};
    const struct run run = finished_run(&manifest);
    assert_true(store_path_of_shard(path, dir, ID, 2, SHARDS));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(stored_digest_check(dir, &run, &variables, NULL, text, NULL, &error),
                     TN_ECORRUPT);
    assert_string_equal(text, "");
    assert_true(store_path_of_manifest(path, dir, ID));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(stored_digest_check(dir, &run, &variables, NULL, text, NULL, &error),
                     TN_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stored_digest_equals_the_evaluated_one, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(flipped_bit_of_the_writer_is_an_error, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(evaluation_of_another_step_is_not_compared, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(missing_shard_is_damage_and_a_missing_manifest_is_not,
                                        make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
