/* kernels/gpu/driver.h: codes of the driver as errors; the library itself: contract
 * test_devices.py. */
#include "kernels/gpu/driver.h"

#include "tests/unit/kernels/gpu/machine.h"

static void codes_become_errors_with_the_texts_of_the_driver(void **state)
{
    (void)state;
    const struct gpu_driver *driver = emulated_driver();
    struct error error = {.text = ""};
    assert_int_equal(gpu_check(driver, GPU_SUCCESS, &error, "nothing"), TN_OK);
    assert_string_equal(error.text, "");
    assert_int_equal(gpu_check(driver, GPU_OUT_OF_MEMORY, &error, "%d bytes", 77), TN_ENOMEM);
    assert_string_equal(error.text,
                        "77 bytes: the driver reports CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
    assert_int_equal(gpu_check(driver, GPU_NO_DEVICE, &error, "cuInit"), TN_ENOENT);
    assert_int_equal(gpu_check(driver, GPU_LAUNCH_FAILED, &error, "add"), TN_EINTERNAL);
    assert_int_equal(gpu_check(driver, 12345, &error, "add"), TN_EINTERNAL);
    assert_string_equal(error.text, "add: the driver reports unknown code (12345): no text");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_become_errors_with_the_texts_of_the_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
