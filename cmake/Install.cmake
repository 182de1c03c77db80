# The files of `cmake --install`. The public API is only include/tanist.
# Documents keep their layout below the documentation folder, so that links between them and the paths that
# --help names (docs/chaos.md) lead to a file there.
include(GNUInstallDirs)
install(TARGETS tanist RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS tanist_faults LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tanist)
if(TANIST_HAVE_CUDA)
  install(FILES ${CMAKE_BINARY_DIR}/tanist-cuda.fatbin DESTINATION ${CMAKE_INSTALL_LIBDIR}/tanist)
endif()
install(DIRECTORY include/tanist DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES README.md LICENSE CHANGELOG.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples deploy DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY chaos/plan/builtin/ DESTINATION ${CMAKE_INSTALL_DATADIR}/tanist/plans)
install(DIRECTORY deploy/systemd/ DESTINATION lib/systemd/system FILES_MATCHING PATTERN "*.service")

# The program finds what it loads at run time relative to itself, so an installed tree can be moved.
file(RELATIVE_PATH TANIST_LIBRARY_PATH ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/tanist)
target_compile_definitions(tanist_chaos PRIVATE TANIST_LIBRARY_PATH="${TANIST_LIBRARY_PATH}")
