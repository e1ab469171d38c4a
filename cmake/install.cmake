# Public headers, the libraries, the CMake package and the pkg-config files. tests/system/consumer_test.sh uses all
# of them.
include(CMakePackageConfigHelpers)

function(submarine_install_headers)
  foreach(header ${ARGN})
    cmake_path(GET header PARENT_PATH folder)
    install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
  endforeach()
endfunction()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/submarine)
install(TARGETS submarine EXPORT submarineTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT submarineTargets NAMESPACE submarine:: DESTINATION ${package_dir})
submarine_install_headers(${PUBLIC_HEADERS})
install(FILES ${generated_include_dir}/submarine/base/version.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/submarine/base)
if(SUBMARINE_BUILD_IO)
  install(TARGETS submarine_io EXPORT submarineIoTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT submarineIoTargets NAMESPACE submarine:: DESTINATION ${package_dir})
  submarine_install_headers(${PUBLIC_IO_HEADERS})
  install(TARGETS submarine_c EXPORT submarineCTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT submarineCTargets NAMESPACE submarine:: DESTINATION ${package_dir})
  submarine_install_headers(${PUBLIC_C_HEADERS})
endif()

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
set(pc_engine_requires "")
set(pc_codecs_require "")
if(NOT BUILD_SHARED_LIBS)
  set(pc_engine_requires "tbb fmt libhwy clp")
  if(SUBMARINE_IMAGE_CODECS)
    set(pc_codecs_require "libpng libjpeg libtiff-4")
  endif()
endif()
set(pc_names submarine)
if(SUBMARINE_BUILD_IO)
  list(APPEND pc_names submarine_io submarine_c)
endif()
foreach(name ${pc_names})
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
