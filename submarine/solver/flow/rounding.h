// Labelings from marginals. At T = 0 the marginals solve the linear relaxation, and randomised
// rounding gives a labeling whose expected energy is within a constant (Potts: 2) or logarithmic
// (trees) factor of its value, so the pair [relaxation, rounded energy] brackets the least energy.
#pragma once

#include <cstdint>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/stop_check.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

struct Labeling {
  std::vector<int> labels;
  double energy = 0.0;  // SparseCrf::Energy
};

// The best, by energy, of the argmax labeling and `draws` random ones. Draws alternate between
// Kleinberg-Tardos rounding, applied level by level where the cuts form a hierarchy, and one common
// threshold on the cumulative distributions, which suits ordered labels. When stopped, returns the
// best so far.
Labeling RoundMarginals(const SparseCrf& model, const Matrix<double>& marginals, int draws,
                        std::uint64_t seed, const StopCheck& stop = {});

}  // namespace submarine::internal
