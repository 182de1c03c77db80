#include "kernels/gpu/cublas_identity.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/gpu/cublas.h"
#include "kernels/gpu/driver.h"

enum { IDENTITY_BYTES = 96 };

struct gpu_type {
    int major, minor, multiprocessors;
};

static enum tn_status find_type(const struct gpu_driver *driver, uint32_t number,
                                struct gpu_type *type, struct error *error)
{
    int device = 0;
    const struct {
        int which;
        int *value;
    } attributes[] = {
        {GPU_CAPABILITY_MAJOR, &type->major},
        {GPU_CAPABILITY_MINOR, &type->minor},
        {GPU_MULTIPROCESSORS, &type->multiprocessors},
    };
    enum tn_status status = gpu_check(driver, driver->device_get(&device, (int)number), error,
                                      "/gpu:%" PRIu32 ": cuDeviceGet", number);
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0] && status == TN_OK; i++) {
        const int code = driver->device_attribute(attributes[i].value, attributes[i].which, device);
        status = gpu_check(driver, code, error, "/gpu:%" PRIu32 ": cuDeviceGetAttribute", number);
    }
    return status;
}

static enum tn_status check_types(uint32_t first, const struct gpu_type *a, uint32_t other,
                                  const struct gpu_type *b, struct error *error)
{
    if (a->major == b->major && a->minor == b->minor && a->multiprocessors == b->multiprocessors) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "train.kernels is cublas, but the GPUs of this worker differ: /gpu:%" PRIu32
                     " has capability %d.%d and %d multiprocessors, /gpu:%" PRIu32
                     " has capability %d.%d and %d: choose GPUs of one type with "
                     "CUDA_VISIBLE_DEVICES, or give --set train.kernels=cuda",
                     first, a->major, a->minor, a->multiprocessors, other, b->major, b->minor,
                     b->multiprocessors);
}

static enum tn_status find_types(const struct gpu_driver *driver, uint32_t first, uint32_t count,
                                 struct gpu_type *type, struct error *error)
{
    int shown = 0;
    enum tn_status status =
        gpu_check(driver, driver->device_count(&shown), error, "cuDeviceGetCount");
    if (status == TN_OK && shown < 1) {
        status = error_set(error, TN_ENOENT, "the driver shows no GPU");
    }
    for (uint32_t i = 0; i < count && status == TN_OK; i++) {
        struct gpu_type other = {0};
        const uint32_t number = (first + i) % (uint32_t)shown;
        status = find_type(driver, number, i == 0 ? type : &other, error);
        if (status == TN_OK && i > 0) {
            status = check_types(first % (uint32_t)shown, type, number, &other, error);
        }
    }
    return status;
}

static enum tn_status identify(uint32_t first, uint32_t count, char *text, size_t size,
                               struct error *error)
{
    const struct gpu_driver *driver = NULL;
    struct cublas_version version = {0};
    struct gpu_type type = {0};
    enum tn_status status = gpu_driver_open(&driver, error);
    if (status == TN_OK) { status = find_types(driver, first, count, &type, error); }
    if (status == TN_OK) { status = cublas_find_version(&version, error); }
    (void)snprintf(text, size, CUBLAS_IDENTITY "%d.%d.%d, capability %d.%d, %d" CUBLAS_IDENTITY_END,
                   version.major, version.minor, version.patch, type.major, type.minor,
                   type.multiprocessors);
    return status;
}

enum tn_status cublas_identity(uint32_t first, uint32_t count, char *text, size_t size,
                               struct error *error)
{
    struct error reason = {.status = TN_OK};
    assert(text != NULL && size >= IDENTITY_BYTES);
    enum tn_status status = identify(first, count, text, size, &reason);
    if (status == TN_OK || status == TN_EINVAL) {
        return status == TN_OK ? TN_OK : error_set(error, status, "%s", reason.text);
    }
    return error_set(error, status == TN_EINTERNAL ? TN_EDEVICE : status,
                     "the kernels \"cublas\" cannot be used: %s (train.kernels \"portable\" needs "
                     "no GPU)",
                     reason.text);
}
