#include "submarine/filter/kernel/operator_options.h"

namespace submarine {

std::string_view ToString(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kAuto:
      return "auto";
    case OperatorKind::kNeighbourList:
      return "list";
    case OperatorKind::kLattice:
      return "lattice";
    case OperatorKind::kBruteForce:
      return "brute-force";
  }
  return "unknown";
}

}  // namespace submarine
