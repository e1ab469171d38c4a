#include "submarine/solve/method/options.h"

namespace submarine {

std::string_view ToString(Certify certify) {
  switch (certify) {
    case Certify::kAuto:
      return "auto";
    case Certify::kExact:
      return "exact";
    case Certify::kOperator:
      return "operator";
    case Certify::kLower:
      return "lower";
    case Certify::kNone:
      return "none";
  }
  return "unknown";
}

std::string_view ToString(DenseMarginals marginals) {
  switch (marginals) {
    case DenseMarginals::kUpperBound:
      return "upper-bound";
    case DenseMarginals::kMeanField:
      return "mean-field";
    case DenseMarginals::kMean:
      return "mean";
    case DenseMarginals::kRouted:
      return "routed";
  }
  return "unknown";
}

std::string_view ToString(HybridForest forest) {
  switch (forest) {
    case HybridForest::kSpanning:
      return "spanning";
    case HybridForest::kRows:
      return "rows";
    case HybridForest::kColumns:
      return "columns";
    case HybridForest::kBest:
      return "best";
    case HybridForest::kAverage:
      return "average";
    case HybridForest::kLookAlikes:
      return "look-alikes";
  }
  return "unknown";
}

}  // namespace submarine
