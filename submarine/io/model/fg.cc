#include "submarine/io/model/fg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/io/file/input_file.h"
#include "submarine/io/file/text_scanner.h"

namespace submarine {
namespace {

using internal::kMaxInt;
using internal::ReadTextFile;
using internal::TextScanner;

class FgReader {
 public:
  FgReader(const std::filesystem::path& name, std::string_view text)
      : scanner_(name, text, '#'), bytes_(static_cast<std::int64_t>(text.size())) {
    // Zeros are left out of the file, so its size does not bound the tables. A file with more zeros
    // per byte than this is damaged rather than a model.
    entries_left_ = std::max<std::int64_t>(std::int64_t{1} << 24, 64 * bytes_);
  }

  FactorGraph Read() {
    const std::int64_t num_factors = scanner_.Integer("the number of factors", 1, kMaxInt);
    scanner_.ExpectRoomFor(num_factors, "factors");
    for (std::int64_t f = 0; f < num_factors; ++f) ReadFactor(f);
    scanner_.ExpectEnd("the last factor");
    for (int& cardinality : graph_.cardinality) cardinality = std::max(cardinality, 1);
    return std::move(graph_);
  }

 private:
  void ReadFactor(std::int64_t index) {
    Factor& factor = graph_.factors.emplace_back();
    const std::int64_t size = scanner_.Integer("the number of variables of a factor", 0, kMaxInt);
    scanner_.ExpectRoomFor(2 * size, "variables and cardinalities");
    ReadScope(index, size, factor);
    const std::vector<std::int64_t> cardinality = ReadCardinalities(factor);
    ReadTable(index, cardinality, factor);
  }

  void ReadScope(std::int64_t index, std::int64_t size, Factor& factor) {
    factor.scope.resize(static_cast<std::size_t>(size));
    for (int& variable : factor.scope) {
      variable = static_cast<int>(scanner_.Integer("the number of a variable", 0, kMaxInt - 1));
      if (variable >= bytes_) {
        scanner_.Fail(
            fmt::format("variable {} is numbered far beyond what a file of {} bytes describes",
                        variable, bytes_));
      }
      const auto v = static_cast<std::size_t>(variable);
      if (v >= graph_.cardinality.size()) {
        graph_.cardinality.resize(v + 1, 0);
        last_factor_.resize(v + 1, -1);
      }
      if (last_factor_[v] == index) {
        scanner_.Fail(fmt::format("variable {} appears twice in factor {}", variable, index));
      }
      last_factor_[v] = index;
    }
  }

  std::vector<std::int64_t> ReadCardinalities(const Factor& factor) {
    std::vector<std::int64_t> cardinality;
    for (const int variable : factor.scope) {
      const std::int64_t read = scanner_.Integer("the cardinality of a variable", 1, kMaxInt);
      int& known = graph_.cardinality[static_cast<std::size_t>(variable)];
      if (known != 0 && known != read) {
        scanner_.Fail(
            fmt::format("variable {} has cardinality {} here, but {} in an earlier factor",
                        variable, read, known));
      }
      known = static_cast<int>(read);
      cardinality.push_back(read);
    }
    return cardinality;
  }

  void ReadTable(std::int64_t index, const std::vector<std::int64_t>& cardinality, Factor& factor) {
    std::int64_t size = 1;
    for (const std::int64_t k : cardinality) {
      if (__builtin_mul_overflow(size, k, &size) || size > entries_left_) {
        scanner_.Fail(
            fmt::format("the table of factor {} is far larger than a file of {} bytes describes",
                        index, bytes_));
      }
    }
    entries_left_ -= size;
    const std::int64_t nonzeros = scanner_.Integer("the number of nonzero potentials", 0, size);
    scanner_.ExpectRoomFor(2 * nonzeros, "indices and potentials");

    constexpr double kZero = std::numeric_limits<double>::infinity();
    factor.energy.assign(static_cast<std::size_t>(size), kZero);
    std::vector<bool> given(static_cast<std::size_t>(size), false);
    for (std::int64_t k = 0; k < nonzeros; ++k) {
      const std::int64_t entry = scanner_.Integer("the index of a potential", 0, size - 1);
      if (given[static_cast<std::size_t>(entry)]) {
        scanner_.Fail(fmt::format("factor {} gives the potential of index {} twice", index, entry));
      }
      given[static_cast<std::size_t>(entry)] = true;
      factor.energy[LastFastest(entry, cardinality)] = scanner_.PotentialEnergy("a potential");
    }
  }

  // The position of an entry, given its index with the first variable fastest.
  static std::size_t LastFastest(std::int64_t index, const std::vector<std::int64_t>& cardinality) {
    std::int64_t position = 0;
    for (const std::int64_t k : cardinality) {
      position = position * k + index % k;
      index /= k;
    }
    return static_cast<std::size_t>(position);
  }

  TextScanner scanner_;
  std::int64_t bytes_;
  std::int64_t entries_left_;
  FactorGraph graph_;
  std::vector<std::int64_t> last_factor_;  // per variable, the last factor that used it
};

}  // namespace

FactorGraph ReadFg(const std::filesystem::path& path) { return ParseFg(ReadTextFile(path), path); }

FactorGraph ParseFg(std::string_view text, const std::filesystem::path& name) {
  return FgReader(name, text).Read();
}

}  // namespace submarine
