// The parts of the module submarine._core.
#pragma once

#include <pybind11/pybind11.h>

namespace submarine::python {

void BindErrors(pybind11::module_& m);
void BindModels(pybind11::module_& m);
void BindDense(pybind11::module_& m);
void BindSolve(pybind11::module_& m);
void BindFiles(pybind11::module_& m);
void BindStereo(pybind11::module_& m);
void BindCompat(pybind11::module_& m);

}  // namespace submarine::python
