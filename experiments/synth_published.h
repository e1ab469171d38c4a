// The curves of Pansari, Russell and Kumar (AISTATS 2018, synthetic experiment) as published,
// mistakes included. For comparison only: some of these numbers are not bounds. The differences
// from the method that the paper describes are:
//
//   - Potts: every cut has the whole weight instead of half of it, so that the submodular bound is
//     for 2w while the TRW bound beside it is for w.
//   - Trees: where the gradient is summed over the leaves of a node, each leaf overwrites the one
//     before, so that the greedy step orders by the marginal of the node's last leaf alone.
//   - Alternate extension: the cycle through the labels, on which the unaries are cut, has no
//     direction. A label then pays its own unary and that of its predecessor, so this is not an
//     extension of the energy.
//
// Frank-Wolfe starts from the unaries and takes the steps 2/(k+2), k = 1, 2, ...
#pragma once

#include <functional>

#include "submarine/model/sparse_crf.h"

namespace submarine::apps {

enum class PublishedUnaries { kModular, kUndirectedCycle };

// The value after `steps` steps, or after fewer when `go_on` returns false.
double PublishedBound(const SparseCrf& model, PublishedUnaries unaries, int steps,
                      const std::function<bool()>& go_on);

}  // namespace submarine::apps
