# SPDX-License-Identifier: MIT
# `cmake --install`: header, libraries, CMake package, pkg-config file, the command line, its man page and completions;
# the documents, the examples and the operators among them, laid out as in the tree: the README's commands hold there.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(tally_static PROPERTIES EXPORT_NAME tally_static)
install(TARGETS ${libraries} EXPORT tallyTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/tally.h include/tally_gpu.h include/tally_keys.h include/tally_stream.h include/tally_file.h
             include/tally_arrow.h include/tally_digits.h
              include/tally_mpi.h include/tally_mpi_ranks.h include/tally_mpi_elements.h
              include/tally_mpi_window.h include/tally_mpi_nccl.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY fortran DESTINATION ${CMAKE_INSTALL_DATADIR}/tally)
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md CITATION.cff
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY doc data packaging reference DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ladder/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/ladder)
install(DIRECTORY ladder/doc ladder/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}/ladder)
# what the documents link to
install(FILES include/tally.h DESTINATION ${CMAKE_INSTALL_DOCDIR}/include)
install(FILES python/README.md python/nulls.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/python)
install(DIRECTORY python/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}/python)
install(FILES src/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/src)
install(FILES src/gpu/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/src/gpu)
install(DIRECTORY src/op DESTINATION ${CMAKE_INSTALL_DOCDIR}/src)
install(DIRECTORY bench/results DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)
install(DIRECTORY test/consumer DESTINATION ${CMAKE_INSTALL_DOCDIR}/test)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN expected EXCLUDE)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tally)
install(EXPORT tallyTargets NAMESPACE tally:: DESTINATION ${package_dir})
configure_package_config_file(packaging/tallyConfig.cmake.in ${PROJECT_BINARY_DIR}/tallyConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tallyConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tallyConfig.cmake ${PROJECT_BINARY_DIR}/tallyConfigVersion.cmake
        DESTINATION ${package_dir})

# The prefix is found from the .pc file itself, so that the tree can be moved.
file(RELATIVE_PATH pc_up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(packaging/tally.pc.in ${PROJECT_BINARY_DIR}/tally.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tally.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The manual and the completions are what the program prints about itself.
function(tally_print file)
  add_custom_command(OUTPUT ${file} COMMAND tally_cli ${ARGN} > ${file}.new
                     COMMAND ${CMAKE_COMMAND} -E rename ${file}.new ${file} DEPENDS tally_cli VERBATIM)
endfunction()
if(TARGET tally_cli AND TALLY_TOOLS)
  set(manual ${PROJECT_BINARY_DIR}/manual)
  file(MAKE_DIRECTORY ${manual})
  tally_print(${manual}/tally.1 help --man)
  tally_print(${manual}/tally.bash help --completion bash)
  tally_print(${manual}/_tally help --completion zsh)
  tally_print(${manual}/tally.fish help --completion fish)
  add_custom_target(tally_manual ALL
                    DEPENDS ${manual}/tally.1 ${manual}/tally.bash ${manual}/_tally ${manual}/tally.fish)
  install(TARGETS tally_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${manual}/tally.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${manual}/tally.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tally)
  install(FILES ${manual}/_tally DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${manual}/tally.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
