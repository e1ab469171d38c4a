// Shared by the bundles of grid_bundle.h and dense_bundle.h: a JSON header whose keys name arrays
// beside it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/matrix.h"
#include "submarine/io/file/json_file.h"
#include "submarine/io/file/npy.h"
#include "submarine/labels/label_cuts.h"
#include "submarine/model/clique.h"

namespace submarine::internal {

inline constexpr std::int64_t kMaxBundleVariables = std::numeric_limits<int>::max();

// The limit of a header, which names files and holds a few numbers.
inline constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{1} << 20;

// What is wrong with a file name in a header, or "". A bundle is self-contained: its files are in
// the directory of the header or below, so that a bundle from elsewhere cannot name other files.
std::string BundlePathProblem(const std::string& name);

// Throws InvalidInput if the metric is in a file that a header in this directory may not name,
// FileError if links lead out of the directory.
void CheckBundleMetric(const std::string& spec, const std::filesystem::path& directory);

// The metric as a header at this path names it. What its directory does not hold is put beside it: the
// file of a metric as NAME.metric.ENDING, the matrix of one that `spec` does not name as
// NAME.metric.npy. Throws FileError.
std::string MetricBesideHeader(const std::filesystem::path& header, const std::string& spec,
                               const LabelMetric& metric);

// The keys of a header, or of a part of it, with messages that begin with fields.where().
struct BundleHeader {
  const JsonFields& fields;
  std::filesystem::path directory;  // paths are relative to it

  std::filesystem::path FilePath(std::string_view key) const;  // throws unless it is inside

  // Throws FileError 'where: key "key": problem'; FailInArray puts the file's name before the
  // problem.
  [[noreturn]] void Fail(std::string_view key, std::string_view problem) const;
  [[noreturn]] void FailInArray(std::string_view key, std::string_view problem) const;

  std::unique_ptr<NpyReader> OpenArray(std::string_view key) const;
  // Refuses any other shape before memory is allocated.
  std::unique_ptr<NpyReader> OpenArray(std::string_view key, const NpyShape& shape,
                                       std::string_view axes) const;

  // Reads all values of the array, which must be finite; `what` names them in the message.
  template <class T>
  void ReadFinite(std::string_view key, NpyReader& reader, std::string_view what,
                  std::span<T> values) const {
    ReadFinite(key, reader, what, values, [&] { reader.ReadTo(values); });
  }
  // The same up to a constant per column (NpyReader::ReadUpToConstants).
  void ReadFinite(std::string_view key, NpyReader& reader, std::string_view what,
                  std::size_t columns, std::span<double> values) const {
    ReadFinite(key, reader, what, values, [&] { reader.ReadUpToConstants(columns, values); });
  }

  // One row per variable, for any shape of the array.
  template <class T>
  Matrix<T> ReadUnary(NpyReader& reader, std::size_t labels) const {
    Matrix<T> unary(reader.count() / labels, labels);
    ReadFinite("unary", reader, "unaries", std::span<T>(unary.data(), unary.size()));
    return unary;
  }

  // "metric", "constant" (default 0).
  LabelSpace ReadMetric(int num_labels, bool strict_hst, std::vector<std::string>* warnings) const;
  double ReadConstant() const;
  // "cliques" (default none): a list of {"members": [...], "gamma": ..., "truncation": ..., "weights": [...]}, or the name of
  // a JSON file that holds one.
  std::vector<Clique> ReadCliques(std::size_t num_variables) const;

 private:
  template <class T, class Read>
  void ReadFinite(std::string_view key, NpyReader& reader, std::string_view what,
                  std::span<T> values, const Read& read) const {
    try {
      read();
    } catch (const FileError& error) {
      Fail(key, error.what());
    }
    const auto bad =
        std::find_if_not(values.begin(), values.end(), [](T v) { return std::isfinite(v); });
    if (bad != values.end()) {
      FailAtValue(key, reader.shape(), static_cast<std::size_t>(bad - values.begin()), *bad, what);
    }
  }
  [[noreturn]] void FailAtValue(std::string_view key, const NpyShape& shape, std::size_t index,
                                double value, std::string_view what) const;
};

// NAME.what.npy for a header NAME.json.
std::filesystem::path BesideHeader(const std::filesystem::path& header, std::string_view what);

// Writes NAME.cliques.json for a header NAME.json and returns its name.
std::string WriteCliques(const std::filesystem::path& header, std::span<const Clique> cliques);

}  // namespace submarine::internal
