/* The selection of the class of processors. */
#include "kernels/portable/portable.h"

#include "tests/unit/kernels/portable/classes.h"

/* Plain C exists on every machine; NULL and "auto" give the fastest class. */
static void test_the_fastest_class_is_the_default(void **state)
{
    (void)state;
    const struct portable *kernels;
    struct error error;
    unsetenv(PORTABLE_VARIABLE);
    assert_int_equal(portable_open("scalar", &kernels, &error), TN_OK);
    assert_string_equal(kernels->name, "scalar");
    assert_int_equal(portable_open(NULL, &kernels, &error), TN_OK);
    assert_ptr_equal(kernels, portable_fastest());
    assert_int_equal(portable_open("auto", &kernels, &error), TN_OK);
    assert_ptr_equal(kernels, portable_fastest());
}

/* The environment variable forces a class; the caller's name takes precedence. */
static void test_the_variable_forces_a_class(void **state)
{
    (void)state;
    const struct portable *kernels;
    struct error error;
    setenv(PORTABLE_VARIABLE, "scalar", 1);
    assert_int_equal(portable_open(NULL, &kernels, &error), TN_OK);
    assert_string_equal(kernels->name, "scalar");
    assert_int_equal(portable_open("auto", &kernels, &error), TN_OK);
    assert_ptr_equal(kernels, portable_fastest());
    unsetenv(PORTABLE_VARIABLE);
}

/* An unknown name is refused; the text has the variable, the value and the names that exist. */
static void test_an_unknown_class_is_refused(void **state)
{
    (void)state;
    const struct portable *kernels;
    struct error error;
    setenv(PORTABLE_VARIABLE, "sse9", 1);
    assert_int_equal(portable_open(NULL, &kernels, &error), TN_EINVAL);
    assert_null(kernels);
    assert_non_null(strstr(error.text, PORTABLE_VARIABLE " 'sse9'"));
    assert_non_null(strstr(error.text, "auto, avx512, avx2, neon, scalar"));
    unsetenv(PORTABLE_VARIABLE);
    assert_int_equal(portable_open("", &kernels, &error), TN_EINVAL);
}

/* A class is either opened under its own name or refused with the instructions it lacks and the
 * class to use instead. */
static void test_a_missing_class_names_the_remedy(void **state)
{
    (void)state;
    static const char *const names[] = {"avx512", "avx2", "neon"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct portable *kernels;
        struct error error;
        enum tn_status status = portable_open(names[i], &kernels, &error);
        if (status == TN_OK) {
            assert_string_equal(kernels->name, names[i]);
            continue;
        }
        assert_int_equal(status, TN_ENOTSUP);
        assert_non_null(strstr(error.text, names[i]));
        assert_non_null(strstr(error.text, portable_fastest()->name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_fastest_class_is_the_default),
        cmocka_unit_test(test_the_variable_forces_a_class),
        cmocka_unit_test(test_an_unknown_class_is_refused),
        cmocka_unit_test(test_a_missing_class_names_the_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
