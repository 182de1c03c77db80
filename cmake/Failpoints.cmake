# The program once more with failpoints, for `tanist chaos`: build/failpoints/tanist, built by the target `failpoints`.
# Only the sources that include common/faults/failpoint.h differ between the two programs, so only these are compiled
# again. Their objects precede the libraries, from which the linker takes all others.
if(TANIST_FAILPOINTS)
  return() # The program itself has them.
endif()
get_property(sources GLOBAL PROPERTY tanist_sources)
set(failpoint_sources "")
foreach(source ${sources})
  file(STRINGS ${source} found REGEX "^#include \"common/faults/failpoint\\.h\"")
  if(found)
    list(APPEND failpoint_sources ${source})
  endif()
endforeach()

add_library(tanist_failpoints OBJECT EXCLUDE_FROM_ALL ${failpoint_sources})
target_compile_definitions(tanist_failpoints PRIVATE TANIST_FAILPOINTS $<TARGET_PROPERTY:tanist_chaos,COMPILE_DEFINITIONS>)
target_link_libraries(tanist_failpoints PRIVATE tanist_cli)

add_executable(failpoints EXCLUDE_FROM_ALL cli/main.c $<TARGET_OBJECTS:tanist_failpoints> $<TARGET_OBJECTS:tanist_entry>)
target_link_libraries(failpoints PRIVATE tanist_cli)
target_link_options(failpoints PRIVATE $<TARGET_PROPERTY:tanist,LINK_OPTIONS>)
set_target_properties(failpoints PROPERTIES OUTPUT_NAME tanist RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/failpoints
  LINK_DEPENDS ${CMAKE_BINARY_DIR}/library/api.list)
# The program preloads the shim, which it expects in its own folder.
add_custom_command(TARGET failpoints POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:tanist_faults> ${CMAKE_BINARY_DIR}/failpoints/ VERBATIM)
add_dependencies(failpoints tanist_faults)
if(TARGET tanist_emulated_gpu)
  add_dependencies(failpoints tanist_emulated_gpu) # For faults of GPUs on machines without one.
endif()
