# The target api_docs: the public headers as HTML in BUILD/api/html, by Doxygen; without Doxygen there is no such
# target.
find_program(DOXYGEN doxygen)
if(DOXYGEN)
  list(JOIN PUBLIC_HEADERS " " api_headers)
  list(JOIN PUBLIC_IO_HEADERS " " api_io_headers)
  set(api_dir ${PROJECT_BINARY_DIR}/api)
  file(MAKE_DIRECTORY ${api_dir})
  add_custom_target(api_docs
    COMMAND ${CMAKE_COMMAND} -E env "SUBMARINE_API_DIR=${api_dir}"
            "SUBMARINE_API_HEADERS=${api_headers} ${api_io_headers}" ${DOXYGEN} docs/Doxyfile
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMENT "API pages: ${api_dir}/html/index.html"
    VERBATIM)
endif()
