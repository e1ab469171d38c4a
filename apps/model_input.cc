#include "apps/model_input.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/io/dense_bundle.h"
#include "submarine/io/fg.h"
#include "submarine/io/grid_bundle.h"
#include "submarine/io/uai.h"
#include "submarine/model/recognise.h"

namespace submarine::apps {

namespace {

void ReadBundleTo(const std::string& file, bool strict_hst, ModelInput* input) {
  const auto take = [&](auto loaded) {
    input->width = loaded.width;
    input->height = loaded.height;
    input->warnings = std::move(loaded.warnings);
    return std::move(loaded.model);
  };
  if (ReadBundleKind(file) == "dense") {
    LoadedDense loaded = ReadDenseBundle(file, strict_hst);
    input->depth = loaded.depth;
    input->dense = take(std::move(loaded));
  } else {
    input->crf = take(ReadBundle(file, strict_hst));
  }
}

}  // namespace

ModelInput ReadModel(const std::string& file, const std::string& evidence, bool strict_hst) {
  ModelInput input;
  input.file = file;
  const std::string ending = std::filesystem::path(file).extension().string();
  if (ending == ".uai") {
    input.graph = ReadUai(file);
  } else if (ending == ".fg") {
    input.graph = ReadFg(file);
  } else if (ending == ".json") {
    ReadBundleTo(file, strict_hst, &input);
  } else {
    throw FileError(fmt::format("{}: expected a file that ends in .uai, .fg or .json", file));
  }
  if (!evidence.empty()) {
    if (!input.graph) throw InvalidInput("evidence is for .uai and .fg models only");
    ApplyEvidence(*input.graph, ReadUaiEvidence(evidence));
  }
  return input;
}

SparseCrf ToSparseCrf(ModelInput input) {
  return input.crf ? std::move(*input.crf) : RecogniseSparseCrf(*input.graph);
}

FactorGraph ToTables(ModelInput input) {
  return input.graph ? std::move(*input.graph) : ToFactorGraph(*input.crf);
}

}  // namespace submarine::apps
