# Warnings are errors in all targets. TANIST_SANITIZE selects sanitizers for all targets, except those that are loaded
# into other programs.
add_library(tanist_warnings INTERFACE)
add_library(tanist_options INTERFACE)
target_link_libraries(tanist_options INTERFACE tanist_warnings)
# Reports of sanitizers name functions and lines, not variables, without which the build and its links take less time.
set(debug_information -g)
if(TANIST_SANITIZE)
  set(debug_information -g1)
endif()
target_compile_options(tanist_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla
  -Wformat=2 -Werror -fno-omit-frame-pointer ${debug_information}
  # Clang's enums are unsigned; gcc, which builds the release, does not warn about them.
  $<$<C_COMPILER_ID:Clang>:-Wno-sign-conversion>
  # The same bits everywhere: no implicit contraction into fused multiply-add.
  -ffp-contract=off)
# Assertions stay on in every build.
foreach(type RELEASE RELWITHDEBINFO MINSIZEREL)
  string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_${type} "${CMAKE_C_FLAGS_${type}}")
  string(REPLACE "-O3" "-O2" CMAKE_C_FLAGS_${type} "${CMAKE_C_FLAGS_${type}}")
endforeach()
# Hardening that costs nothing measurable: stack canaries, bounds checks in libc calls, read-only relocations,
# position-independent code. Sanitizers bring their own checks and do not work with FORTIFY_SOURCE.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
if(NOT TANIST_SANITIZE)
  target_compile_options(tanist_warnings INTERFACE -fstack-protector-strong)
endif()
target_link_options(tanist_warnings INTERFACE -Wl,-z,relro,-z,now)
if(NOT TANIST_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_options(tanist_warnings INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
if(TANIST_SANITIZE)
  # -O1 instead of -O2 saves two fifths of the build, and costs the tests a tenth.
  target_compile_options(tanist_options INTERFACE -fsanitize=${TANIST_SANITIZE} -fno-sanitize-recover=all -O1)
  target_link_options(tanist_options INTERFACE -fsanitize=${TANIST_SANITIZE})
endif()
if(TANIST_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "TANIST_FUZZ needs clang: -DCMAKE_C_COMPILER=clang")
  endif()
  # Coverage for the fuzzer in every library; its main() only in the targets of tests/fuzz.
  target_compile_options(tanist_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
