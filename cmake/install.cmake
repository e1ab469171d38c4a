# Headers, library, CMake package and pkg-config file. tests/system/consumer_test.sh uses all of them.
include(CMakePackageConfigHelpers)

install(TARGETS submarine EXPORT submarineTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/submarine/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/submarine
        FILES_MATCHING PATTERN "*.h" PATTERN "*_test_*" EXCLUDE)
install(FILES ${generated_include_dir}/submarine/base/version.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/submarine/base)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/submarine)
install(EXPORT submarineTargets NAMESPACE submarine:: DESTINATION ${package_dir})
configure_package_config_file(cmake/submarineConfig.cmake.in ${PROJECT_BINARY_DIR}/submarineConfig.cmake
                              INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/submarineConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/submarineConfig.cmake ${PROJECT_BINARY_DIR}/submarineConfigVersion.cmake
        DESTINATION ${package_dir})

# The prefix is written relative to the .pc file, so that `cmake --install --prefix` may move the tree.
file(RELATIVE_PATH pc_to_prefix
     ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
# A static library leaves its dependencies to whoever links it; a shared one brings its own.
if(BUILD_SHARED_LIBS)
  set(pc_requires_field Requires.private)
else()
  set(pc_requires_field Requires)
endif()
configure_file(cmake/submarine.pc.in ${PROJECT_BINARY_DIR}/submarine.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/submarine.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
