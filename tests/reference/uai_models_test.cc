// Models in UAI files with known answers: small ones that are made here and enumerated, and public ones
// (../shared/data/models, see its MANIFEST), which are not shipped. SUBMARINE_DATA names another place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/io/file/io_test_util.h"
#include "submarine/io/model/fg.h"
#include "submarine/io/model/uai.h"
#include "submarine/io/model/uai_results_test_util.h"
#include "submarine/model/recognise.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/flow/pdhg.h"
#include "submarine/solver/flow/rounding.h"
#include "submarine/solver/mean_field/mean_field.h"

namespace submarine::internal {
namespace {

using testing::ReadUaiMar;
using testing::ReadUaiPr;

// ---- What is claimed of a model ----

void ExpectExact(const FactorGraph& graph, double log_partition, const Marginals& marginals) {
  const ExactResult exact = SolveExact(graph);
  EXPECT_NEAR(exact.log_partition, log_partition, 1e-6);
  ASSERT_EQ(marginals.size(), graph.cardinality.size());
  for (std::size_t a = 0; a < marginals.size(); ++a) {
    ASSERT_EQ(marginals[a].size(), static_cast<std::size_t>(graph.cardinality[a]));
    for (std::size_t i = 0; i < marginals[a].size(); ++i) {
      EXPECT_NEAR(exact.marginals[a][i], marginals[a][i], 2e-6) << "variable " << a;
    }
  }
}

void ExpectInsideTheInterval(const FactorGraph& graph, double log_partition) {
  const SparseCrf model = RecogniseSparseCrf(graph).model;
  PdhgOptions options;
  options.relative_gap = 1e-5;
  const BoundResult bound = SolvePdhg(model, options);
  EXPECT_EQ(bound.termination, Termination::kGapReached);
  EXPECT_GE(VerifiedUpper(model, ExtensionKind::kOptimal, bound.flow, 1.0), log_partition - 1e-6);
  MeanFieldOptions mean_field;
  mean_field.extra_starts = {bound.marginals};
  EXPECT_LE(VerifiedLower(model, SolveMeanField(model, mean_field).marginals, 1.0),
            log_partition + 1e-6);
}

void ExpectInsideTheMapInterval(const FactorGraph& graph, double least_energy) {
  const SparseCrf model = RecogniseSparseCrf(graph).model;
  PdhgOptions options;
  options.temperature = 0.0;
  options.relative_gap = 1e-3;
  const BoundResult bound = SolvePdhg(model, options);
  EXPECT_EQ(bound.termination, Termination::kGapReached);
  EXPECT_LE(-VerifiedUpper(model, ExtensionKind::kOptimal, bound.flow, 0.0), least_energy + 1e-5);
  EXPECT_GE(RoundMarginals(model, bound.marginals, 100, 1).energy, least_energy - 1e-5);
}

// ---- Models that are made here ----

struct Truth {
  double log_partition;
  double least_energy;
  Marginals marginals;
};

Truth Enumerate(const FactorGraph& graph) {
  std::vector<double> energies;
  std::vector<std::vector<int>> labelings;
  std::vector<int> x(graph.cardinality.size(), 0);
  for (std::size_t a = 0; a < x.size();) {
    energies.push_back(Energy(graph, x));
    labelings.push_back(x);
    for (a = 0; a < x.size() && ++x[a] == graph.cardinality[a]; ++a) x[a] = 0;
  }
  Truth truth{0.0, *std::min_element(energies.begin(), energies.end()), {}};
  for (const int labels : graph.cardinality) {
    truth.marginals.emplace_back(static_cast<std::size_t>(labels), 0.0);
  }
  double sum = 0.0;
  for (std::size_t k = 0; k < energies.size(); ++k) {
    const double weight = std::exp(truth.least_energy - energies[k]);
    sum += weight;
    for (std::size_t a = 0; a < x.size(); ++a) {
      truth.marginals[a][static_cast<std::size_t>(labelings[k][a])] += weight;
    }
  }
  for (auto& marginal : truth.marginals) {
    for (double& value : marginal) value /= sum;
  }
  truth.log_partition = std::log(sum) - truth.least_energy;
  return truth;
}

// Models of the kinds of the public ones, written to files and read again.
class SyntheticModels : public ::testing::Test {
 protected:
  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

  // A factor graph with random unaries; pairs come with a table of energies.
  FactorGraph Unaries(int variables, int labels) {
    FactorGraph graph{std::vector<int>(static_cast<std::size_t>(variables), labels), {}};
    for (int a = 0; a < variables; ++a) {
      Factor factor{{a}, {}};
      for (int i = 0; i < labels; ++i) factor.energy.push_back(Uniform(-1.0, 1.0));
      graph.factors.push_back(factor);
    }
    return graph;
  }

  // w d(i, j) with a metric that is part Potts, part linear, and an asymmetry that unaries can take.
  void AddPair(FactorGraph* graph, int a, int b, double weight) {
    const int labels = graph->cardinality[0];
    const double linear = Uniform(0.0, 1.0), row = Uniform(-1.0, 1.0), column = Uniform(-1.0, 1.0);
    Factor factor{{a, b}, {}};
    for (int i = 0; i < labels; ++i) {
      for (int j = 0; j < labels; ++j) {
        const double distance = (i != j) * (1.0 - linear) + std::abs(i - j) * linear;
        factor.energy.push_back(weight * distance + row * i + column * j);
      }
    }
    graph->factors.push_back(factor);
  }

  FactorGraph Grid(int width, int height, int labels, double least_weight, double most_weight) {
    FactorGraph graph = Unaries(width * height, labels);
    for (int a = 0; a < width * height; ++a) {
      if (a % width + 1 < width) AddPair(&graph, a, a + 1, Uniform(least_weight, most_weight));
      if (a + width < width * height) {
        AddPair(&graph, a, a + width, Uniform(least_weight, most_weight));
      }
    }
    return graph;
  }

  FactorGraph Bipartite(int half, double most_weight) {
    FactorGraph graph = Unaries(2 * half, 2);
    for (int a = 0; a < half; ++a) {
      for (int b = half; b < 2 * half; ++b) AddPair(&graph, a, b, Uniform(0.0, most_weight));
    }
    return graph;
  }

  std::vector<FactorGraph> Attractive() {
    return {ThroughFile(Grid(4, 3, 2, 1.0, 1.4)), ThroughFile(Bipartite(6, 3.0)),
            ThroughFile(Grid(3, 3, 4, 0.6, 1.2))};
  }

  FactorGraph ThroughFile(const FactorGraph& graph) {
    WriteUai(directory_ / "model.uai", graph);
    return ReadUai(directory_ / "model.uai");
  }

  TempDir directory_;
  std::mt19937_64 random_{30};
};

TEST_F(SyntheticModels, ExactValueIsReproducedAndInsideTheInterval) {
  for (const FactorGraph& graph : Attractive()) {
    const Truth truth = Enumerate(graph);
    WriteUaiMar(directory_ / "model.uai.MAR", truth.marginals);
    WriteUaiPr(directory_ / "model.uai.PR", truth.log_partition);
    EXPECT_DOUBLE_EQ(ReadUaiPr(directory_ / "model.uai.PR"), truth.log_partition);
    ExpectExact(graph, truth.log_partition, ReadUaiMar(directory_ / "model.uai.MAR"));
    ExpectInsideTheInterval(graph, truth.log_partition);
  }
}

TEST_F(SyntheticModels, LeastEnergyIsInsideTheMapInterval) {
  for (const FactorGraph& graph : Attractive()) {
    ExpectInsideTheMapInterval(graph, Enumerate(graph).least_energy);
  }
}

TEST_F(SyntheticModels, SpinGlassesAreSolvedExactlyAndRefusedAsCrf) {
  const FactorGraph graph = ThroughFile(Grid(4, 3, 2, -4.0, 4.0));
  const Truth truth = Enumerate(graph);
  ExpectExact(graph, truth.log_partition, truth.marginals);
  EXPECT_THROW(RecogniseSparseCrf(graph), NotExpressible);
}

// ---- Public models ----

std::filesystem::path Models() {
  const char* data = std::getenv("SUBMARINE_DATA");
  return (data != nullptr ? std::filesystem::path(data)
                          : std::filesystem::path(SUBMARINE_SOURCE_DIR) / "../shared/data") /
         "models";
}

// reference.tsv by file and column; columns that are empty are absent.
std::map<std::string, std::map<std::string, std::string>> Reference() {
  std::map<std::string, std::map<std::string, std::string>> table;
  std::ifstream file(Models() / "reference.tsv");
  std::string line;
  std::vector<std::string> header;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
    if (header.empty()) {
      header = cells;
      continue;
    }
    for (std::size_t k = 1; k < cells.size(); ++k) {
      if (!cells[k].empty()) table[cells[0]][header[k]] = cells[k];
    }
  }
  return table;
}

class PublicModels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(Models() / "reference.tsv")) {
      GTEST_SKIP() << "no " << Models().string() << " (set SUBMARINE_DATA)";
    }
    reference_ = Reference();
  }

  FactorGraph Read(const std::string& name) const { return ReadUai(Models() / (name + ".uai")); }
  Marginals ReadMarginals(const std::string& name) const {
    return ReadUaiMar(Models() / (name + ".uai.MAR"));
  }
  double Known(const std::string& name, const std::string& column) const {
    return std::stod(reference_.at(name + ".uai").at(column));
  }

  std::map<std::string, std::map<std::string, std::string>> reference_;
};

TEST_F(PublicModels, ExactValueIsReproducedAndInsideTheInterval) {
  for (const char* name : {"DBN_14", "Segmentation_11", "Segmentation_12", "Segmentation_13",
                           "Segmentation_14", "2_17_s.21.sub30", "2_28_s.21.sub30"}) {
    SCOPED_TRACE(name);
    const FactorGraph graph = Read(name);
    const double known = Known(name, "exact_lnZ");
    ExpectExact(graph, known, ReadMarginals(name));
    ExpectInsideTheInterval(graph, known);
  }
  EXPECT_NEAR(ReadUaiPr(Models() / "2_17_s.21.sub30.uai.PR"), Known("2_17_s.21.sub30", "exact_lnZ"),
              1e-11);
}

TEST_F(PublicModels, LeastEnergyIsInsideTheMapInterval) {
  for (const char* name : {"DBN_14", "Segmentation_11", "Segmentation_12", "Segmentation_13",
                           "Segmentation_14", "1_28_s.21", "2_17_s.21"}) {
    SCOPED_TRACE(name);
    ExpectInsideTheMapInterval(Read(name), Known(name, "MAP_energy"));
  }
}

TEST_F(PublicModels, SpinGlassesAreSolvedExactlyAndRefusedAsCrf) {
  for (const char* name : {"Grids_11", "Grids_15"}) {
    SCOPED_TRACE(name);
    const FactorGraph graph = Read(name);
    ExpectExact(graph, Known(name, "exact_lnZ"), ReadMarginals(name));
    EXPECT_THROW(RecogniseSparseCrf(graph), NotExpressible);
  }
}

TEST_F(PublicModels, TheExampleOfLibDaiIsRead) {
  const FactorGraph graph = ReadFg(Models() / "testfast.fg");
  EXPECT_EQ(graph.cardinality, std::vector<int>(16, 2));
  ASSERT_EQ(graph.factors.size(), 40u);
  EXPECT_THAT(graph.factors[0].scope, ::testing::ElementsAre(0, 4));
  EXPECT_DOUBLE_EQ(graph.factors[0].energy[0], -std::log(1.55785));
}

}  // namespace
}  // namespace submarine::internal
