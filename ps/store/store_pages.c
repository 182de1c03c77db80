#include "ps/store/store_pages.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/files.h"
#include "ps/store/store_page_format.h"

/* A field of a page, and the values that it may have. */
struct field {
    const char *name;
    uint64_t value, low, high;
};

/* The description of the table of records, or the part of it that the walk has found. */
struct tree {
    uint64_t depth, branch_pages, leaf_pages, overflow_pages, entries, root;
};

struct walk {
    int fd;
    const char *path;
    struct error *error;
    uint64_t bytes;    /* The size of the file. */
    size_t page_bytes; /* The size of a page. */
    /* By the meta page that LMDB will use: */
    uint64_t meta; /* Its number. */
    uint64_t transaction;
    uint64_t last_page; /* In use. */
    struct tree tree;
    struct tree found; /* By the walk, so far. */
    uint8_t *pages;    /* The pages on the way from the root to the present one. */
    struct store_values *values;
};

static uint16_t word16(const uint8_t *page, size_t at)
{
    uint16_t value;
    memcpy(&value, page + at, sizeof value);
    return value;
}

static uint32_t word32(const uint8_t *page, size_t at)
{
    uint32_t value;
    memcpy(&value, page + at, sizeof value);
    return value;
}

static uint64_t word64(const uint8_t *page, size_t at)
{
    uint64_t value;
    memcpy(&value, page + at, sizeof value);
    return value;
}

static enum tn_status check_fields(const struct walk *walk, uint64_t page,
                                   const struct field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct field *field = &fields[i];
        if (field->value >= field->low && field->value <= field->high) { continue; }
        if (field->low == field->high) {
            return error_set(walk->error, TN_ECORRUPT,
                             "%s is damaged: page %" PRIu64 ": its %s is %" PRIu64
                             ", expected %" PRIu64,
                             walk->path, page, field->name, field->value, field->low);
        }
        return error_set(walk->error, TN_ECORRUPT,
                         "%s is damaged: page %" PRIu64 ": its %s is %" PRIu64 ", expected %" PRIu64
                         " to %" PRIu64,
                         walk->path, page, field->name, field->value, field->low, field->high);
    }
    return TN_OK;
}

#define CHECK_FIELDS(walk, page, fields)                                                           \
    check_fields((walk), (page), (fields), sizeof(fields) / sizeof(fields)[0])

/* Read `size` bytes at the start of a page. */
static enum tn_status read_page(const struct walk *walk, uint64_t number, size_t size, uint8_t *out)
{
    size_t done = 0;
    while (done < size) {
        off_t at = (off_t)(number * walk->page_bytes + done);
        ssize_t got = pread(walk->fd, out + done, size - done, at);
        if (got < 0 && errno == EINTR) { continue; }
        if (got < 0) { return files_error(walk->error, errno, "read", walk->path); }
        if (got == 0) {
            return error_set(walk->error, TN_ECORRUPT,
                             "%s is damaged: page %" PRIu64 ": it is not in the file", walk->path,
                             number);
        }
        done += (size_t)got;
    }
    return TN_OK;
}

/* -------------------------------------------------------------- meta pages */

/* The fields that both meta pages must have. The first one decides the size of pages. */
static enum tn_status check_meta(struct walk *walk, uint64_t number, const uint8_t *meta)
{
    uint64_t page_bytes = word32(meta, META_PAGE_BYTES);
    uint64_t low = number == 0 ? PAGE_BYTES_MIN : walk->page_bytes;
    uint64_t high = number == 0 ? PAGE_BYTES_MAX : walk->page_bytes;
    const struct field fields[] = {
        {"number", word64(meta, 0), number, number},
        {"kind", word16(meta, PAGE_FLAGS), KIND_META, KIND_META},
        {"magic", word32(meta, META_MAGIC), FILE_MAGIC, FILE_MAGIC},
        {"version", word32(meta, META_VERSION), FILE_VERSION, FILE_VERSION},
        {"page size", page_bytes, low, high},
        {"bits of the page size", (uint64_t)__builtin_popcountll(page_bytes), 1, 1},
        {"map size", word64(meta, META_MAP_BYTES), walk->bytes, walk->bytes},
        {"flags of the table", word16(meta, META_TREE + TREE_FLAGS), 0, 0},
    };
    enum tn_status status = CHECK_FIELDS(walk, number, fields);
    if (status != TN_OK) { return status; }
    walk->page_bytes = page_bytes;
    uint64_t pages = walk->bytes / page_bytes;
    const struct field last[] = {
        {"last page", word64(meta, META_LAST_PAGE), META_PAGES - 1, pages == 0 ? 0 : pages - 1},
    };
    return CHECK_FIELDS(walk, number, last);
}

/* LMDB uses the meta page of the later transaction. */
static void take_meta(struct walk *walk, uint64_t number, const uint8_t *meta)
{
    const uint8_t *tree = meta + META_TREE;
    walk->meta = number;
    walk->transaction = word64(meta, META_TRANSACTION);
    walk->last_page = word64(meta, META_LAST_PAGE);
    walk->tree = (struct tree){
        .depth = word16(tree, TREE_DEPTH),
        .branch_pages = word64(tree, TREE_BRANCH_PAGES),
        .leaf_pages = word64(tree, TREE_LEAF_PAGES),
        .overflow_pages = word64(tree, TREE_OVERFLOW_PAGES),
        .entries = word64(tree, TREE_ENTRIES),
        .root = word64(tree, TREE_ROOT),
    };
}

static enum tn_status read_metas(struct walk *walk)
{
    for (uint64_t number = 0; number < META_PAGES; number++) {
        uint8_t meta[META_BYTES];
        enum tn_status status = read_page(walk, number, sizeof meta, meta);
        if (status == TN_OK) { status = check_meta(walk, number, meta); }
        if (status != TN_OK) { return status; }
        if (number > 0 && word64(meta, META_TRANSACTION) <= walk->transaction) { continue; }
        take_meta(walk, number, meta);
    }
    const struct field fields[] = {
        {"depth", walk->tree.depth, 1, DEPTH_MAX},
        {"root", walk->tree.root, META_PAGES, walk->last_page},
    };
    return CHECK_FIELDS(walk, walk->meta, fields);
}

/* -------------------------------------------------------------------- tree */

/* One more page of the tree. A page that is used twice, or a cycle, would make the walk longer than
 * the file. */
static enum tn_status count_pages(struct walk *walk, uint64_t number, uint64_t pages,
                                  uint64_t *counter)
{
    *counter += pages;
    uint64_t seen = walk->found.branch_pages + walk->found.leaf_pages + walk->found.overflow_pages;
    const struct field fields[] = {
        {"place in the walk", seen, 1, walk->last_page + 1 - META_PAGES},
    };
    return CHECK_FIELDS(walk, number, fields);
}

static uint64_t key_of(const uint8_t *node)
{
    uint64_t key = 0;
    for (unsigned i = 0; i < KEY_BYTES; i++) { key = key << 8 | node[NODE_HEADER_BYTES + i]; }
    return key;
}

/* The pages of a value with its header. */
static uint64_t pages_of_large_value(size_t page_bytes, uint64_t size)
{
    return (size + PAGE_HEADER_BYTES - 1) / page_bytes + 1;
}

/* The place of a large value of `size` bytes, from page `first`. */
static enum tn_status check_large_value(struct walk *walk, uint64_t number, uint64_t first,
                                        uint64_t size)
{
    uint64_t pages = pages_of_large_value(walk->page_bytes, size);
    const struct field place[] = {
        {"page of a large value", first, META_PAGES, walk->last_page},
        {"pages of a large value", pages, 1,
         first > walk->last_page ? 0 : walk->last_page + 1 - first},
    };
    enum tn_status status = CHECK_FIELDS(walk, number, place);
    if (status != TN_OK) { return status; }
    return count_pages(walk, first, pages, &walk->found.overflow_pages);
}

static enum tn_status add_value(const struct walk *walk, const struct store_value *value)
{
    struct store_values *values = walk->values;
    if (values->count == values->capacity) {
        const size_t capacity = values->capacity == 0 ? 64 : 2 * values->capacity;
        struct store_value *list = realloc(values->list, capacity * sizeof *list);
        if (list == NULL) {
            return error_set(walk->error, TN_ENOMEM, "out of memory to read %s", walk->path);
        }
        values->list = list;
        values->capacity = capacity;
    }
    values->list[values->count++] = *value;
    return TN_OK;
}

/* The least key that the next record may have. */
static uint64_t next_key(const struct store_values *values)
{
    if (values->count == 0) { return 0; }
    const uint64_t last = values->list[values->count - 1].key;
    return last < UINT64_MAX ? last + 1 : UINT64_MAX;
}

/* A record. The node's header lies inside the page. */
static enum tn_status check_record(struct walk *walk, uint64_t number, const uint8_t *page,
                                   uint64_t at)
{
    const uint8_t *node = page + at;
    const uint64_t head = NODE_HEADER_BYTES + KEY_BYTES;
    uint64_t size = word16(node, NODE_LOW) | (uint64_t)word16(node, NODE_MIDDLE) << 16;
    bool large = word16(node, NODE_FLAGS) == NODE_IS_LARGE;
    uint64_t end = at + head + (large ? sizeof(uint64_t) : size);
    const struct field fields[] = {
        {"flags of a node", word16(node, NODE_FLAGS), 0, NODE_IS_LARGE},
        {"key size", word16(node, NODE_KEY_BYTES), KEY_BYTES, KEY_BYTES},
        {"end of a record", end, at, walk->page_bytes},
    };
    enum tn_status status = CHECK_FIELDS(walk, number, fields);
    walk->found.entries++;
    if (status != TN_OK) { return status; }
    struct store_value value = {.key = key_of(node),
                                .at = number * walk->page_bytes + at + head,
                                .bytes = size,
                                .large = large};
    const struct field order[] = {{"key", value.key, next_key(walk->values), UINT64_MAX}};
    status = CHECK_FIELDS(walk, number, order);
    if (status == TN_OK && large) {
        const uint64_t first = word64(node, head);
        value.at = first * walk->page_bytes + PAGE_HEADER_BYTES;
        status = check_large_value(walk, number, first, size);
    }
    return status == TN_OK ? add_value(walk, &value) : status;
}

static enum tn_status check_page(struct walk *walk, uint64_t number, uint64_t level);

/* A pointer to a page of the next level. Only the first one of a page may lack the key. */
static enum tn_status check_branch(struct walk *walk, uint64_t number, const uint8_t *page,
                                   uint64_t at, uint64_t level, bool first)
{
    const uint8_t *node = page + at;
    uint64_t key_bytes = word16(node, NODE_KEY_BYTES);
    uint64_t child = word16(node, NODE_LOW) | (uint64_t)word16(node, NODE_MIDDLE) << 16 |
                     (uint64_t)word16(node, NODE_FLAGS) << 32;
    const struct field fields[] = {
        {"key size", key_bytes, first && key_bytes == 0 ? 0 : KEY_BYTES, KEY_BYTES},
        {"end of a key", at + NODE_HEADER_BYTES + key_bytes, at, walk->page_bytes},
        {"child", child, META_PAGES, walk->last_page},
    };
    enum tn_status status = CHECK_FIELDS(walk, number, fields);
    return status == TN_OK ? check_page(walk, child, level + 1) : status;
}

/* The nodes of a page, whose bounds have been checked. */
static enum tn_status check_nodes(struct walk *walk, uint64_t number, const uint8_t *page,
                                  uint64_t level)
{
    bool leaf = level == walk->tree.depth;
    uint64_t count = (word16(page, PAGE_LOWER) - PAGE_HEADER_BYTES) / sizeof(uint16_t);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = word16(page, PAGE_HEADER_BYTES + i * sizeof(uint16_t));
        const struct field fields[] = {
            {"offset of a node", at, word16(page, PAGE_UPPER),
             walk->page_bytes - NODE_HEADER_BYTES},
            {"alignment of a node", at % sizeof(uint16_t), 0, 0},
        };
        enum tn_status status = CHECK_FIELDS(walk, number, fields);
        if (status != TN_OK) { return status; }
        status = leaf ? check_record(walk, number, page, at)
                      : check_branch(walk, number, page, at, level, i == 0);
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

/* A page of the tree and all below it. The root has level 1; the recursion ends at the leaves,
 * whose level is the depth. */
static enum tn_status check_page(struct walk *walk, uint64_t number, uint64_t level)
{
    assert(level >= 1 && level <= walk->tree.depth);
    bool leaf = level == walk->tree.depth;
    uint8_t *page = walk->pages + (level - 1) * walk->page_bytes;
    enum tn_status status =
        count_pages(walk, number, 1, leaf ? &walk->found.leaf_pages : &walk->found.branch_pages);
    if (status == TN_OK) { status = read_page(walk, number, walk->page_bytes, page); }
    if (status != TN_OK) { return status; }
    uint64_t kind = leaf ? KIND_LEAF : KIND_BRANCH;
    uint64_t lower = word16(page, PAGE_LOWER);
    uint64_t nodes = leaf ? 1 : 2; /* LMDB aborts at a branch with fewer. */
    const struct field fields[] = {
        {"number", word64(page, 0), number, number},
        {"kind", word16(page, PAGE_FLAGS), kind, kind},
        {"end of offsets", lower, PAGE_HEADER_BYTES + nodes * sizeof(uint16_t), walk->page_bytes},
        {"alignment of offsets", lower % sizeof(uint16_t), 0, 0},
        {"start of nodes", word16(page, PAGE_UPPER), lower, walk->page_bytes},
    };
    status = CHECK_FIELDS(walk, number, fields);
    return status == TN_OK ? check_nodes(walk, number, page, level) : status;
}

static enum tn_status check_tree(struct walk *walk)
{
    enum tn_status status = check_page(walk, walk->tree.root, 1);
    if (status != TN_OK) { return status; }
    const struct tree *found = &walk->found;
    const struct field fields[] = {
        {"branch pages", walk->tree.branch_pages, found->branch_pages, found->branch_pages},
        {"leaf pages", walk->tree.leaf_pages, found->leaf_pages, found->leaf_pages},
        {"overflow pages", walk->tree.overflow_pages, found->overflow_pages, found->overflow_pages},
        {"entries", walk->tree.entries, found->entries, found->entries},
    };
    return CHECK_FIELDS(walk, walk->meta, fields);
}

enum tn_status store_find_values(int fd, const char *path, uint64_t bytes,
                                 struct store_values *values, struct error *error)
{
    assert(fd >= 0);
    *values = (struct store_values){0};
    struct walk walk = {.fd = fd, .path = path, .error = error, .bytes = bytes, .values = values};
    enum tn_status status = read_metas(&walk);
    if (status != TN_OK) { return status; }
    values->page_bytes = walk.page_bytes;
    walk.pages = malloc(walk.tree.depth * walk.page_bytes);
    if (walk.pages == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory to read %s", path);
    }
    status = check_tree(&walk);
    free(walk.pages);
    return status;
}

enum tn_status store_check_value(const struct store_values *values, const struct store_value *value,
                                 const uint8_t header[static STORE_PAGE_HEADER_BYTES],
                                 const char *path, struct error *error)
{
    assert(value->large);
    const struct walk walk = {.path = path, .error = error};
    const uint64_t first = value->at / values->page_bytes;
    const uint64_t pages = pages_of_large_value(values->page_bytes, value->bytes);
    const struct field fields[] = {
        {"number", word64(header, 0), first, first},
        {"kind", word16(header, PAGE_FLAGS), KIND_OVERFLOW, KIND_OVERFLOW},
        {"length in pages", word32(header, PAGE_RUN), pages, pages},
    };
    return CHECK_FIELDS(&walk, first, fields);
}

const struct store_value *store_values_find(const struct store_values *values, uint64_t key)
{
    size_t low = 0, high = values->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (values->list[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < values->count && values->list[low].key == key ? &values->list[low] : NULL;
}

void store_values_free(struct store_values *values)
{
    free(values->list);
    *values = (struct store_values){0};
}
