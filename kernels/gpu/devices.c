#include "kernels/gpu/devices.h"

#include <assert.h>
#include <stdio.h>

/* A device whose context cannot be made (in exclusive use, failed, full) is described all the
 * same. */
static enum tn_status measure_free(const struct gpu_driver *driver, int device,
                                   struct gpu_device *out, struct error *error)
{
    struct gpu_context *context = NULL;
    size_t unused = 0, total = 0;
    enum tn_status status = gpu_check(driver, driver->context_retain(&context, device), error,
                                      "cuDevicePrimaryCtxRetain");
    if (status != TN_OK) { return status; }
    status = gpu_check(driver, driver->context_set(context), error, "cuCtxSetCurrent");
    if (status == TN_OK) {
        status = gpu_check(driver, driver->memory_info(&unused, &total), error, "cuMemGetInfo");
    }
    (void)driver->context_set(NULL);
    (void)driver->context_release(device); /* A device that failed is reported above. */
    if (status == TN_OK) { out->free_bytes = unused; }
    return status;
}

static enum tn_status attribute(const struct gpu_driver *driver, int device, int which,
                                uint32_t *value, struct error *error)
{
    int found = 0;
    enum tn_status status = gpu_check(driver, driver->device_attribute(&found, which, device),
                                      error, "cuDeviceGetAttribute of attribute %d", which);
    *value = (uint32_t)found;
    return status;
}

static enum tn_status describe(const struct gpu_driver *driver, int index, struct gpu_device *out,
                               struct error *error)
{
    int device = 0;
    size_t bytes = 0;
    enum tn_status status =
        gpu_check(driver, driver->device_get(&device, index), error, "cuDeviceGet");
    if (status == TN_OK) {
        status = gpu_check(driver, driver->device_name(out->name, (int)sizeof out->name, device),
                           error, "cuDeviceGetName");
    }
    if (status == TN_OK) {
        status =
            gpu_check(driver, driver->device_memory(&bytes, device), error, "cuDeviceTotalMem");
    }
    out->memory_bytes = bytes;
    const struct {
        int which;
        uint32_t *value;
    } attributes[] = {
        {GPU_CAPABILITY_MAJOR, &out->major},
        {GPU_CAPABILITY_MINOR, &out->minor},
        {GPU_MULTIPROCESSORS, &out->multiprocessors},
    };
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0] && status == TN_OK; i++) {
        status = attribute(driver, device, attributes[i].which, attributes[i].value, error);
    }
    struct error problem = {.text = ""};
    if (status == TN_OK && measure_free(driver, device, out, &problem) != TN_OK) {
        (void)snprintf(out->problem, sizeof out->problem, "%s", problem.text);
    }
    return status;
}

enum tn_status gpu_devices_list(const struct gpu_driver *driver, struct gpu_devices *devices,
                                struct error *error)
{
    assert(driver != NULL);
    assert(devices != NULL);
    int version = 0, count = 0;
    *devices = (struct gpu_devices){.count = 0};
    enum tn_status status =
        gpu_check(driver, driver->driver_version(&version), error, "cuDriverGetVersion");
    if (status == TN_OK) {
        status = gpu_check(driver, driver->device_count(&count), error, "cuDeviceGetCount");
    }
    devices->driver_major = (uint32_t)version / 1000;
    devices->driver_minor = (uint32_t)version % 1000 / 10;
    for (int i = 0; i < count && i < GPU_DEVICES_MAX && status == TN_OK; i++) {
        status = describe(driver, i, &devices->list[i], error);
        if (status != TN_OK) { return error_context(error, "GPU %d", i); }
        devices->count++;
    }
    return status;
}

enum tn_status gpu_devices_count(uint32_t *count, struct error *error)
{
    const struct gpu_driver *driver = NULL;
    int found = 0;
    assert(count != NULL);
    *count = 0;
    enum tn_status status = gpu_driver_open(&driver, error);
    if (status == TN_OK) {
        status = gpu_check(driver, driver->device_count(&found), error, "cuDeviceGetCount");
    }
    if (status == TN_OK) { *count = (uint32_t)found; }
    return status;
}
