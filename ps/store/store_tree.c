#include "ps/store/store_tree.h"

#include <assert.h>
#include <string.h>

#include "ps/store/store_page_format.h"

enum {
    OFFSET_BYTES = 2, /* Size of a node's offset, at the start of its page. */
    LEAF_NODE_BYTES = NODE_HEADER_BYTES + KEY_BYTES + 8,
    BRANCH_NODE_BYTES = NODE_HEADER_BYTES + KEY_BYTES,
};

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    assert(b > 0);
    return a / b + (a % b != 0);
}

/* -------------------------------------------------------------------- plan */

static uint64_t chunks_of(const struct store_header *header)
{
    return store_chunks(header->count, header->chunk_floats);
}

/* The record of the first chunk: the header and perhaps a blob are in front of it. */
static uint64_t first_chunk_of(const struct store_header *header)
{
    return header->blob_bytes > 0 ? 2 : 1;
}

static uint64_t pages_of_value(const struct store_tree *tree, uint64_t bytes)
{
    return divide_up(bytes + STORE_PAGE_HEADER_BYTES, tree->page_bytes);
}

static uint64_t bytes_of_chunk(const struct store_header *header, uint64_t chunk)
{
    return DIGEST_BYTES +
           (uint64_t)store_chunk_length(header->count, header->chunk_floats, chunk) * 4;
}

static uint64_t value_pages(const struct store_tree *tree)
{
    const struct store_header *header = tree->header;
    const uint64_t chunks = chunks_of(header);
    uint64_t array = 0;
    if (chunks > 0) {
        array = (chunks - 1) * pages_of_value(tree, bytes_of_chunk(header, 0)) +
                pages_of_value(tree, bytes_of_chunk(header, chunks - 1));
    }
    const uint64_t blob = header->blob_bytes > 0 ? pages_of_value(tree, header->blob_bytes) : 0;
    return pages_of_value(tree, STORE_HEADER_BYTES) + blob + array * header->state_arrays;
}

/* How many nodes a page of a level has room for. */
static uint64_t nodes_per_page(const struct store_tree *tree, uint32_t level)
{
    const uint64_t node = level == 0 ? LEAF_NODE_BYTES : BRANCH_NODE_BYTES;
    return (tree->page_bytes - PAGE_HEADER_BYTES) / (node + OFFSET_BYTES);
}

void store_tree_plan(struct store_tree *tree, const struct store_header *header, size_t page_bytes)
{
    assert(page_bytes >= PAGE_BYTES_MIN && page_bytes <= PAGE_BYTES_MAX);
    *tree = (struct store_tree){.header = header, .page_bytes = page_bytes};
    tree->records = first_chunk_of(header) + chunks_of(header) * header->state_arrays;
    uint64_t below = tree->records;
    tree->first_value = META_PAGES;
    do {
        assert(tree->levels < STORE_LEVELS_MAX);
        below = divide_up(below, nodes_per_page(tree, tree->levels));
        tree->level_pages[tree->levels++] = below;
        tree->first_value += below;
    } while (below > 1);
    tree->pages = tree->first_value + value_pages(tree);
}

struct store_record store_tree_record(const struct store_tree *tree, uint64_t index)
{
    assert(index < tree->records);
    const struct store_header *header = tree->header;
    const uint64_t first_chunk = first_chunk_of(header);
    struct store_record record = {.key = STORE_KEY_HEADER, .bytes = STORE_HEADER_BYTES};
    if (index >= first_chunk) {
        const uint64_t chunks = chunks_of(header), at = index - first_chunk;
        record.key = store_key_of_chunk((uint32_t)(at / chunks), at % chunks);
        record.bytes = bytes_of_chunk(header, at % chunks);
    } else if (index == 1) {
        record = (struct store_record){.key = STORE_KEY_BLOB, .bytes = header->blob_bytes};
    }
    record.pages = pages_of_value(tree, record.bytes);
    return record;
}

/* ------------------------------------------------------------------- pages */

static void put16(uint8_t *out, uint64_t value)
{
    const uint16_t word = (uint16_t)value;
    memcpy(out, &word, sizeof word);
}

static void put32(uint8_t *out, uint64_t value)
{
    const uint32_t word = (uint32_t)value;
    memcpy(out, &word, sizeof word);
}

static void put64(uint8_t *out, uint64_t value)
{
    memcpy(out, &value, sizeof value);
}

/* Big-endian, so that LMDB's order of keys is the order of the numbers. */
static void put_key(uint8_t *out, uint64_t key)
{
    for (unsigned i = 0; i < KEY_BYTES; i++) { out[i] = (uint8_t)(key >> (56 - 8 * i)); }
}

/* LMDB uses the meta page of the later transaction; both describe the whole file. */
static void encode_meta(const struct store_tree *tree, uint64_t number, uint8_t *page)
{
    uint8_t *records = page + META_TREE;
    put64(page, number);
    put16(page + PAGE_FLAGS, KIND_META);
    put32(page + META_MAGIC, FILE_MAGIC);
    put32(page + META_VERSION, FILE_VERSION);
    put64(page + META_MAP_BYTES, tree->pages * tree->page_bytes);
    put32(page + META_PAGE_BYTES, tree->page_bytes);
    put16(page + META_FREE_TREE + TREE_FLAGS, KEYS_ARE_NUMBERS);
    put64(page + META_FREE_TREE + TREE_ROOT, NO_PAGE);
    put16(records + TREE_DEPTH, tree->levels);
    put64(records + TREE_BRANCH_PAGES, tree->first_value - META_PAGES - tree->level_pages[0]);
    put64(records + TREE_LEAF_PAGES, tree->level_pages[0]);
    put64(records + TREE_OVERFLOW_PAGES, tree->pages - tree->first_value);
    put64(records + TREE_ENTRIES, tree->records);
    put64(records + TREE_ROOT, tree->first_value - 1);
    put64(page + META_LAST_PAGE, tree->pages - 1);
    put64(page + META_TRANSACTION, number);
}

/* Begin the page of `count` nodes, and return the first node: they lie at the end of the page. */
static uint8_t *begin_page(const struct store_tree *tree, uint64_t number, unsigned kind,
                           uint64_t count, size_t node_bytes, uint8_t *page)
{
    const size_t upper = tree->page_bytes - (size_t)count * node_bytes;
    put64(page, number);
    put16(page + PAGE_FLAGS, kind);
    put16(page + PAGE_LOWER, PAGE_HEADER_BYTES + count * OFFSET_BYTES);
    put16(page + PAGE_UPPER, upper);
    assert(PAGE_HEADER_BYTES + count * OFFSET_BYTES <= upper);
    for (uint64_t i = 0; i < count; i++) {
        put16(page + PAGE_HEADER_BYTES + i * OFFSET_BYTES, upper + i * node_bytes);
    }
    return page + upper;
}

static void encode_leaf_node(const struct store_record *record, uint64_t first, uint8_t *node)
{
    put16(node + NODE_LOW, record->bytes);
    put16(node + NODE_MIDDLE, record->bytes >> 16);
    put16(node + NODE_FLAGS, NODE_IS_LARGE);
    put16(node + NODE_KEY_BYTES, KEY_BYTES);
    put_key(node + NODE_HEADER_BYTES, record->key);
    put64(node + NODE_HEADER_BYTES + KEY_BYTES, first);
}

/* The key of a branch is the first one of its child. */
static void encode_branch_node(uint64_t number, const uint8_t *child, uint8_t *node)
{
    uint16_t first;
    memcpy(&first, child + PAGE_HEADER_BYTES, sizeof first);
    put16(node + NODE_LOW, number);
    put16(node + NODE_MIDDLE, number >> 16);
    put16(node + NODE_FLAGS, number >> 32); /* The highest bits of the number. */
    put16(node + NODE_KEY_BYTES, KEY_BYTES);
    memcpy(node + NODE_HEADER_BYTES, child + first + NODE_HEADER_BYTES, KEY_BYTES);
}

/* Nodes are spread evenly over the pages of a level: LMDB refuses a branch with one child. */
static uint64_t first_node_of(uint64_t nodes, uint64_t pages, uint64_t page)
{
    return page * (nodes / pages) + (page < nodes % pages ? page : nodes % pages);
}

static void encode_leaves(const struct store_tree *tree, uint8_t *out)
{
    const uint64_t pages = tree->level_pages[0];
    uint64_t index = 0, value = tree->first_value;
    for (uint64_t p = 0; p < pages; p++) {
        const uint64_t end = first_node_of(tree->records, pages, p + 1);
        const uint64_t number = META_PAGES + p;
        uint8_t *node = begin_page(tree, number, KIND_LEAF, end - index, LEAF_NODE_BYTES,
                                   out + number * tree->page_bytes);
        for (; index < end; index++, node += LEAF_NODE_BYTES) {
            const struct store_record record = store_tree_record(tree, index);
            encode_leaf_node(&record, value, node);
            value += record.pages;
        }
    }
    assert(index == tree->records && value == tree->pages);
}

/* `first` and `below` are the first pages of this level and of the one below. */
static void encode_branches(const struct store_tree *tree, uint32_t level, uint64_t below,
                            uint64_t first, uint8_t *out)
{
    const uint64_t pages = tree->level_pages[level], nodes = tree->level_pages[level - 1];
    for (uint64_t p = 0; p < pages; p++) {
        const uint64_t begin = first_node_of(nodes, pages, p);
        const uint64_t end = first_node_of(nodes, pages, p + 1);
        uint8_t *node = begin_page(tree, first + p, KIND_BRANCH, end - begin, BRANCH_NODE_BYTES,
                                   out + (first + p) * tree->page_bytes);
        for (uint64_t i = begin; i < end; i++, node += BRANCH_NODE_BYTES) {
            encode_branch_node(below + i, out + (below + i) * tree->page_bytes, node);
        }
    }
}

void store_tree_encode(const struct store_tree *tree, uint8_t *out)
{
    assert(out != NULL);
    for (uint64_t i = 0; i < META_PAGES; i++) { encode_meta(tree, i, out + i * tree->page_bytes); }
    encode_leaves(tree, out);
    uint64_t below = META_PAGES;
    for (uint32_t level = 1; level < tree->levels; level++) {
        const uint64_t first = below + tree->level_pages[level - 1];
        encode_branches(tree, level, below, first, out);
        below = first;
    }
}

void store_tree_encode_value_header(uint64_t first, uint64_t pages,
                                    uint8_t out[static STORE_PAGE_HEADER_BYTES])
{
    memset(out, 0, STORE_PAGE_HEADER_BYTES);
    put64(out, first);
    put16(out + PAGE_FLAGS, KIND_OVERFLOW);
    put32(out + PAGE_RUN, pages);
}
