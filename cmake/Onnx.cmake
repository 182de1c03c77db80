# The decoder of ONNX files: protoc-c makes it of the schema in Debian's libonnx-dev.
pkg_check_modules(PROTOBUF_C IMPORTED_TARGET libprotobuf-c)
find_program(PROTOC_C protoc-c)
find_path(ONNX_PROTO_DIR onnx/onnx.proto)
foreach(part PROTOBUF_C_FOUND:libprotobuf-c-dev PROTOC_C:protobuf-c-compiler ONNX_PROTO_DIR:libonnx-dev)
  string(REPLACE ":" ";" part ${part})
  list(GET part 0 variable)
  list(GET part 1 package)
  if(NOT ${variable})
    message(FATAL_ERROR "${package} is missing: install it, or run scripts/install-dependencies.sh build")
  endif()
endforeach()

function(tanist_onnx target)
  set(folder ${CMAKE_BINARY_DIR}/generated/onnx)
  set(schema ${ONNX_PROTO_DIR}/onnx/onnx.proto)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${folder}/onnx.pb-c.c ${folder}/onnx.pb-c.h
    COMMAND ${PROTOC_C} --c_out=${folder} --proto_path=${ONNX_PROTO_DIR}/onnx ${schema}
    DEPENDS ${schema}
    VERBATIM)
  add_library(tanist_onnx_schema OBJECT ${folder}/onnx.pb-c.c)
  target_compile_options(tanist_onnx_schema PRIVATE -w) # Generated code.
  set_target_properties(tanist_onnx_schema PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(tanist_onnx_schema PUBLIC PkgConfig::PROTOBUF_C)
  add_dependencies(${target} tanist_onnx_schema)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:tanist_onnx_schema>)
  target_include_directories(${target} SYSTEM PUBLIC ${folder})
  target_link_libraries(${target} PUBLIC PkgConfig::PROTOBUF_C)
endfunction()
