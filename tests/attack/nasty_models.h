// Small models that a certificate is likely to get wrong: huge and tiny numbers, sums that cancel, zero
// potentials, duplicate edges, isolated variables, far, near and identical features. Each comes with the
// truth, enumerated in long double from the numbers as they were given.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "submarine/model/dense_crf.h"
#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"
#include "submarine/solve/solve.h"

namespace submarine::internal::attack {

// T log Z_T, or -min E at T = 0, and by how much the enumeration itself may be off.
struct Truth {
  long double value = 0.0L;
  long double error = 0.0L;
};

struct Case {
  std::variant<SparseCrf, FactorGraph, DenseCrf> model;
  SolveOptions options;
  std::string description;
  Truth truth;         // of the model as given
  Truth least_energy;  // min E
};

// The same case for the same seed, on every machine.
Case MakeCase(std::uint64_t seed);

}  // namespace submarine::internal::attack
