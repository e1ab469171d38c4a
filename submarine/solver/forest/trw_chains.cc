#include "submarine/solver/forest/trw_chains.h"

#include <algorithm>
#include <cmath>

#include "submarine/solver/forest/trw_kernels.h"

namespace submarine::internal {
namespace {

// The logarithm of a product of many factors, computed with few logarithms.
class LogProduct {
 public:
  void Multiply(double x) {
    if (!(x > 1e-100 && x < 1e100)) {
      log_ += std::log(x);
      return;
    }
    product_ *= x;
    if (!(product_ > 1e-100 && product_ < 1e100)) {
      log_ += std::log(product_);
      product_ = 1.0;
    }
  }
  double Log() const { return log_ + std::log(product_); }

 private:
  double log_ = 0.0;
  double product_ = 1.0;
};

// The row of the message that reaches `variable` across the edge.
std::size_t MessageRow(const PairwiseModel& model, std::size_t edge, std::size_t variable) {
  return 2 * edge + (model.links[edge].a == static_cast<int>(variable) ? 0 : 1);
}

bool FromA(const PairwiseModel& model, std::size_t edge, std::size_t variable) {
  return model.links[edge].a == static_cast<int>(variable);
}

double ConstantOf(const EdgeKernels& kernels, const ChainForests& chains,
                  std::size_t num_variables) {
  double constant = 0.0;
  const std::size_t forests = chains.weight.size();
  for (std::size_t a = 0; a < num_variables; ++a) {
    for (std::size_t f = 0; f < forests; ++f) {
      const ChainHop& hop = chains.next[a * forests + f];
      if (hop.variable >= 0) constant += chains.weight[f] * kernels[hop.edge].log_scale();
    }
  }
  return constant;
}

// Two messages per variable and forest: 2f from the predecessor, 2f + 1 from the successor.
class Layout {
 public:
  Layout(const PairwiseModel& model, const ChainForests& chains, const Matrix<double>& theta,
         const EdgeKernels& kernels)
      : model_(model), chains_(chains), theta_(theta), kernels_(kernels) {}

  std::size_t forests() const { return chains_.weight.size(); }
  std::size_t variables() const { return model_.labels.size(); }
  const ChainHop& Hop(std::size_t a, std::size_t f, bool forward) const {
    return (forward ? chains_.next : chains_.previous)[a * forests() + f];
  }

 protected:
  const PairwiseModel& model_;
  const ChainForests& chains_;
  const Matrix<double>& theta_;
  const EdgeKernels& kernels_;
};

class ProbabilitySweeps : public ChainSweeps, private Layout {
 public:
  ProbabilitySweeps(const PairwiseModel& model, const ChainForests& chains,
                    const Matrix<double>& theta, const EdgeKernels& kernels)
      : Layout(model, chains, theta, kernels),
        roots_(chains.weight.size() == 4 ? 2 : static_cast<int>(chains.weight.size()) - 1),
        stride_((theta.cols() + 3) / 4 * 4),
        psi_(variables(), stride_, 0.0),
        message_(variables() * 2 * forests(), stride_, 1.0),
        belief_(1, stride_),
        cavity_(1, stride_) {
    constant_ = ConstantOf(kernels, chains, variables());
    for (std::size_t a = 0; a < variables(); ++a) {
      const double largest = MaxRow(theta.row(a).data(), model.labels[a]);
      ExpRow(theta.row(a).data(), largest, model.labels[a], psi_.row(a).data());
      constant_ += largest;
    }
  }

  double Sweep() override {
    for (std::size_t a = 0; a < variables(); ++a) Visit(a, true, nullptr);
    LogProduct normaliser;
    for (std::size_t a = variables(); a-- > 0;) Visit(a, false, &normaliser);
    return constant_ + chains_.weight[0] * normaliser.Log();
  }

  LogMessages Messages() const override {
    LogMessages messages(2 * model_.links.size(), theta_.cols());
    for (std::size_t a = 0; a < variables(); ++a) {
      for (std::size_t f = 0; f < forests(); ++f) {
        for (bool forward : {false, true}) {
          const ChainHop& hop = Hop(a, f, forward);
          if (hop.variable < 0) continue;
          LogRow(message_.row((a * forests() + f) * 2 + forward).data(), 0.0, model_.labels[a],
                 messages.row(MessageRow(model_, hop.edge, a)).data());
        }
      }
    }
    return messages;
  }

 private:
  double* Slot(std::size_t a, std::size_t f, bool from_successor) {
    return message_.data() + ((a * forests() + f) * 2 + from_successor) * stride_;
  }

  void Visit(std::size_t a, bool forward, LogProduct* normaliser) {
    if (forests() == 2 && VisitPottsPair(a, forward, normaliser)) return;
    double* g = belief_.data();
    const double sum =
        BeliefRow(psi_.row(a).data(), Slot(a, 0, false), 2 * forests(), roots_, stride_, g);
    for (std::size_t f = 0; f < forests(); ++f) {
      const ChainHop& hop = Hop(a, f, forward);
      double scale = sum;
      if (hop.variable >= 0) {
        const auto b = static_cast<std::size_t>(hop.variable);
        scale = Send(hop.edge, a, b, g, Slot(a, f, forward), Slot(b, f, !forward));
      }
      if (normaliser != nullptr) normaliser->Multiply(scale);
    }
  }

  // The common case of two Potts messages to send, where rows and columns of large grids spend
  // their time.
  bool VisitPottsPair(std::size_t a, bool forward, LogProduct* normaliser) {
    const ChainHop& first = Hop(a, 0, forward);
    const ChainHop& second = Hop(a, 1, forward);
    if (first.variable < 0 || second.variable < 0) return false;
    const PairKernel& first_kernel = kernels_[first.edge];
    const PairKernel& second_kernel = kernels_[second.edge];
    if (!first_kernel.is_potts() || !second_kernel.is_potts()) return false;
    const PottsPair pair{{first_kernel.stay(), second_kernel.stay()},
                         {first_kernel.leave(), second_kernel.leave()},
                         {Slot(static_cast<std::size_t>(first.variable), 0, !forward),
                          Slot(static_cast<std::size_t>(second.variable), 1, !forward)}};
    const double scale = PottsPairRow(psi_.row(a).data(), Slot(a, 0, false), forward ? 1 : 0,
                                      stride_, model_.labels[a], pair);
    if (normaliser != nullptr) normaliser->Multiply(scale);
    return true;
  }

  double Send(std::size_t edge, std::size_t a, std::size_t b, const double* g,
              const double* received, double* out) {
    const PairKernel& kernel = kernels_[edge];
    if (kernel.is_potts()) {
      return PottsMessageRow(g, received, stride_, model_.labels[a], kernel.stay(), kernel.leave(),
                             out);
    }
    QuotientRow(g, received, stride_, cavity_.data());
    kernel.Apply(FromA(model_, edge, a), cavity_.data(), out);
    double sum = 0.0;
    for (std::size_t i = 0; i < model_.labels[b]; ++i) sum += out[i];
    const double scale = 1.0 / sum;
    for (std::size_t i = 0; i < model_.labels[b]; ++i) out[i] *= scale;
    return sum;
  }

  int roots_;
  std::size_t stride_;
  double constant_ = 0.0;
  Matrix<double> psi_;      // exp(theta), 0 beyond the labels
  Matrix<double> message_;  // 2 forests rows per variable
  Matrix<double> belief_;
  Matrix<double> cavity_;
};

class LogSweeps : public ChainSweeps, private Layout {
 public:
  LogSweeps(const PairwiseModel& model, const ChainForests& chains, const Matrix<double>& theta,
            const EdgeKernels& kernels)
      : Layout(model, chains, theta, kernels),
        constant_(ConstantOf(kernels, chains, variables())),
        message_(2 * model.links.size(), theta.cols()),
        belief_(theta.cols()),
        scratch_(theta.cols()) {}

  double Sweep() override {
    for (std::size_t a = 0; a < variables(); ++a) Visit(a, true);
    double bound = constant_;
    for (std::size_t a = variables(); a-- > 0;) bound += Visit(a, false);
    return bound;
  }

  LogMessages Messages() const override { return message_; }

 private:
  // Returns this variable's part of sum_f p_f log Z_f.
  double Visit(std::size_t a, bool forward) {
    const std::size_t labels = model_.labels[a];
    std::copy(theta_.row(a).begin(), theta_.row(a).end(), belief_.begin());
    for (std::size_t f = 0; f < forests(); ++f) {
      for (bool side : {false, true}) {
        const ChainHop& hop = Hop(a, f, side);
        if (hop.variable < 0) continue;
        const auto received = message_.row(MessageRow(model_, hop.edge, a));
        for (std::size_t i = 0; i < labels; ++i) belief_[i] += chains_.weight[f] * received[i];
      }
    }
    const double largest = MaxRow(belief_.data(), labels);
    const double log_sum =
        largest + std::log(ExpRow(belief_.data(), largest, labels, scratch_.data()));
    double part = chains_.idle_weight * log_sum;
    for (std::size_t f = 0; f < forests(); ++f) {
      const ChainHop& hop = Hop(a, f, forward);
      part += chains_.weight[f] * (hop.variable < 0 ? log_sum : Send(hop, a));
    }
    return part;
  }

  double Send(const ChainHop& hop, std::size_t a) {
    const auto b = static_cast<std::size_t>(hop.variable);
    const auto received = message_.row(MessageRow(model_, hop.edge, a));
    for (std::size_t i = 0; i < model_.labels[a]; ++i) scratch_[i] = belief_[i] - received[i];
    const auto out = message_.row(MessageRow(model_, hop.edge, b));
    kernels_[hop.edge].ApplyLog(FromA(model_, hop.edge, a), scratch_.data(), out.data());
    const double shift = MaxRow(out.data(), model_.labels[b]);
    for (std::size_t i = 0; i < model_.labels[b]; ++i) out[i] -= shift;
    return shift;
  }

  double constant_;
  LogMessages message_;
  std::vector<double> belief_;
  std::vector<double> scratch_;
};

// Whether all factors and quotients in the probability form stay within exp(+-600): psi and
// messages are at most 1 and at least exp(-range).
bool FitsProbabilities(const PairwiseModel& model, const ChainForests& chains,
                       const Matrix<double>& theta, const EdgeKernels& kernels) {
  const std::size_t forests = chains.weight.size();
  if (chains.idle_weight != 0.0 || !(forests == 1 || forests == 2 || forests == 4)) return false;
  for (double weight : chains.weight) {
    if (weight != 1.0 / static_cast<double>(forests)) return false;
  }
  for (std::size_t a = 0; a < model.labels.size(); ++a) {
    const auto row = theta.row(a).first(model.labels[a]);
    const auto [least, largest] = std::minmax_element(row.begin(), row.end());
    double range = *largest - *least;
    for (std::size_t f = 0; f < forests; ++f) {
      for (const auto* hops : {&chains.next, &chains.previous}) {
        const ChainHop& hop = (*hops)[a * forests + f];
        // A message sums to 1, which lowers its largest entry by up to log L.
        if (hop.variable >= 0)
          range += kernels[hop.edge].range() + std::log(static_cast<double>(row.size()));
      }
    }
    if (!(range <= PairKernel::kLargestRange)) return false;
  }
  return true;
}

}  // namespace

std::optional<ChainForests> AsChains(std::span<const WeightedForest> forests,
                                     std::span<const Link> links, std::size_t num_variables) {
  ChainForests chains;
  std::vector<const WeightedForest*> used;
  for (const WeightedForest& forest : forests) {
    if (forest.weight == 0.0) continue;
    if (forest.edges.empty()) {
      chains.idle_weight += forest.weight;
    } else {
      used.push_back(&forest);
      chains.weight.push_back(forest.weight);
    }
  }
  if (used.empty()) return std::nullopt;
  const auto variables = static_cast<std::size_t>(num_variables);
  chains.next.resize(variables * used.size());
  chains.previous.resize(variables * used.size());
  std::vector<char> seen(links.size(), 0);
  for (std::size_t f = 0; f < used.size(); ++f) {
    for (std::size_t e : used[f]->edges) {
      const auto [low, high] = std::minmax(links[e].a, links[e].b);
      ChainHop& next = chains.next[static_cast<std::size_t>(low) * used.size() + f];
      ChainHop& previous = chains.previous[static_cast<std::size_t>(high) * used.size() + f];
      if (next.variable >= 0 || previous.variable >= 0 || seen[e]) return std::nullopt;
      next = {high, e};
      previous = {low, e};
      seen[e] = 1;
    }
  }
  if (std::count(seen.begin(), seen.end(), 0) > 0) return std::nullopt;
  return chains;
}

std::unique_ptr<ChainSweeps> MakeLogChainSweeps(const PairwiseModel& model,
                                                const ChainForests& chains,
                                                const Matrix<double>& theta,
                                                const EdgeKernels& kernels) {
  return std::make_unique<LogSweeps>(model, chains, theta, kernels);
}

std::unique_ptr<ChainSweeps> MakeChainSweeps(const PairwiseModel& model, const ChainForests& chains,
                                             const Matrix<double>& theta,
                                             const EdgeKernels& kernels) {
  if (!FitsProbabilities(model, chains, theta, kernels))
    return MakeLogChainSweeps(model, chains, theta, kernels);
  return std::make_unique<ProbabilitySweeps>(model, chains, theta, kernels);
}

}  // namespace submarine::internal
