# The target api_docs: the public headers as HTML in BUILD/api/html, by Doxygen; without Doxygen there is no such
# target. SUBMARINE_PUBLIC_HEADERS is the list of headers, relative to the root of the repository, that are
# installed; where it is not set, submarine/submarine.h and what it includes are taken.
find_program(DOXYGEN doxygen)
if(DOXYGEN)
  if(NOT SUBMARINE_PUBLIC_HEADERS)
    set(umbrella ${PROJECT_SOURCE_DIR}/submarine/submarine.h)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${umbrella})
    file(STRINGS ${umbrella} include_lines REGEX "^#include \"submarine/")
    list(TRANSFORM include_lines REPLACE "^#include \"([^\"]*)\".*" "\\1" OUTPUT_VARIABLE SUBMARINE_PUBLIC_HEADERS)
    list(FILTER SUBMARINE_PUBLIC_HEADERS EXCLUDE REGEX "version\\.h$")  # generated
    list(PREPEND SUBMARINE_PUBLIC_HEADERS submarine/submarine.h)
  endif()
  list(JOIN SUBMARINE_PUBLIC_HEADERS " " api_headers)
  set(api_dir ${PROJECT_BINARY_DIR}/api)
  file(MAKE_DIRECTORY ${api_dir})
  add_custom_target(api_docs
    COMMAND ${CMAKE_COMMAND} -E env "SUBMARINE_API_DIR=${api_dir}" "SUBMARINE_API_HEADERS=${api_headers}"
            ${DOXYGEN} docs/Doxyfile
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMENT "API pages: ${api_dir}/html/index.html"
    VERBATIM)
endif()
