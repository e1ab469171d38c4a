// Tree-reweighted bounds whose forests are chains running through the variables in order, such as
// the rows and columns of a grid: sequential message passing (TRW-S; the sum-product version of
// Meltzer, Globerson & Weiss 2009).
//
// With messages m into a variable a from its predecessor and successor on the chain of forest f,
//
//   g_a = psi_a prod_f (m_prev m_next)^(p_f),   to the successor on f:  K (g_a / m_next),
//
// a visit of a gives the chains through it equal marginals, g_a, which minimises the bound exactly
// over the split of a's unaries among the forests. The bound never rises, and costs nothing extra:
// the normalisers of the messages of one pass multiply to the partition functions of all chains.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/model/forest.h"
#include "submarine/solver/forest/trw_model.h"

namespace submarine::internal {

// Messages, the final state of every tree-reweighted solver: row 2e is the logarithm of the message
// that reaches links[e].a across edge e, row 2e + 1 of the one that reaches links[e].b. They define
// the split
//
//   theta^f_a = theta_a + sum over edges e at a of (rho_e - [e in f]) lambda_{e -> a},
//
// which averages to theta for any messages.
using LogMessages = Matrix<double>;

struct ChainHop {
  int variable = -1;  // -1: the chain ends here
  std::size_t edge = 0;
};

struct ChainForests {
  std::vector<double> weight;  // of every forest with edges
  double idle_weight = 0.0;    // of all forests without edges
  // Indexed by variable * forests + forest.
  std::vector<ChainHop> next;
  std::vector<ChainHop> previous;
};

// None unless every edge is in exactly one forest and every forest consists of chains along which
// the variables ascend.
std::optional<ChainForests> AsChains(std::span<const WeightedForest> forests,
                                     std::span<const Link> links, std::size_t num_variables);

class ChainSweeps {
 public:
  virtual ~ChainSweeps() = default;
  // One pass forward and one back; returns sum_f p_f log Z_f after it.
  virtual double Sweep() = 0;
  virtual LogMessages Messages() const = 0;
};

// `theta` = -unary / T; `kernels` for energies / (rho T). Keeps references to the arguments. Starts
// from messages of 1. Works on probabilities if nothing can leave the range of double precision and all
// weights are 1, 1/2 or 1/4, else on logarithms; the second function always works on logarithms.
std::unique_ptr<ChainSweeps> MakeChainSweeps(const PairwiseModel& model, const ChainForests& chains,
                                             const Matrix<double>& theta,
                                             const EdgeKernels& kernels);
std::unique_ptr<ChainSweeps> MakeLogChainSweeps(const PairwiseModel& model,
                                                const ChainForests& chains,
                                                const Matrix<double>& theta,
                                                const EdgeKernels& kernels);

}  // namespace submarine::internal
