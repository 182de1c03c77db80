# The kernels for GPUs (kernels/cuda), compiled by the C compiler as an emulation, which only tests link.
# tests/contract/test_cuda_ptx.py compiles the same files with nvcc.
if(TANIST_TESTS)
  file(GLOB cuda_sources CONFIGURE_DEPENDS kernels/cuda/*.c)
  add_library(tanist_cuda_emulated STATIC ${cuda_sources})
  target_include_directories(tanist_cuda_emulated PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/include)
  target_compile_definitions(tanist_cuda_emulated PRIVATE _GNU_SOURCE)
  # The bits are those of the portable kernels, so the options are, too.
  target_compile_options(tanist_cuda_emulated PRIVATE -fno-math-errno -fno-trapping-math)
  target_link_libraries(tanist_cuda_emulated PUBLIC tanist_options m)
endif()
