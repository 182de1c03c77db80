# Files that become part of the program: struct embedded_file (common/base/embedded.h).
#
# Included: tanist_embed(TARGET TABLE FILE...) adds to TARGET the table `TABLE`, with a row for each file, by name without
# extension. The build makes it again when a file changes, by running this file as a script (cmake -P) with OUTPUT,
# TABLE and FILES.
function(tanist_embed target table)
  set(output ${CMAKE_BINARY_DIR}/generated/${table}.c)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  string(REPLACE ";" "|" files "${ARGN}")
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DTABLE=${table} "-DFILES=${files}" -P ${CMAKE_SOURCE_DIR}/cmake/Embed.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/Embed.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  return()
endif()

# As bytes: a string literal longer than 4095 characters is not portable.
string(REPLACE "|" ";" FILES "${FILES}")
set(texts "")
set(rows "")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  string(MAKE_C_IDENTIFIER ${name} identifier)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND texts "static const unsigned char text_${identifier}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", text_${identifier}},\n")
endforeach()
file(WRITE ${OUTPUT}
  "/* Made by cmake/Embed.cmake. */\n#include <stddef.h>\n\n#include \"common/base/embedded.h\"\n\n"
  "extern const struct embedded_file ${TABLE}[];\n\n"
  "${texts}\nconst struct embedded_file ${TABLE}[] = {\n${rows}    {NULL, NULL},\n};\n")
