# The kernels for GPUs (kernels/cuda), three times from the same files: as functions of the program that start them through
# the driver; by nvcc, where it is installed, as the module that these load; and by the C compiler as an emulation, which
# only tests link. tests/contract/test_cuda_ptx.py checks the code that nvcc makes.
file(GLOB cuda_families CONFIGURE_DEPENDS kernels/cuda/*.c)
list(FILTER cuda_families EXCLUDE REGEX "/(emula|fiber|launch|module_file)[^/]*$")

include(GNUInstallDirs)
file(RELATIVE_PATH cuda_library_path ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/tanist)
add_library(tanist_cuda_launch OBJECT ${cuda_families} kernels/cuda/launch.c kernels/cuda/launch_cublas.c
  kernels/cuda/launch_graphs.c kernels/cuda/launch_queues.c kernels/cuda/module_file.c)
target_include_directories(tanist_cuda_launch PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/include)
target_compile_definitions(tanist_cuda_launch PRIVATE _GNU_SOURCE CUDA_ON_GPU TANIST_LIBRARY_PATH="${cuda_library_path}")
target_link_libraries(tanist_cuda_launch PRIVATE tanist_options)
target_sources(tanist_kernels PRIVATE $<TARGET_OBJECTS:tanist_cuda_launch>)

if(TANIST_HAVE_CUDA)
  set(cuda_module ${CMAKE_BINARY_DIR}/tanist-cuda.fatbin)
  set(cuda_code "")
  foreach(capability 80 90 100)
    list(APPEND cuda_code -gencode arch=compute_${capability},code=sm_${capability})
  endforeach()
  # Code for GPUs between and after these is made from PTX when the module is loaded.
  list(APPEND cuda_code -gencode arch=compute_80,code=compute_80)
  file(GLOB cuda_headers CONFIGURE_DEPENDS kernels/cuda/*.h kernels/portable/isa/*.h kernels/portable/power.h common/base/real_rules.h)
  add_custom_command(OUTPUT ${cuda_module}
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -std=c++17 -fmad=false ${cuda_code} -fatbin
      -I${CMAKE_CURRENT_SOURCE_DIR} -I${CMAKE_CURRENT_SOURCE_DIR}/include
      -o ${cuda_module} ${CMAKE_CURRENT_SOURCE_DIR}/kernels/cuda/module.cu
    DEPENDS kernels/cuda/module.cu ${cuda_families} ${cuda_headers}
    COMMENT "Compiling the kernels for GPUs" VERBATIM)
  add_custom_target(tanist_cuda_module ALL DEPENDS ${cuda_module})
endif()

if(TANIST_TESTS)
  file(GLOB cuda_emulation CONFIGURE_DEPENDS kernels/cuda/emula*.c kernels/cuda/fiber*.c)
  list(FILTER cuda_emulation EXCLUDE REGEX "/emulated_cublas[.]c$")
  add_library(tanist_cuda_emulated STATIC ${cuda_families} ${cuda_emulation})
  target_include_directories(tanist_cuda_emulated PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/include)
  target_compile_definitions(tanist_cuda_emulated PRIVATE _GNU_SOURCE)
  # The bits are those of the portable kernels, so the options are, too.
  target_compile_options(tanist_cuda_emulated PRIVATE -fno-math-errno -fno-trapping-math)
  target_link_libraries(tanist_cuda_emulated PUBLIC tanist_options m Threads::Threads)
  set_target_properties(tanist_cuda_emulated PROPERTIES POSITION_INDEPENDENT_CODE ON)
  # The same as the driver's library, for tests that run the program: in LD_LIBRARY_PATH it stands for NVIDIA's.
  add_library(tanist_emulated_gpu SHARED $<FILTER:$<TARGET_OBJECTS:tanist_cuda_emulated>,EXCLUDE,/emulated[.]c[.]o$>)
  target_link_libraries(tanist_emulated_gpu PRIVATE tanist_options m Threads::Threads)
  set_target_properties(tanist_emulated_gpu PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1 LINKER_LANGUAGE C
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/emulated-gpu)
  # cuBLAS, likewise, over the memory and the streams of that driver.
  add_library(tanist_emulated_cublas SHARED kernels/cuda/emulated_cublas.c)
  target_include_directories(tanist_emulated_cublas PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/include)
  target_link_libraries(tanist_emulated_cublas PRIVATE tanist_options tanist_emulated_gpu)
  set_target_properties(tanist_emulated_cublas PROPERTIES OUTPUT_NAME cublas SUFFIX .so.13
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/emulated-gpu)
  # The module of the emulated driver: it has all kernels itself, and reads only the first line.
  file(WRITE ${CMAKE_BINARY_DIR}/emulated-gpu/tanist-cuda.fatbin "tanist: emulated kernels\n")
endif()
