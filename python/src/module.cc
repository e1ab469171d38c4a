// submarine._core: the library's public headers as Python sees them. Arguments are checked for their kind here and
// for their meaning by the library; defaults, layouts and documentation are in the Python files beside this folder.
#include <pybind11/pybind11.h>

#include "python/src/bind.h"
#include "submarine/submarine.h"

PYBIND11_MODULE(_core, m) {
  using namespace submarine::python;  // NOLINT(google-build-using-namespace)
  m.attr("__version__") = submarine::kVersion;
  BindErrors(m);
  BindModels(m);
  BindDense(m);
  BindSolve(m);
  BindFiles(m);
  BindStereo(m);
  BindCompat(m);
}
