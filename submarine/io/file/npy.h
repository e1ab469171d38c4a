// NumPy's .npy arrays: versions 1 to 3, little-endian, C order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/io/file/input_file.h"

namespace submarine::internal {

using NpyShape = std::vector<std::int64_t>;

// "(3, 4)"
std::string ShapeText(std::span<const std::int64_t> shape);

// Opens an array and checks its header against the size of the file, so that the shape can be
// trusted and memory allocated before the values are read. All functions throw FileError naming the
// file.
class NpyReader {
 public:
  explicit NpyReader(const std::filesystem::path& path);

  const NpyShape& shape() const { return shape_; }
  std::size_t count() const { return count_; }
  std::string type_name() const;  // "float64", "int32", ...
  bool holds_integers() const { return kind_ != 'f'; }

  // Reads all values at once into exactly count() elements. Integers are read only from arrays of
  // integers (or bool); numbers from any of float32, float64, int8..int64, uint8..uint64, bool. A
  // number beyond the range of float is refused, not rounded to infinity.
  void ReadTo(std::span<double> values);
  void ReadTo(std::span<float> values);
  void ReadTo(std::span<std::int64_t> values);

  // The same, up to a constant per column (`columns` is the last axis): integers beyond 2^53 become
  // numbers relative to the middle of their column, so that differences keep full double precision.
  void ReadUpToConstants(std::size_t columns, std::span<double> values);

 private:
  void ParseHeader(const std::string& header);
  void ParseType(const std::string& type);
  void CheckPlaces(std::size_t places) const;
  template <class T>
  void ReadNumbers(std::span<T> values);

  InputFile file_;
  char kind_ = 'f';  // f, i or u
  std::size_t item_bytes_ = 8;
  NpyShape shape_;
  std::size_t count_ = 0;
};

// T is double, float, int32, int64 or uint8. Throws InvalidInput unless the shape has values.size()
// elements, and FileError when the file cannot be written.
template <class T>
void WriteNpy(const std::filesystem::path& path, std::span<const T> values,
              std::span<const std::int64_t> shape);

// `shape` may be any with the same number of elements, such as height x width x labels.
void WriteNpy(const std::filesystem::path& path, const Matrix<double>& values,
              const NpyShape& shape);
void WriteNpy(const std::filesystem::path& path, const Matrix<double>& values);

}  // namespace submarine::internal
