// submarine._core: the library's public headers for Python. The types of arguments are checked here
// and their meaning by the library; defaults, layouts and documentation are in the Python files
// beside this folder.
#include <pybind11/pybind11.h>

#include <string>

#include "python/src/bind.h"
#include "submarine/submarine.h"

PYBIND11_MODULE(_core, m) {
  using namespace submarine::python;  // NOLINT(google-build-using-namespace)
#if PYBIND11_VERSION_MAJOR == 2 && PYBIND11_VERSION_MINOR < 12
  // Older versions of pybind11 read numpy 2's arrays with the layout of numpy 1, which silently
  // gives wrong numbers.
  const auto version = pybind11::module_::import("numpy").attr("__version__").cast<std::string>();
  if (version.rfind("1.", 0) != 0)
    throw pybind11::import_error(
        "submarine was built with pybind11 " + std::to_string(PYBIND11_VERSION_MAJOR) + "." +
        std::to_string(PYBIND11_VERSION_MINOR) + ", which supports numpy 1 only, but numpy is " +
        version + "; rebuild with pip install .");
#endif
  m.attr("__version__") = submarine::kVersion;
  BindErrors(m);
  BindModels(m);
  BindDense(m);
  BindSolve(m);
  BindFiles(m);
  BindStereo(m);
  BindCompat(m);
}
