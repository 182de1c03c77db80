/* kernels/gpu/devices.h: devices are described as the driver shows them, and failures are kept with
 * their device. */
#include "kernels/gpu/devices.h"

#include "tests/unit/kernels/gpu/machine.h"

static struct gpu_devices devices;

static void all_devices_are_described(void **state)
{
    (void)state;
    struct error error = {.text = ""};
    assert_int_equal(machine("devices=3,memory=3000000", NULL), GPU_SUCCESS);
    assert_int_equal(gpu_devices_list(emulated_driver(), &devices, &error), TN_OK);
    assert_int_equal(devices.count, 3);
    assert_int_equal(devices.driver_major, 13);
    assert_int_equal(devices.driver_minor, 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(devices.list[i].name[strlen("Tanist emulated GPU ")], '0' + (int)i);
        assert_int_equal(devices.list[i].major, EMULATED_MAJOR);
        assert_int_equal(devices.list[i].minor, EMULATED_MINOR);
        assert_int_equal(devices.list[i].multiprocessors, 1);
        assert_int_equal(devices.list[i].memory_bytes, 3000000);
        assert_int_equal(devices.list[i].free_bytes, 3000000);
        assert_string_equal(devices.list[i].problem, "");
    }
}

/* Devices that the environment hides are not listed; the rest is numbered from 0. */
static void hidden_devices_are_not_listed(void **state)
{
    (void)state;
    struct error error = {.text = ""};
    assert_int_equal(machine("devices=3", "2,0"), GPU_SUCCESS);
    assert_int_equal(gpu_devices_list(emulated_driver(), &devices, &error), TN_OK);
    assert_int_equal(devices.count, 2);
    assert_string_equal(devices.list[0].name, "Tanist emulated GPU 2");
    assert_string_equal(devices.list[1].name, "Tanist emulated GPU 0");
}

/* The other facts of a device that cannot be opened are known. */
static void a_device_that_cannot_be_opened_has_a_problem(void **state)
{
    (void)state;
    struct error error = {.text = ""};
    assert_int_equal(machine("context=2", NULL), GPU_SUCCESS);
    assert_int_equal(gpu_devices_list(emulated_driver(), &devices, &error), TN_OK);
    assert_int_equal(devices.count, 1);
    assert_int_equal(devices.list[0].free_bytes, 0);
    assert_non_null(strstr(devices.list[0].problem, "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"));
}

/* The driver fails at the first call, the second, and so on: an error or a problem, never
 * silence. */
static void a_failure_at_any_call_is_reported(void **state)
{
    (void)state;
    for (int calls = 0;; calls++) {
        char settings[64];
        struct error error = {.text = ""};
        assert_in_range(snprintf(settings, sizeof settings, "devices=2,calls=%d,error=214", calls),
                        1, 63);
        assert_int_equal(machine(settings, NULL), GPU_SUCCESS);
        const enum tn_status status = gpu_devices_list(emulated_driver(), &devices, &error);
        const bool is_whole = status == TN_OK && devices.list[0].problem[0] == '\0' &&
                              devices.list[1].problem[0] == '\0';
        if (is_whole) {
            assert_in_range(calls, 15, 25); /* All calls were reached. */
            return;
        }
        const char *text = status != TN_OK                      ? error.text
                           : devices.list[0].problem[0] != '\0' ? devices.list[0].problem
                                                                : devices.list[1].problem;
        assert_non_null(strstr(text, "CUDA_ERROR_ECC_UNCORRECTABLE"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_devices_are_described),
        cmocka_unit_test(hidden_devices_are_not_listed),
        cmocka_unit_test(a_device_that_cannot_be_opened_has_a_problem),
        cmocka_unit_test(a_failure_at_any_call_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
