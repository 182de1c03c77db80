# libtanist, shared and static: all that the public interface needs; with tn_main() that is the whole program. It exports
# exactly the functions that the headers mark with TN_API; all other symbols are local, also in the static library, so
# that they cannot meet those of a user's program.
file(GLOB api_headers CONFIGURE_DEPENDS include/tanist/*.h)
set(api "")
foreach(header ${api_headers})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(STRINGS ${header} lines REGEX "^TN_API ")
  foreach(line ${lines})
    if(line MATCHES "^TN_API [^(]*[ *](tn_[a-z0-9_]+|tanist_[a-z0-9_]+)\\(")
      list(APPEND api ${CMAKE_MATCH_1})
    else()
      message(FATAL_ERROR "${header}: no name of a function in: ${line}")
    endif()
  endforeach()
endforeach()
list(JOIN api "\n" api_lines)
list(JOIN api ";\n  " api_globals)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/library/api.txt CONTENT "${api_lines}\n")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/library/api.map CONTENT "{\n global:\n  ${api_globals};\n local:\n  *;\n};\n")
list(TRANSFORM api PREPEND "-Wl,--undefined=" OUTPUT_VARIABLE api_wanted)

add_library(tanist_entry OBJECT library/main.c library/version.c)
target_include_directories(tanist_entry PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} include)
target_compile_definitions(tanist_entry PRIVATE _GNU_SOURCE TANIST_VERSION="${PROJECT_VERSION}")
target_link_libraries(tanist_entry PRIVATE tanist_options)

# The program exports the same functions, for the libraries of models that it loads.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/library/api.list CONTENT "{\n  ${api_globals};\n};\n")
target_sources(tanist PRIVATE $<TARGET_OBJECTS:tanist_entry>)
target_link_options(tanist PRIVATE ${api_wanted} -Wl,--dynamic-list=${CMAKE_BINARY_DIR}/library/api.list)
set_property(TARGET tanist APPEND PROPERTY LINK_DEPENDS ${CMAKE_BINARY_DIR}/library/api.list)

add_library(tanist_shared SHARED $<TARGET_OBJECTS:tanist_entry>)
set_target_properties(tanist_shared PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME tanist EXPORT_NAME tanist
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/library
  LINK_DEPENDS ${CMAKE_BINARY_DIR}/library/api.map)
target_include_directories(tanist_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Kernels of the user's operations round as they are written, on every processor.
target_compile_options(tanist_shared INTERFACE $<INSTALL_INTERFACE:$<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>>)
target_link_options(tanist_shared PRIVATE ${api_wanted} -Wl,--version-script=${CMAKE_BINARY_DIR}/library/api.map
  -Wl,-Bsymbolic-functions -Wl,--gc-sections -Wl,--as-needed)
target_link_libraries(tanist_shared PRIVATE tanist_cli)

# One object with all that is needed, whose other symbols are made local.
set(static_folders cli session chaos checker agent coordinator local group mirror ps evaluator worker data model graph kernels common)
list(TRANSFORM static_folders PREPEND tanist_)
set(static_parts "")
foreach(folder ${static_folders})
  list(APPEND static_parts $<TARGET_FILE:${folder}>)
endforeach()
set(static_object ${CMAKE_BINARY_DIR}/library/tanist.o)
set(static_library ${CMAKE_BINARY_DIR}/library/libtanist.a)
add_custom_command(OUTPUT ${static_library}
  COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${static_object} ${api_wanted} $<TARGET_OBJECTS:tanist_entry>
    -Wl,--start-group ${static_parts} -Wl,--end-group
  COMMAND ${CMAKE_OBJCOPY} --keep-global-symbols=${CMAKE_BINARY_DIR}/library/api.txt ${static_object}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${static_library}
  COMMAND ${CMAKE_AR} rcsD ${static_library} ${static_object}
  DEPENDS ${static_folders} tanist_entry $<TARGET_OBJECTS:tanist_entry>
    ${CMAKE_BINARY_DIR}/library/api.txt
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(tanist_static ALL DEPENDS ${static_library})

# Installed: the libraries, tanist.pc, and find_package(Tanist) with the targets Tanist::tanist and Tanist::static.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Tanist)
set(TANIST_STATIC_LIBRARIES zookeeper_mt nng jansson lmdb protobuf-c xxhash png turbojpeg zstd z pthread m ${CMAKE_DL_LIBS})
list(TRANSFORM TANIST_STATIC_LIBRARIES PREPEND "-l" OUTPUT_VARIABLE private_libraries)
list(JOIN private_libraries " " TANIST_PC_LIBRARIES)
file(RELATIVE_PATH TANIST_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(library/tanist.pc.in ${CMAKE_BINARY_DIR}/library/tanist.pc @ONLY)
configure_package_config_file(library/TanistConfig.cmake.in ${CMAKE_BINARY_DIR}/library/TanistConfig.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/library/TanistConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(TARGETS tanist_shared EXPORT TanistTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT TanistTargets NAMESPACE Tanist:: DESTINATION ${package_folder})
install(FILES ${static_library} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_BINARY_DIR}/library/tanist.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${CMAKE_BINARY_DIR}/library/TanistConfig.cmake ${CMAKE_BINARY_DIR}/library/TanistConfigVersion.cmake
  DESTINATION ${package_folder})
