# Run by the build (cmake -P): OUTPUT becomes a C file with all files of FOLDER/*.json. As bytes: a string
# literal longer than 4095 characters is not portable.
file(GLOB plans ${FOLDER}/*.json)
list(SORT plans)
set(texts "")
set(rows "")
set(number 0)
foreach(plan ${plans})
  get_filename_component(name ${plan} NAME_WE)
  file(READ ${plan} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND texts "static const unsigned char text_${number}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", text_${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT}
  "/* Made of chaos/plan/builtin by cmake/EmbedPlans.cmake. */\n#include <stddef.h>\n\n"
  "#include \"chaos/plan/plan_builtin.h\"\n\n${texts}\n"
  "const struct plan_builtin plans_builtin[] = {\n${rows}    {NULL, NULL},\n};\n")
