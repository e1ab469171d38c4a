# The template of the report page: report/ and uPlot, bundled by esbuild into one HTML file, report_page_html, which
# report_page_source.cmake turns into the C++ source that report_page_source names. The target is submarine_report_page. An sdist
# holds both. The Python package does without the page where it cannot be had: both names are empty then.
set(report_page_source ${PROJECT_SOURCE_DIR}/report/built/report_template.cc)
if(EXISTS ${report_page_source})
  set(report_page_html ${report_page_source}.html)
  add_custom_target(submarine_report_page)
  set_property(GLOBAL PROPERTY submarine_report_page_html ${report_page_html})
  return()
endif()
set(report_page_needed "")
set(report_page_severity FATAL_ERROR)
if(NOT SUBMARINE_BUILD_APPS)
  set(report_page_needed OPTIONAL)
  set(report_page_severity WARNING)
endif()
set(report_page_html "")
set(report_page_source "")
find_program(ESBUILD esbuild)
if(NOT ESBUILD)
  message(${report_page_severity} "esbuild, which bundles the report page, is not installed: on Debian, apt-get install esbuild.")
  return()
endif()
include(${PROJECT_SOURCE_DIR}/cmake/npm_package.cmake)
submarine_npm_package(uplot 1.6.32
  2883159c6ebccefbb95d751b0b82d010f9e1c0ec41b8bc96d401eda66e882935c89a46cb824332fa369b8cb8122cc6ac36e186cd09bf7a9ded3a4c93c6989023
  uplot_dir ${report_page_needed})
if(NOT uplot_dir)
  return()
endif()

set(report_dir ${PROJECT_SOURCE_DIR}/report)
set(report_build_dir ${PROJECT_BINARY_DIR}/report)
file(MAKE_DIRECTORY ${report_build_dir})
file(GLOB report_inputs CONFIGURE_DEPENDS ${report_dir}/src/*.js)
list(APPEND report_inputs ${report_dir}/index.html ${report_dir}/style.css)
set(report_page_source ${report_build_dir}/report_template.cc)
set(report_page_html ${report_page_source}.html)
add_custom_command(OUTPUT ${report_page_source} ${report_page_html}
  COMMAND ${ESBUILD} ${report_dir}/src/main.js --bundle --minify --format=iife --target=es2020 --log-level=warning
          --legal-comments=none --alias:uplot=${uplot_dir}/dist/uPlot.esm.js --outfile=${report_build_dir}/page.js
  COMMAND ${ESBUILD} ${report_dir}/style.css --minify --log-level=warning --outfile=${report_build_dir}/page.css
  COMMAND ${CMAKE_COMMAND} -DTEMPLATE=${report_dir}/index.html -DSCRIPT=${report_build_dir}/page.js
          -DSTYLE=${report_build_dir}/page.css -DUPLOT=${uplot_dir} -DOUTPUT=${report_page_source}
          -P ${PROJECT_SOURCE_DIR}/cmake/report_page_source.cmake
  DEPENDS ${report_inputs} ${PROJECT_SOURCE_DIR}/cmake/report_page_source.cmake
  COMMENT "Bundling the report page"
  VERBATIM)
add_custom_target(submarine_report_page DEPENDS ${report_page_source} ${report_page_html})
set_property(GLOBAL PROPERTY submarine_report_page_html ${report_page_html})
