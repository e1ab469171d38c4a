// Converts the parts of models to plain Python objects and back without rounding, so that an
// unpickled model is the same model.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "python/src/models.h"
#include "submarine/submarine.h"

namespace submarine::python {

pybind11::tuple StateOf(const LabelSpace& labels);
LabelSpace LabelsFromState(const pybind11::tuple& state);

pybind11::tuple StateOf(const GaussianKernel& kernel);
GaussianKernel KernelFromState(const pybind11::tuple& state);

}  // namespace submarine::python
