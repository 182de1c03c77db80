/* kernels/gpu/driver.h: codes of the driver as errors; functions, attributes and codes are those of
 * NVIDIA's cuda.h where the toolkit is installed, which the compiler compares. The library itself:
 * contract test_devices.py. */
#include "kernels/gpu/driver.h"

#include "tests/unit/kernels/gpu/machine.h"

#if defined(__has_include)
#if __has_include(<cuda.h>)
#include <cuda.h>
#endif
#endif

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

#if defined(CUDA_VERSION)

#define CODE(own, cuda) _Static_assert((int)(own) == (int)(cuda), #own " is not " #cuda)
CODE(GPU_SUCCESS, CUDA_SUCCESS);
CODE(GPU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
CODE(GPU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
CODE(GPU_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
CODE(GPU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
CODE(GPU_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
CODE(GPU_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE);
CODE(GPU_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
CODE(GPU_NO_CODE_FOR_DEVICE, CUDA_ERROR_NO_BINARY_FOR_GPU);
CODE(GPU_ECC_UNCORRECTABLE, CUDA_ERROR_ECC_UNCORRECTABLE);
CODE(GPU_PEER_UNSUPPORTED, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
CODE(GPU_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
CODE(GPU_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
CODE(GPU_NOT_READY, CUDA_ERROR_NOT_READY);
CODE(GPU_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS);
CODE(GPU_PEER_ENABLED, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
CODE(GPU_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED);
CODE(GPU_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);
CODE(GPU_UNKNOWN, CUDA_ERROR_UNKNOWN);
CODE(GPU_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
CODE(GPU_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
CODE(GPU_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
CODE(GPU_PINNED_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
CODE(GPU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
CODE(GPU_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);

/* Codes and attributes are passed as ints, addresses as 64 bits. */
_Static_assert(sizeof(CUresult) == sizeof(gpu_code), "the size of a code");
_Static_assert(sizeof(CUdevice_attribute) == sizeof(gpu_attribute), "the size of an attribute");
_Static_assert(sizeof(CUdeviceptr) == sizeof(gpu_address), "the size of an address");

#define SAME_PLACE(own, cuda)                                                                      \
    _Static_assert(offsetof(struct gpu_kernel_node, own) ==                                        \
                       offsetof(CUDA_KERNEL_NODE_PARAMS_v2, cuda),                                 \
                   #own " is not where " #cuda " is")
SAME_PLACE(function, func);
SAME_PLACE(blocks_x, gridDimX);
SAME_PLACE(blocks_y, gridDimY);
SAME_PLACE(blocks_z, gridDimZ);
SAME_PLACE(threads_x, blockDimX);
SAME_PLACE(threads_y, blockDimY);
SAME_PLACE(threads_z, blockDimZ);
SAME_PLACE(shared_bytes, sharedMemBytes);
SAME_PLACE(arguments, kernelParams);
SAME_PLACE(extra, extra);
SAME_PLACE(kernel, kern);
SAME_PLACE(context, ctx);
_Static_assert(sizeof(struct gpu_kernel_node) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2), "its size");

/* The parameters once more, with NVIDIA's names of the same types. */
#define gpu_code        CUresult
#define gpu_attribute   CUdevice_attribute
#define gpu_address     CUdeviceptr
#define gpu_context     CUctx_st
#define gpu_stream      CUstream_st
#define gpu_event       CUevent_st
#define gpu_module      CUmod_st
#define gpu_function    CUfunc_st
#define gpu_graph       CUgraph_st
#define gpu_graph_exec  CUgraphExec_st
#define gpu_node        CUgraphNode_st
#define gpu_kernel_node CUDA_KERNEL_NODE_PARAMS_v2_st
#define X(name, symbol, parameters)                                                                \
    _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), CUresult parameters),          \
                   #symbol " has other parameters in cuda.h");
GPU_DRIVER_FUNCTIONS(X)
#if CUDA_VERSION >= 12000
GPU_DRIVER_GRAPHS(X)
#endif
#undef X

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_become_errors_with_the_texts_of_the_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
