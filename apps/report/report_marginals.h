// Marginals small enough for a page: 8 bits per probability, and only the most probable labels of
// every pixel if all of them do not fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/report/page_grid.h"
#include "submarine/io/file/npy.h"

namespace submarine::apps {

inline constexpr std::size_t kMaxReportLabels = 65536;

// The pixels that the page shows, with `kept` entries each. q = round(255 sqrt(p)), so that
// p = (q/255)^2: small probabilities keep their order of magnitude, and 0 and 1 are exact.
struct QuantisedMarginals {
  std::size_t labels = 0;
  std::size_t kept = 0;
  std::vector<std::uint8_t> q;
  std::vector<std::uint16_t> label;  // of every entry, most probable first; empty: 0, 1, 2, ...

  std::size_t pixels() const { return kept > 0 ? q.size() / kept : 0; }
};

// Checks the values of an opened array whose last axis is the labels: throws FileError unless each
// is a probability and each row sums to one.
QuantisedMarginals ReadMarginals(const std::filesystem::path& path, const PageGrid& grid,
                                 internal::NpyReader* reader);

// The same from only the most probable labels: two arrays with k of them on the last axis, the
// second one of integers below `labels` (or any integers if that is 0, for unknown).
QuantisedMarginals ReadTopMarginals(const std::filesystem::path& path, const PageGrid& grid,
                                    internal::NpyReader* reader,
                                    const std::filesystem::path& labels_path, std::size_t labels);

// Base64 of zlib data.
struct PackedMarginals {
  std::size_t kept = 0;
  std::string q;
  std::string label;            // empty: all labels in order
  std::size_t label_bytes = 0;  // 1 or 2, little-endian

  std::size_t bytes() const { return q.size() + label.size(); }
};

// With as many labels per pixel as fit into `max_bytes`, about; none if not even one does.
std::optional<PackedMarginals> PackMarginals(const QuantisedMarginals& marginals,
                                             std::size_t max_bytes);

}  // namespace submarine::apps
