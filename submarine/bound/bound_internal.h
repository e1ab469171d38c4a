// How verifiers make bounds; tools/check_includes.py allows this header only inside bound/.
#pragma once

#include "submarine/bound/bound.h"

namespace submarine::internal {

class BoundMaker {
 public:
  static Bound Verified(double value) { return {value, Provenance::kVerified}; }
  static Bound Exact(double value) { return {value, Provenance::kExact}; }
  static Bound Like(const Bound& other, double value) { return {value, other.provenance_}; }
};

}  // namespace submarine::internal
