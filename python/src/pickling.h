// What models are made of as plain Python objects and back, number by number: what is unpickled is the same model.
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
