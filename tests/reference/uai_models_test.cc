// Public models with known answers (../shared/data/models, see its MANIFEST). Not shipped: these tests skip where the
// data is absent. SUBMARINE_DATA names another place.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "submarine/base/error.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/io/model/uai.h"
#include "submarine/model/recognise.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/flow/pdhg.h"
#include "submarine/solver/flow/rounding.h"
#include "submarine/solver/mean_field/mean_field.h"

namespace submarine::internal {
namespace {

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

class UaiModels : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(Models() / "reference.tsv")) {
      GTEST_SKIP() << "no reference models at " << Models() << " (set SUBMARINE_DATA)";
    }
    reference_ = Reference()[GetParam() + ".uai"];
    graph_ = ReadUai(Models() / (GetParam() + ".uai"));
  }

  std::map<std::string, std::string> reference_;
  FactorGraph graph_;
};

class AttractiveModels : public UaiModels {};

TEST_P(AttractiveModels, ExactValueIsReproducedAndInsideTheInterval) {
  const double known = std::stod(reference_.at("exact_lnZ"));
  const ExactResult exact = SolveExact(graph_);
  EXPECT_NEAR(exact.log_partition, known, 1e-6);
  const auto marginals = ReadUaiMar(Models() / (GetParam() + ".uai.MAR"));
  for (std::size_t a = 0; a < marginals.size(); ++a) {
    for (std::size_t i = 0; i < marginals[a].size(); ++i) {
      EXPECT_NEAR(exact.marginals[a][i], marginals[a][i], 2e-6) << "variable " << a;
    }
  }

  const SparseCrf model = RecogniseSparseCrf(graph_).model;
  PdhgOptions options;
  options.relative_gap = 1e-5;
  const BoundResult bound = SolvePdhg(model, options);
  EXPECT_EQ(bound.termination, Termination::kGapReached);
  EXPECT_GE(VerifiedUpper(model, ExtensionKind::kOptimal, bound.flow, 1.0), known - 1e-6);
  MeanFieldOptions mean_field;
  mean_field.extra_starts = {bound.marginals};
  EXPECT_LE(VerifiedLower(model, SolveMeanField(model, mean_field).marginals, 1.0), known + 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Exact, AttractiveModels,
                         ::testing::Values("DBN_14", "Segmentation_11", "Segmentation_12",
                                           "Segmentation_13", "Segmentation_14", "2_17_s.21.sub30",
                                           "2_28_s.21.sub30"));

class MapModels : public UaiModels {};

TEST_P(MapModels, LeastEnergyIsInsideTheMapInterval) {
  const double known = std::stod(reference_.at("MAP_energy"));
  const SparseCrf model = RecogniseSparseCrf(graph_).model;
  PdhgOptions options;
  options.temperature = 0.0;
  options.relative_gap = 1e-3;
  const BoundResult bound = SolvePdhg(model, options);
  EXPECT_EQ(bound.termination, Termination::kGapReached);
  const double relaxation = -VerifiedUpper(model, ExtensionKind::kOptimal, bound.flow, 0.0);
  const Labeling rounded = RoundMarginals(model, bound.marginals, 100, 1);
  EXPECT_LE(relaxation, known + 1e-5);
  EXPECT_GE(rounded.energy, known - 1e-5);
  RecordProperty("relaxation", std::to_string(relaxation));
  RecordProperty("rounded", std::to_string(rounded.energy));
}

INSTANTIATE_TEST_SUITE_P(Map, MapModels,
                         ::testing::Values("DBN_14", "Segmentation_11", "Segmentation_12",
                                           "Segmentation_13", "Segmentation_14", "1_28_s.21",
                                           "2_17_s.21"));

class SpinGlasses : public UaiModels {};

TEST_P(SpinGlasses, AreSolvedExactlyAndRefusedAsCrf) {
  EXPECT_NEAR(SolveExact(graph_).log_partition, std::stod(reference_.at("exact_lnZ")), 1e-6);
  EXPECT_THROW(RecogniseSparseCrf(graph_), NotExpressible);
}

INSTANTIATE_TEST_SUITE_P(Refused, SpinGlasses, ::testing::Values("Grids_11", "Grids_15"));

}  // namespace
}  // namespace submarine::internal
