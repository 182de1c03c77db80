/* The array of a gradient whose pages are those of memory that ps share. */
#include "worker/gradient_array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/memory_file.h"
#include "common/net/slots.h"

enum {
    PAGE = 4096,
    FIRST = 1280, /* Floats of the first shard: a page and a quarter. */
    COUNT = 4096, /* All parameters. */
    SHARED_BYTES = 16 * PAGE,
    NUMBER = 7, /* The number of the memory that the first ps shares. */
};

static const struct placement shards[] = {{0, FIRST}, {FIRST, COUNT - FIRST}};
static uint8_t *memory; /* A half for each ps. */
static int fd;
static bool available[2];    /* The ps has a place. */
static size_t place_page[2]; /* The page of that place in the half of the ps. */
static int reserved[2];
static struct gradient_array array;

static void end_reservation(void *ctx)
{
    --*(int *)ctx;
}

static struct buffer *reserve(void *ctx, uint32_t ps, uint32_t line, size_t bytes)
{
    (void)ctx;
    assert_int_equal(bytes, shards[ps].count * sizeof(float));
    if (!available[ps] || reserved[ps] > 0) { return NULL; }
    uint8_t *half = memory + ps * SHARED_BYTES / 2;
    struct buffer *place = buffer_wrap(half + place_page[ps] * PAGE + (size_t)line * 64, bytes,
                                       end_reservation, &reserved[ps]);
    assert_non_null(place);
    place->memory = NUMBER + ps;
    reserved[ps]++;
    return place;
}

static const struct gradient_places places = {NULL, reserve};

static int begin(void **state)
{
    (void)state;
    const struct memory_port port = memory_port_of_machine();
    void *mapped = NULL;
    fd = memory_file_create("test", SHARED_BYTES, &mapped);
    memory = mapped;
    for (int p = 0; p < 2; p++) {
        available[p] = true;
        place_page[p] = 0;
        reserved[p] = 0;
    }
    gradient_array_open(&array, &port, &places, shards, 2, 0);
    return fd < 0 || array.memory == NULL || port.page_bytes != PAGE;
}

static int end(void **state)
{
    (void)state;
    gradient_array_close(&array);
    assert_int_equal(reserved[0] + reserved[1], 0);
    munmap(memory, SHARED_BYTES);
    close(fd);
    return 0;
}

/* A gradient with the elements `from`, `from` + 1, and so on. */
static struct buffer *compute(float from)
{
    struct buffer *gradient = gradient_array_begin(&array);
    assert_non_null(gradient);
    assert_int_equal(gradient->size, COUNT * sizeof(float));
    float *elements = gradient->data;
    for (int i = 0; i < COUNT; i++) { elements[i] = from + (float)i; }
    return gradient;
}

static void assert_elements(const struct buffer *range, float from)
{
    const float *elements = range->data;
    for (size_t i = 0; i < range->size / sizeof(float); i++) {
        if (elements[i] != from + (float)i) { fail_msg("element %zu is %f", i, elements[i]); }
    }
}

static void assert_range(uint32_t ps, float from)
{
    struct buffer *range = gradient_array_range(&array, ps);
    assert_int_equal(range->size, shards[ps].count * sizeof(float));
    assert_int_equal(range->memory, NUMBER + ps);
    assert_elements(range, from);
    buffer_release(range);
}

/* Each ps finds its range in the memory that it shares, also where a page is in two ranges. */
static void each_range_is_in_its_place(void **state)
{
    (void)state;
    buffer_release(compute(10));
    assert_range(0, 10);
    assert_range(1, 10 + FIRST);
    buffer_release(compute(20));
    assert_range(1, 20 + FIRST);
    assert_range(0, 20);
}

/* Arrays of different numbers begin at different lines. */
static void arrays_begin_apart(void **state)
{
    (void)state;
    const struct memory_port port = memory_port_of_machine();
    struct gradient_array other;
    gradient_array_open(&other, &port, &places, shards, 2, 1);
    assert_int_not_equal(other.begin % PAGE, array.begin % PAGE);
    gradient_array_close(&other);
}

/* The places are kept while the gradient may be sent again, also when its memory was released. */
static void places_stay_until_the_next_gradient(void **state)
{
    (void)state;
    buffer_release(compute(10));
    assert_range(0, 10);
    assert_int_equal(reserved[0], 1);
    assert_int_equal(reserved[1], 1);
    assert_range(0, 10);
    assert_range(1, 10 + FIRST);
}

/* A gradient in use is not overwritten, and neither is a range that is still being sent. */
static void gradients_in_use_do_not_change(void **state)
{
    (void)state;
    struct buffer *gradient = compute(10);
    assert_null(gradient_array_begin(&array));
    struct buffer *sent = gradient_array_range(&array, 1);
    buffer_release(gradient);
    assert_null(gradient_array_begin(&array));
    assert_elements(sent, 10 + FIRST);
    buffer_release(sent);
    buffer_release(compute(20));
}

/* Without a place for each range there is no gradient, and no place stays reserved. */
static void all_ps_have_places(void **state)
{
    (void)state;
    available[1] = false;
    assert_null(gradient_array_begin(&array));
    assert_int_equal(reserved[0], 0);
    available[1] = true;
    buffer_release(compute(10));
    assert_range(1, 10 + FIRST);
}

/* A ps has restarted: the next gradient is in its new memory, and the old one does not change. */
static void new_memory_replaces_pages(void **state)
{
    (void)state;
    buffer_release(compute(10));
    struct buffer *old = gradient_array_range(&array, 1);
    assert_non_null(old);
    reserved[1] = 0; /* The new memory has places of its own. */
    place_page[1] = 4;
    buffer_release(compute(20));
    assert_range(1, 20 + FIRST);
    assert_elements(old, 10 + FIRST);
    reserved[1]++;
    buffer_release(old);
}

/* A place that the ps reads is not written once more, not even with the same bytes. */
static void complete_ranges_are_not_written(void **state)
{
    (void)state;
    struct buffer *gradient = compute(10);
    assert_range(0, 10);
    ((float *)gradient->data)[0] = 5; /* In a page that is copied. */
    assert_range(0, 10);
    buffer_release(gradient);
}

static bool fail_alias(void *ctx, const struct buffer *body, size_t offset, void *to, size_t bytes,
                       bool writable)
{
    (void)ctx;
    (void)body;
    (void)offset;
    return writable && munmap(to, bytes) != 0;
}

/* Where pages cannot be shared there is no array, and gradients are computed elsewhere. */
static void failures_close_the_array(void **state)
{
    (void)state;
    array.port.alias = fail_alias;
    assert_null(gradient_array_begin(&array));
    assert_null(array.memory);
    assert_null(gradient_array_begin(&array));
    const struct memory_port none = {.page_bytes = 0};
    gradient_array_open(&array, &none, &places, shards, 2, 0);
    assert_null(gradient_array_begin(&array));
}

/* A range of several chunks has no place, and its array takes no memory. */
static void large_ranges_have_no_array(void **state)
{
    (void)state;
    const struct placement large = {0, SLOT_BYTES / sizeof(float) + 16};
    const struct memory_port port = memory_port_of_machine();
    gradient_array_close(&array);
    gradient_array_open(&array, &port, &places, &large, 1, 0);
    assert_null(array.memory);
    assert_null(gradient_array_begin(&array));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_range_is_in_its_place, begin, end),
        cmocka_unit_test_setup_teardown(arrays_begin_apart, begin, end),
        cmocka_unit_test_setup_teardown(places_stay_until_the_next_gradient, begin, end),
        cmocka_unit_test_setup_teardown(gradients_in_use_do_not_change, begin, end),
        cmocka_unit_test_setup_teardown(all_ps_have_places, begin, end),
        cmocka_unit_test_setup_teardown(new_memory_replaces_pages, begin, end),
        cmocka_unit_test_setup_teardown(complete_ranges_are_not_written, begin, end),
        cmocka_unit_test_setup_teardown(failures_close_the_array, begin, end),
        cmocka_unit_test_setup_teardown(large_ranges_have_no_array, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
