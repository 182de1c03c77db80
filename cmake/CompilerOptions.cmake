# Warnings are errors, everywhere; sanitizers by TANIST_SANITIZE.
add_library(tanist_options INTERFACE)
target_compile_options(tanist_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla
  -Wformat=2 -Werror -fno-omit-frame-pointer -g
  # Same bits everywhere: no contraction into fused multiply-add behind our back.
  -ffp-contract=off)
# Assertions stay on in release: they guard invariants, and never cost where it matters.
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
string(REPLACE "-O3" "-O2" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
if(TANIST_SANITIZE)
  target_compile_options(tanist_options INTERFACE -fsanitize=${TANIST_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(tanist_options INTERFACE -fsanitize=${TANIST_SANITIZE})
endif()
