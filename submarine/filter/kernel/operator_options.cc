#include "submarine/filter/kernel/operator_options.h"

#include <array>
#include <string_view>
#include <utility>

namespace submarine {

template <>
NameTable<OperatorKind> Names() {
  static constexpr std::array<std::pair<std::string_view, OperatorKind>, 4> kNames = {
      {{"auto", OperatorKind::kAuto},
       {"list", OperatorKind::kNeighbourList},
       {"lattice", OperatorKind::kLattice},
       {"brute-force", OperatorKind::kBruteForce}}};
  return kNames;
}

}  // namespace submarine
