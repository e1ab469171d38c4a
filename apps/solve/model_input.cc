#include "apps/solve/model_input.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "apps/cli/reading_limits.h"
#include "submarine/base/error.h"
#include "submarine/io/model/dense_bundle.h"
#include "submarine/io/model/fg.h"
#include "submarine/io/model/grid_bundle.h"
#include "submarine/io/model/uai.h"

namespace submarine::apps {

namespace {

using internal::Stopwatch;

void ReadBundleTo(const std::string& file, bool strict_hst, const ReadingLimits& limits,
                  ModelInput* input) {
  const auto take = [&](auto loaded) {
    input->width = loaded.width;
    input->height = loaded.height;
    input->warnings = std::move(loaded.warnings);
    input->cliques = std::move(loaded.cliques);
    return std::move(loaded.model);
  };
  if (ReadBundleKind(file) == "dense") {
    LoadedDense loaded = ReadDenseBundle(file, strict_hst, limits.For("the picture of " + file));
    input->depth = loaded.depth;
    input->dense = take(std::move(loaded));
  } else {
    input->crf = take(ReadBundle(file, strict_hst));
  }
}

}  // namespace

ModelInput ReadModel(const std::string& file, const std::string& evidence, bool strict_hst,
                     const SolveOptions& options, const Stopwatch& clock) {
  ModelInput input;
  input.file = file;
  const std::string ending = std::filesystem::path(file).extension().string();
  if (ending == ".uai") {
    input.graph = ReadUai(file);
  } else if (ending == ".fg") {
    input.graph = ReadFg(file);
  } else if (ending == ".json") {
    constexpr std::size_t kFewestLabels = 2;
    const ReadingLimits limits(options, clock, LeastBytesPerPixel(kFewestLabels));
    ReadBundleTo(file, strict_hst, limits, &input);
  } else {
    throw FileError(fmt::format("{}: expected a file that ends in .uai, .fg or .json", file));
  }
  if (!evidence.empty()) {
    if (!input.graph) throw InvalidInput("evidence is for .uai and .fg models only");
    ApplyEvidence(*input.graph, ReadUaiEvidence(evidence));
  }
  return input;
}

SolveResult Solve(const ModelInput& input, const SolveOptions& options, const Watch& watch) {
  if (input.dense && !input.cliques.empty())
    return submarine::Solve(CliqueCrf<DenseCrf>(*input.dense, input.cliques), options, watch);
  if (input.crf && !input.cliques.empty())
    return submarine::Solve(CliqueCrf<SparseCrf>(*input.crf, input.cliques), options, watch);
  if (input.dense) return submarine::Solve(*input.dense, options, watch);
  if (input.crf) return submarine::Solve(*input.crf, options, watch);
  return submarine::Solve(*input.graph, options, watch);
}

}  // namespace submarine::apps
