/* The array of all parameters, whose pages may be those of memory that a ps shares. */
#include "worker/value_array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/memory_file.h"

enum {
    PAGE = 4096,
    BEGIN = PAGE + 1024, /* Where the first shard ends and the second one begins. */
    BYTES = 4 * PAGE,    /* All parameters. */
    MEMORY_BYTES = 8 * PAGE,
    NUMBER = 7, /* The number of the shared memory. */
};

static struct value_array array;
static struct buffer_pool *pool;
static uint8_t *memory;
static int fd, releases, calls_left, tries;

static int begin(void **state)
{
    (void)state;
    const struct memory_port port = memory_port_of_machine();
    void *mapped = NULL;
    pool = buffer_pool_create(0);
    fd = memory_file_create("test", MEMORY_BYTES, &mapped);
    memory = mapped;
    releases = 0;
    return !value_array_open(&array, &port, VALUES_BY_CHUNK, BYTES, pool) || fd < 0 ||
           port.page_bytes != PAGE;
}

/* The same with an array for answers of any number of bodies. */
static int begin_by_answer(void **state)
{
    const struct memory_port port = memory_port_of_machine();
    if (begin(state) != 0) { return -1; }
    value_array_close(&array);
    return !value_array_open(&array, &port, VALUES_BY_ANSWER, BYTES, pool);
}

static int end(void **state)
{
    (void)state;
    value_array_close(&array);
    munmap(memory, MEMORY_BYTES);
    close(fd);
    buffer_pool_destroy(pool);
    return 0;
}

static void count_release(void *ctx)
{
    (void)ctx;
    releases++;
}

/* A body at byte `at` of the shared memory. */
static struct buffer *lend(size_t at, int contents, size_t bytes)
{
    memset(memory + at, contents, bytes);
    struct buffer *body = buffer_wrap(memory + at, bytes, count_release, NULL);
    assert_non_null(body);
    body->memory = NUMBER;
    return body;
}

static void take(uint32_t ps, size_t offset, struct buffer *body)
{
    assert_true(value_array_take(&array, ps, 0, offset, body));
    buffer_release(body);
}

static void assert_values(size_t from, size_t until, int contents)
{
    const uint8_t *values = array.values->data;
    for (size_t i = from; i < until; i++) {
        if (values[i] != contents) { fail_msg("byte %zu is %d, not %d", i, values[i], contents); }
    }
}

/* A body stays in use until the array is returned, and its whole pages are not copied. */
static void body_is_used_where_it_is(void **state)
{
    (void)state;
    take(1, BEGIN, lend(2 * PAGE + 1024, 5, BYTES - BEGIN));
    assert_values(BEGIN, BYTES, 5);
    assert_int_equal(releases, 0);
    memset(memory, 6, MEMORY_BYTES); /* A ps does not do this while the body is in use. */
    assert_values(BEGIN, 2 * PAGE, 5);
    assert_values(2 * PAGE, BYTES, 6);
    value_array_return(&array);
    assert_int_equal(releases, 1);
}

/* The page in which one shard ends and another one begins has the values of both. */
static void shards_meet_in_a_page(void **state)
{
    (void)state;
    take(1, BEGIN, lend(2 * PAGE + 1024, 5, BYTES - BEGIN));
    take(0, 0, lend(6 * PAGE, 3, BEGIN));
    assert_values(0, BEGIN, 3);
    assert_values(BEGIN, BYTES, 5);
    take(1, BEGIN, lend(2 * PAGE + 1024, 8, BYTES - BEGIN));
    assert_values(0, BEGIN, 3);
    assert_values(BEGIN, BYTES, 8);
    value_array_return(&array);
    assert_int_equal(releases, 3);
}

/* Bodies whose pages differ from the array's, or that are not in shared memory, are copied; pages
 * of an earlier body are no longer written or seen. */
static void other_bodies_are_copied(void **state)
{
    (void)state;
    take(1, BEGIN, lend(1024, 5, BYTES - BEGIN));
    take(1, BEGIN, lend(3 * PAGE + 1088, 6, BYTES - BEGIN));
    assert_int_equal(releases, 2);
    assert_values(BEGIN, BYTES, 6);
    assert_int_equal(memory[2 * PAGE], 5);
    memset(memory, 1, MEMORY_BYTES);
    assert_values(BEGIN, BYTES, 6);
    take(1, BEGIN, lend(1024, 7, BYTES - BEGIN));
    assert_values(BEGIN, BYTES, 7);
    struct buffer *copied = buffer_acquire(pool, BYTES - BEGIN);
    copied->size = BYTES - BEGIN;
    memset(copied->data, 9, copied->size);
    take(1, BEGIN, copied);
    assert_values(BEGIN, BYTES, 9);
    assert_int_equal(memory[2 * PAGE], 7);
}

/* Another memory may be mapped where an earlier one was. */
static void memory_at_the_same_address_is_another_one(void **state)
{
    (void)state;
    take(1, BEGIN, lend(1024, 5, BYTES - BEGIN));
    value_array_return(&array);
    const int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED;
    assert_ptr_equal(mmap(memory, MEMORY_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0), memory);
    struct buffer *body = lend(1024, 6, BYTES - BEGIN);
    body->memory = NUMBER + 1;
    take(1, BEGIN, body);
    assert_values(BEGIN, BYTES, 6);
}

/* Bodies of less than a page, and those between two pages, are copied. */
static void body_without_a_whole_page_is_copied(void **state)
{
    (void)state;
    take(0, 64, lend(64, 5, PAGE));
    assert_values(64, PAGE + 64, 5);
    take(1, 2 * PAGE + 64, lend(64, 6, 64));
    assert_values(2 * PAGE + 64, 2 * PAGE + 128, 6);
    assert_int_equal(releases, 2);
}

/* An array of long answers has memory of the pool, and copies all bodies. */
static void array_that_does_not_share_copies(void **state)
{
    (void)state;
    const struct memory_port port = memory_port_of_machine();
    value_array_close(&array);
    assert_true(value_array_open(&array, &port, VALUES_COPIED, BYTES, pool));
    struct buffer *body = lend(0, 5, PAGE);
    assert_true(value_array_take(&array, 1, VALUE_BODIES_MAX, 0, body));
    buffer_release(body);
    assert_int_equal(releases, 1);
    assert_values(0, PAGE, 5);
}

static bool fail_alias(void *ctx, const struct buffer *body, size_t offset, void *to, size_t bytes,
                       bool writable)
{
    (void)ctx;
    (void)writable;
    (void)body;
    (void)offset;
    tries++;
    return munmap(to, bytes) != 0;
}

static bool fail_unalias(void *ctx, void *to, size_t bytes)
{
    (void)ctx;
    return calls_left-- > 0 && memory_port_of_machine().unalias(NULL, to, bytes);
}

/* A body whose pages cannot be shared is copied, and sharing is not tried again. */
static void failures_are_copies(void **state)
{
    (void)state;
    array.port.alias = fail_alias;
    array.port.unalias = fail_unalias;
    calls_left = 1;
    tries = 0;
    take(1, BEGIN, lend(1024, 5, BYTES - BEGIN));
    assert_int_equal(releases, 1);
    assert_values(BEGIN, BYTES, 5);
    take(1, BEGIN, lend(1024, 6, BYTES - BEGIN));
    assert_values(BEGIN, BYTES, 6);
    assert_int_equal(tries, 1);
}

/* The array has neither the pages of the body nor its own. */
static void lost_pages_are_an_error(void **state)
{
    (void)state;
    array.port.alias = fail_alias;
    array.port.unalias = fail_unalias;
    calls_left = 0;
    struct buffer *body = lend(1024, 6, BYTES - BEGIN);
    assert_false(value_array_take(&array, 1, 0, BEGIN, body));
    buffer_release(body);
}

/* ----------------------------------------------------------- whole answers */

enum { CHUNK = 3 * 1024 };

/* Take the body of bytes [from, until) of an answer that begins at byte `at` of the memory. */
static void take_part(uint32_t number, size_t at, size_t from, size_t until, uint64_t in)
{
    struct buffer *body = buffer_wrap(memory + at + from, until - from, count_release, NULL);
    assert_non_null(body);
    body->memory = in;
    assert_true(value_array_take(&array, 1, number, BEGIN + from, body));
    buffer_release(body);
}

/* An answer of three chunks, with these contents. */
static void take_answer(size_t at, int contents)
{
    memset(memory + at, contents, BYTES - BEGIN);
    take_part(0, at, 0, CHUNK, NUMBER);
    take_part(1, at, CHUNK, 2 * CHUNK, NUMBER);
    take_part(2, at, 2 * CHUNK, BYTES - BEGIN, NUMBER);
}

/* The last chunk of an answer keeps all of it, which appears when the array is complete, and leaves
 * it before the ps may write there. */
static void answer_is_used_where_it_is(void **state)
{
    (void)state;
    take_answer(1024, 5);
    assert_int_equal(releases, 2);
    assert_values(BEGIN, BYTES, 0);
    assert_true(value_array_complete(&array));
    assert_values(BEGIN, BYTES, 5);
    memset(memory, 6, MEMORY_BYTES); /* A ps does not do this while the answer is in use. */
    assert_values(2 * PAGE, BYTES, 6);
    assert_int_equal(releases, 2);
    value_array_return(&array);
    assert_int_equal(releases, 3);
    memset(memory, 7, MEMORY_BYTES);
    assert_values(2 * PAGE, BYTES, 0);
    take_answer(3 * PAGE + 1024, 8);
    assert_true(value_array_complete(&array));
    assert_values(BEGIN, BYTES, 8);
    value_array_return(&array);
    assert_int_equal(releases, 6);
}

/* A shard of another ps in the same page keeps its values. */
static void answers_meet_in_a_page(void **state)
{
    (void)state;
    take(0, 0, lend(6 * PAGE, 3, BEGIN));
    take_answer(1024, 5);
    assert_true(value_array_complete(&array));
    assert_values(0, BEGIN, 3);
    assert_values(BEGIN, BYTES, 5);
}

/* Chunks that are not behind each other, that are in other memory, or in none are copied, and so
 * are those before and behind them. */
static void scattered_answers_are_copied(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        memset(memory, 5, MEMORY_BYTES);
        take_part(0, 1024, 0, CHUNK, NUMBER);
        take_part(1, kind == 0 ? PAGE + 1024 : 1024, CHUNK, 2 * CHUNK, NUMBER + (kind == 1));
        take_part(2, 1024, 2 * CHUNK, BYTES - BEGIN, kind == 2 ? 0 : NUMBER);
        assert_int_equal(releases, 3 * (kind + 1));
        memset(memory, 1, MEMORY_BYTES);
        assert_true(value_array_complete(&array));
        assert_values(BEGIN, BYTES, 5);
        value_array_return(&array);
    }
}

/* An answer that begins again replaces the chunks that were taken, even if these were all. */
static void answer_begins_again(void **state)
{
    (void)state;
    memset(memory, 5, MEMORY_BYTES);
    take_part(0, 1024, 0, CHUNK, NUMBER);
    take_part(1, 1024, CHUNK, 2 * CHUNK, NUMBER);
    take_answer(3 * PAGE + 1024, 6);
    assert_int_equal(releases, 4);
    take_answer(1024, 7);
    assert_int_equal(releases, 7);
    memset(memory + 3 * PAGE + 1024, 1, PAGE);
    assert_true(value_array_complete(&array));
    assert_values(BEGIN, BYTES, 7);
    value_array_return(&array);
    take_part(0, 1024, 0, CHUNK, NUMBER);
    value_array_return(&array);
    assert_int_equal(releases, 9);
}

/* Copy a body to `from` of an answer, as one that grows from its end. */
static void copy_part(uint32_t number, bool first, size_t from, size_t until, int contents)
{
    struct buffer *body = buffer_acquire(pool, until - from);
    assert_non_null(body);
    memset(body->data, contents, until - from);
    assert_true(value_array_copy(&array, 1, number, first, BEGIN + from, body));
    buffer_release(body);
}

/* Bodies that come from the last one to the first one are copied, and the pages of the answer
 * before leave the array with the first of them. If they are given up, a whole answer follows. */
static void growing_answer_is_copied(void **state)
{
    (void)state;
    const size_t end = BYTES - BEGIN;
    take(0, 0, lend(6 * PAGE, 3, BEGIN));
    take_answer(1024, 5);
    assert_true(value_array_complete(&array));
    const int before = releases;
    copy_part(2, true, 2 * CHUNK, end, 6);
    assert_int_equal(releases, before + 1);
    copy_part(1, false, CHUNK, 2 * CHUNK, 6);
    copy_part(0, false, 0, CHUNK, 6);
    assert_int_equal(memory[2 * PAGE], 5); /* The ps may have written there again. */
    assert_true(value_array_complete(&array));
    assert_values(0, BEGIN, 3);
    assert_values(BEGIN, BYTES, 6);
    copy_part(2, true, 2 * CHUNK, end, 7);
    take_answer(1024, 8);
    assert_true(value_array_complete(&array));
    assert_values(BEGIN, BYTES, 8);
    value_array_return(&array);
    memset(memory + 1024, 8, CHUNK);
    take_part(0, 1024, 0, CHUNK, NUMBER); /* An answer that is not continued, */
    copy_part(2, true, 2 * CHUNK, end, 9);
    copy_part(1, false, CHUNK, 2 * CHUNK, 9);
    copy_part(0, false, 0, CHUNK, 9);
    assert_true(value_array_complete(&array)); /* and is not seen. */
    assert_values(BEGIN, BYTES, 9);
}

/* The same in arrays of answers of few bodies, and in those that share no pages. */
static void growing_chunks_are_copied(void **state)
{
    (void)state;
    const size_t half = 2 * PAGE - 1024;
    take(1, BEGIN, lend(1024, 5, half));
    copy_part(1, true, half, BYTES - BEGIN, 6);
    assert_int_equal(releases, 0);
    assert_values(BEGIN, BEGIN + half, 5);
    copy_part(0, false, 0, half, 6);
    assert_int_equal(releases, 1);
    assert_int_equal(memory[1024], 5);
    assert_values(BEGIN, BYTES, 6);
    const struct memory_port port = memory_port_of_machine();
    value_array_close(&array);
    assert_true(value_array_open(&array, &port, VALUES_COPIED, BYTES, pool));
    copy_part(VALUE_BODIES_MAX, true, half, BYTES - BEGIN, 7);
    copy_part(0, false, 0, half, 7);
    assert_values(BEGIN, BYTES, 7);
}

/* Pages that could not leave the array are not written to either. */
static void growing_answer_needs_its_pages(void **state)
{
    (void)state;
    take_answer(1024, 5);
    assert_true(value_array_complete(&array));
    array.port.unalias = fail_unalias;
    calls_left = 0;
    struct buffer *body = lend(5 * PAGE, 6, CHUNK);
    assert_false(value_array_copy(&array, 1, 0, true, BEGIN, body));
    buffer_release(body);
    array.port.unalias = memory_port_of_machine().unalias;
}

/* An answer whose pages cannot be shared is copied when the array is completed. */
static void failed_answers_are_copied(void **state)
{
    (void)state;
    array.port.alias = fail_alias;
    array.port.unalias = fail_unalias;
    calls_left = 1;
    tries = 0;
    for (int i = 0; i < 2; i++) {
        take_answer(1024, 5 + i);
        assert_true(value_array_complete(&array));
        assert_int_equal(releases, 3 * (i + 1));
        memset(memory, 1, MEMORY_BYTES);
        assert_values(BEGIN, BYTES, 5 + i);
        value_array_return(&array);
    }
    take_answer(1088, 4);
    assert_true(value_array_complete(&array));
    assert_values(BEGIN, BYTES, 4);
    assert_int_equal(tries, 1);
}

/* Pages that could not leave the array are not written to. */
static void pages_that_stay_are_an_error(void **state)
{
    (void)state;
    take_answer(1024, 5);
    assert_true(value_array_complete(&array));
    array.port.unalias = fail_unalias;
    calls_left = 0;
    value_array_return(&array);
    assert_int_equal(releases, 3);
    struct buffer *body = lend(1024, 6, CHUNK);
    assert_false(value_array_take(&array, 1, 0, BEGIN, body));
    buffer_release(body);
    array.port.unalias = memory_port_of_machine().unalias;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(body_is_used_where_it_is, begin, end),
        cmocka_unit_test_setup_teardown(shards_meet_in_a_page, begin, end),
        cmocka_unit_test_setup_teardown(other_bodies_are_copied, begin, end),
        cmocka_unit_test_setup_teardown(memory_at_the_same_address_is_another_one, begin, end),
        cmocka_unit_test_setup_teardown(body_without_a_whole_page_is_copied, begin, end),
        cmocka_unit_test_setup_teardown(array_that_does_not_share_copies, begin, end),
        cmocka_unit_test_setup_teardown(failures_are_copies, begin, end),
        cmocka_unit_test_setup_teardown(lost_pages_are_an_error, begin, end),
        cmocka_unit_test_setup_teardown(answer_is_used_where_it_is, begin_by_answer, end),
        cmocka_unit_test_setup_teardown(answers_meet_in_a_page, begin_by_answer, end),
        cmocka_unit_test_setup_teardown(scattered_answers_are_copied, begin_by_answer, end),
        cmocka_unit_test_setup_teardown(answer_begins_again, begin_by_answer, end),
        cmocka_unit_test_setup_teardown(growing_answer_is_copied, begin_by_answer, end),
        cmocka_unit_test_setup_teardown(growing_chunks_are_copied, begin, end),
        cmocka_unit_test_setup_teardown(growing_answer_needs_its_pages, begin_by_answer, end),
        cmocka_unit_test_setup_teardown(failed_answers_are_copied, begin_by_answer, end),
        cmocka_unit_test_setup_teardown(pages_that_stay_are_an_error, begin_by_answer, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
