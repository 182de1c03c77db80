/* Shards with rows of tables: full files and deltas, which stay as long as any checkpoint needs
 * them, whatever is removed; damage, gaps, other divisions, and the format before deltas. */
#include "tests/contract/store_fixture.h"

#include <inttypes.h>

#include "common/base/minmax.h"
#include "common/base/random.h"
#include "ps/table/row_set.h"
#include "ps/table/rows_file.h"

enum { TABLES = 2, KEYS = 3000, TOUCHED = 60, SAVES = 40, FLOATS = 100, BEGIN = 30 };

static struct variable_table variables;
static struct job job;
static struct error error;

/* One ps. */
struct node {
    struct row_set set;
    struct row_part part;
    struct digest digests[SAVES + 1]; /* The rows', by checkpoint. */
    struct manifest manifests[SAVES + 1];
};

static const struct row_borders equal;

static void open_set(struct row_set *set, struct row_part part)
{
    assert_int_equal(row_set_open(set, &job, &variables, part, false,
                                  (struct cell_owner){.arena = NULL}, &error),
                     TN_OK);
}

static struct node *open_node(uint32_t ps, uint32_t ps_count)
{
    struct node *node = calloc(1, sizeof *node);
    assert_non_null(node);
    node->part = row_part_of(&equal, ps_count, ps);
    open_set(&node->set, node->part);
    return node;
}

static void close_node(struct node *node)
{
    row_set_close(&node->set);
    free(node);
}

/* The first step touches all keys of the part, later ones some. */
static void train(struct node *node)
{
    struct row_sums sums;
    const uint64_t step = row_table_step(node->set.tables[0]);
    assert_int_equal(row_sums_open(&variables, &sums, &error), TN_OK);
    for (uint32_t t = 0; t < TABLES; t++) {
        for (uint64_t key = 1; key <= KEYS; key++) {
            const float values[] = {random_unit_at(1, step, key), random_unit_at(2, step, key), 1};
            const bool touched = step == 0 || random_at(step, t, key) % (KEYS / TOUCHED) == 0;
            if (!touched || !row_part_has(&node->part, t, key)) { continue; }
            assert_int_equal(row_sum_append(&sums.tables[t], key, values, &error), TN_OK);
        }
    }
    assert_int_equal(row_set_apply(&node->set, step, &sums, &error), TN_OK);
    row_set_release(&node->set, step + 1);
    row_sums_close(&sums);
}

static struct digest digest_of_set(const struct row_set *set)
{
    struct digest digest;
    assert_int_equal(row_set_digest(set, (struct digest){1, 2}, &digest, &error), TN_OK);
    return digest;
}

static struct store_rows rows_of(struct row_set *set, struct rows_chain *chain)
{
    return (struct store_rows){
        .tables = set->tables, .count = set->count, .row_counts = set->save_counts, .chain = chain};
}

/* The present step as checkpoint `id`. */
static enum tn_status save(struct node *node, uint64_t id)
{
    struct arrays arrays;
    struct manifest *manifest = &node->manifests[id];
    const uint32_t shard = node->part.ps, shards = node->part.ps_count;
    *manifest = manifest_make(id, FLOATS, shards);
    manifest->step = row_table_step(node->set.tables[0]);
    struct manifest_shard *part = &manifest->shards[shard];
    arrays_make(&arrays, part->count);
    arrays_fill(&arrays, part->first, part->count);
    struct store_write_request request = request_of(manifest, shard, &arrays);
    assert_int_equal(row_set_begin_save(&node->set, manifest->step, id, &error), TN_OK);
    request.blob_bytes = 0;
    request.rows = rows_of(&node->set, &node->set.saving);
    const enum tn_status status =
        store_write(dir, &request, NULL, NULL, &part->digest, &part->bytes, &error);
    row_set_end_save(&node->set, status == TN_OK);
    arrays_free(&arrays);
    node->digests[id] = digest_of_set(&node->set);
    return status;
}

/* Into empty tables of the same part. */
static enum tn_status load(const struct manifest *manifest, struct row_set *set)
{
    struct arrays arrays;
    struct store_metadata metadata;
    struct store_read_request request = {
        .manifest = manifest, .count = FLOATS, .rows = rows_of(set, &set->chain)};
    arrays_make(&arrays, FLOATS);
    memcpy(request.arrays, arrays.array, sizeof request.arrays);
    const enum tn_status status = store_read_range(dir, &request, NULL, &metadata, &error);
    arrays_free(&arrays);
    return status;
}

static enum tn_status try_load(const struct node *node, uint64_t id)
{
    struct row_set set;
    open_set(&set, node->part);
    const enum tn_status status = load(&node->manifests[id], &set);
    if (status == TN_OK) { assert_true(digest_equal(digest_of_set(&set), node->digests[id])); }
    row_set_close(&set);
    return status;
}

static void train_and_save(struct node *node, uint64_t first, uint64_t last)
{
    for (uint64_t id = first; id <= last; id++) {
        train(node);
        if (save(node, id) != TN_OK) { fail_msg("%s", error.text); }
    }
}

/* File `f` of those that checkpoint `id` needs. */
static const char *file_of(const struct node *node, uint64_t id, const struct rows_chain *chain,
                           uint32_t f)
{
    static char path[PATH_MAX];
    char folder[PATH_MAX - 100];
    assert_true(store_path_of_shard_folder(path, dir, id, node->part.ps, node->part.ps_count));
    memcpy(folder, path, strlen(path) + 1);
    snprintf(path, sizeof path, "%s/rows-%010" PRIu64 "-%016" PRIx64, folder,
             chain->files[f].checkpoint, chain->files[f].digest.low);
    return path;
}

/* Each checkpoint that is kept brings its rows back, though all others are removed; a chain has
 * files of one block of ids, and few bytes are written. */
static void kept_checkpoints_have_their_files(void **state)
{
    (void)state;
    struct node *node = open_node(0, 1);
    uint64_t full = 0, deltas = 0, most = 0;
    size_t removed;
    for (uint64_t id = 1; id <= SAVES; id++) {
        const uint64_t keep[] = {id - 1, id};
        train_and_save(node, id, id);
        const struct rows_chain *chain = &node->set.chain;
        const uint64_t bytes = chain->files[chain->count - 1].bytes;
        most = u64_max(most, chain->count);
        full += chain->count == 1;
        deltas += chain->count == 1 ? 0 : bytes;
        assert_true(chain->files[0].checkpoint >= manifest_chain_begin(id));
        assert_int_equal(store_collect(dir, keep, 2, id, &removed, &error), TN_OK);
        assert_int_equal(try_load(node, id), TN_OK);
        if (id > 1) { assert_int_equal(try_load(node, id - 1), TN_OK); }
    }
    assert_true(full >= 3 && full <= 6); /* 40 saves are in three blocks. */
    assert_true(most > 6);
    assert_true(deltas / (SAVES - full) < node->set.chain.files[0].bytes / 10);
    assert_int_equal(try_load(node, 1), TN_ENOENT);
    close_node(node);
}

/* Damage in any file makes the checkpoints useless that have it, and no others. */
static void damage_is_found_in_every_file(void **state)
{
    (void)state;
    struct node *node = open_node(0, 1);
    train_and_save(node, BEGIN, BEGIN + 5); /* A block begins with 32. */
    const struct rows_chain chain = node->set.chain;
    assert_int_equal(chain.files[0].checkpoint, 32);
    assert_int_equal(chain.count, 4);
    for (uint32_t f = 0; f < chain.count; f++) {
        const char *path = file_of(node, BEGIN + 5, &chain, f);
        flip_bit(path, 8 * (chain.files[f].bytes / 2));
        for (uint64_t id = BEGIN; id <= BEGIN + 5; id++) {
            const bool has = id >= chain.files[f].checkpoint;
            assert_int_equal(try_load(node, id), has ? TN_ECORRUPT : TN_OK);
            assert_int_equal(store_verify(dir, &node->manifests[id], 0, NULL, &error),
                             has ? TN_ECORRUPT : TN_OK);
        }
        flip_bit(path, 8 * (chain.files[f].bytes / 2));
    }
    assert_int_equal(unlink(file_of(node, BEGIN + 5, &chain, 1)), 0);
    assert_int_equal(try_load(node, BEGIN + 5), TN_ENOENT);
    assert_int_equal(try_load(node, BEGIN + 4), TN_OK);
    close_node(node);
}

/* Loaded tables continue the chain; those of another folder or division do not. */
static void a_restart_continues_the_chain(void **state)
{
    (void)state;
    struct node *node = open_node(0, 1);
    train_and_save(node, 1, 4);
    row_set_close(&node->set);
    open_set(&node->set, node->part);
    assert_int_equal(load(&node->manifests[3], &node->set), TN_OK);
    assert_int_equal(node->set.chain.count, 3);
    train_and_save(node, 5, 6);
    assert_int_equal(node->set.chain.count, 5);
    assert_int_equal(node->set.chain.files[3].checkpoint, 5);
    assert_int_equal(try_load(node, 6), TN_OK);
    close_node(node);
}

/* Without the files of the checkpoint before, a save fails, and the next one has all rows. */
static void a_gap_ends_the_chain(void **state)
{
    (void)state;
    struct node *node = open_node(0, 1);
    train_and_save(node, 1, 2);
    assert_int_equal(store_discard(dir, 2, &error), TN_OK);
    train(node);
    assert_int_equal(save(node, 3), TN_EIO);
    assert_non_null(strstr(error.text, "the next checkpoint saves all rows"));
    train_and_save(node, 4, 5);
    assert_int_equal(node->set.chain.files[0].checkpoint, 4);
    assert_int_equal(try_load(node, 5), TN_OK);
    assert_int_equal(try_load(node, 1), TN_OK);
    close_node(node);
}

/* A shard of a committed checkpoint stays, also if other files would have its rows now. */
static void a_committed_shard_stays(void **state)
{
    (void)state;
    struct node *node = open_node(0, 1), *other = open_node(0, 1);
    train_and_save(node, 1, 3);
    const struct manifest manifest = node->manifests[3];
    assert_int_equal(store_put_manifest(dir, &manifest, &error), TN_OK);
    for (uint32_t step = 0; step < 3; step++) { train(other); }
    assert_int_equal(save(other, 3), TN_OK);
    assert_true(digest_equal(other->manifests[3].shards[0].digest, manifest.shards[0].digest));
    assert_int_equal(other->set.chain.count, 0);
    train_and_save(other, 4, 4);
    assert_int_equal(other->set.chain.count, 1);
    assert_int_equal(try_load(other, 4), TN_OK);
    assert_int_equal(try_load(node, 3), TN_OK);
    close_node(node);
    close_node(other);
}

/* Three ps read the chains of two. */
static void other_divisions_follow_chains(void **state)
{
    (void)state;
    uint64_t rows[2] = {0, 0};
    struct node *nodes[2];
    struct manifest manifest = {.id = 0};
    for (uint32_t n = 0; n < 2; n++) {
        nodes[n] = open_node(n, 2);
        train_and_save(nodes[n], 1, 4);
        if (n == 0) { manifest = nodes[0]->manifests[4]; }
        manifest.shards[n] = nodes[n]->manifests[4].shards[n];
        rows[0] += row_table_stats(nodes[n]->set.tables[1]).rows;
    }
    struct node *whole = open_node(0, 1);
    for (uint32_t step = 0; step < 4; step++) { train(whole); }
    struct row_set all;
    open_set(&all, (struct row_part){.ps_count = 0});
    assert_int_equal(load(&manifest, &all), TN_OK);
    assert_true(digest_equal(digest_of_set(&all), digest_of_set(&whole->set)));
    assert_int_equal(all.chain.count, 0);
    row_set_close(&all);
    for (uint32_t ps = 0; ps < 3; ps++) {
        struct row_set set;
        open_set(&set, row_part_of(&equal, 3, ps));
        assert_int_equal(load(&manifest, &set), TN_OK);
        assert_int_equal(set.chain.count, 0);
        rows[1] += row_table_stats(set.tables[1]).rows;
        row_set_close(&set);
    }
    assert_int_equal(rows[0], KEYS);
    assert_int_equal(rows[1], KEYS);
    for (uint32_t n = 0; n < 2; n++) { close_node(nodes[n]); }
    close_node(whole);
}

/* Version 1: one file with all rows, named `rows`. It is read, and not continued. */
static void the_format_before_deltas_is_read(void **state)
{
    (void)state;
    struct arrays arrays;
    struct rows_file file;
    uint8_t blob[40] = "rowsfile";
    struct node *node = open_node(0, 1);
    struct manifest *manifest = &node->manifests[1];
    train(node);
    *manifest = manifest_make(1, FLOATS, 1);
    manifest->step = 1;
    arrays_make(&arrays, FLOATS);
    arrays_fill(&arrays, 0, FLOATS);
    assert_int_equal(store_make_folder(dir, 1, 0, 1, &error), TN_OK);
    assert_true(store_path_of_shard_folder(file.path, dir, 1, 0, 1));
    strcat(file.path, "/rows");
    assert_int_equal(row_set_begin_save(&node->set, 1, 1, &error), TN_OK);
    const struct rows_save all = rows_save_behind(&node->set.saving, 1, node->set.save_counts);
    assert_int_equal(rows_file_write(&file, (const struct row_table *const *)node->set.tables,
                                     TABLES, &all, &error),
                     TN_OK);
    row_set_end_save(&node->set, false);
    memcpy(blob + 8, &manifest->step, 8);
    memcpy(blob + 16, &file.bytes, 8);
    digest_encode(file.digest, blob + 24);
    struct store_write_request request = request_of(manifest, 0, &arrays);
    request.blob = blob;
    request.blob_bytes = sizeof blob;
    struct manifest_shard *part = &manifest->shards[0];
    assert_int_equal(store_write(dir, &request, NULL, NULL, &part->digest, &part->bytes, &error),
                     TN_OK);
    arrays_free(&arrays);
    node->digests[1] = digest_of_set(&node->set);
    assert_int_equal(try_load(node, 1), TN_OK);
    assert_int_equal(load(manifest, &node->set), TN_OK);
    assert_int_equal(node->set.chain.count, 0);
    train_and_save(node, 2, 3);
    assert_int_equal(node->set.chain.count, 2);
    assert_int_equal(try_load(node, 3), TN_OK);
    close_node(node);
}

static int set_up(void **state)
{
    (void)state;
    job_init(&job);
    job.train.slices = 1;
    job.cluster.ps = 1;
    job.train.optimizer = OPTIMIZER_ADAM;
    job.train.learning_rate = 0.1;
    variables.row_table_count = TABLES;
    for (uint32_t t = 0; t < TABLES; t++) {
        struct row_table_shape *shape = &variables.row_tables[t];
        *shape = (struct row_table_shape){.width = 1 + 2 * t, .scale = 0.5F, .keys = KEYS + 1};
        snprintf(shape->name, sizeof shape->name, "t%u", t);
    }
    return 0;
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(kept_checkpoints_have_their_files), IN_DIR(damage_is_found_in_every_file),
        IN_DIR(a_restart_continues_the_chain),     IN_DIR(a_gap_ends_the_chain),
        IN_DIR(a_committed_shard_stays),           IN_DIR(other_divisions_follow_chains),
        IN_DIR(the_format_before_deltas_is_read),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
