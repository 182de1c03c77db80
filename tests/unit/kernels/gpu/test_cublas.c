/* kernels/gpu/cublas.h: functions and codes are those of NVIDIA's cublas_v2.h: the compiler
 * compares them. Without the header this test is skipped. Loading the library: contract
 * test_gpu_campaign.py.
 */
#include "kernels/gpu/cublas.h"

#include <stdio.h>

#if defined(__has_include)
#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#endif
#endif

#if defined(CUBLAS_VERSION)

#define CODE(own, cublas) _Static_assert((int)(own) == (int)(cublas), #own " is not " #cublas)
CODE(CUBLAS_AS_IS, CUBLAS_OP_N);
CODE(CUBLAS_TRANSPOSED, CUBLAS_OP_T);
CODE(CUBLAS_AS_CALLED, CUBLAS_DEFAULT_MATH);
CODE(CUBLAS_PEDANTIC, CUBLAS_PEDANTIC_MATH);
CODE(CUBLAS_FLOAT, CUDA_R_32F);
CODE(CUBLAS_BF16, CUDA_R_16BF);
CODE(CUBLAS_IN_FLOAT, CUBLAS_COMPUTE_32F);
CODE(CUBLAS_IN_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
CODE(CUBLAS_ANY_ALGORITHM, CUBLAS_GEMM_DEFAULT);
CODE(0, CUBLAS_STATUS_SUCCESS);
CODE(CUBLAS_NO_MEMORY, CUBLAS_STATUS_ALLOC_FAILED);
CODE(CUBLAS_NO_ATOMICS, CUBLAS_ATOMICS_NOT_ALLOWED);
CODE(CUBLAS_MAJOR, MAJOR_VERSION);
CODE(CUBLAS_MINOR, MINOR_VERSION);
CODE(CUBLAS_PATCH, PATCH_LEVEL);

/* The parameters once more, with NVIDIA's names of the same types. */
#define cublas_handle    cublasContext
#define cublas_code      cublasStatus_t
#define cublas_operation cublasOperation_t
#define cublas_math      cublasMath_t
#define cublas_atomics   cublasAtomicsMode_t
#define cublas_property  libraryPropertyType
#define cublas_type      cudaDataType
#define cublas_compute   cublasComputeType_t
#define cublas_algorithm cublasGemmAlgo_t
#define X(name, symbol, parameters)                                                                \
    _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), cublasStatus_t parameters),    \
                   #symbol " has other parameters in cublas_v2.h");
CUBLAS_FUNCTIONS(X)
#undef X
#define X(name, symbol, parameters)                                                                \
    _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), const char *parameters),       \
                   #symbol " has other parameters in cublas_v2.h");
CUBLAS_TEXTS(X)
#undef X

int main(void)
{
    printf("the functions are those of cublas_v2.h %d\n", CUBLAS_VERSION);
    return 0;
}

#else

int main(void)
{
    printf("skipped: cublas_v2.h, of the CUDA toolkit, is not installed\n");
    return 77;
}

#endif
