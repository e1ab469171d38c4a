# NOT RUN. See packaging/README.md.
vcpkg_download_distfile(ARCHIVE
  URLS "https://pypi.org/packages/source/s/submarine-crf/submarine_crf-${VERSION}.tar.gz"
  FILENAME "submarine_crf-${VERSION}.tar.gz"
  SHA512 0)  # filled in when it is published
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")
vcpkg_find_acquire_program(PKGCONFIG)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS
  -DCMAKE_UNITY_BUILD=ON -DSUBMARINE_BUILD_APPS=OFF -DSUBMARINE_BUILD_TESTS=OFF -DSUBMARINE_BUILD_BENCHMARKS=OFF
  "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/submarine)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
