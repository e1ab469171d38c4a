#include "submarine/io/file/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

#include "submarine/base/error.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/file/text_scanner.h"

static_assert(std::endian::native == std::endian::little,
              "arrays are copied between memory and little-endian files as they are");

namespace submarine::internal {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

[[noreturn]] void Fail(const InputFile& file, std::string_view message) {
  throw FileError(fmt::format("\"{}\" {}", file.path().string(), message));
}

// The header is a Python dictionary literal with three known keys, so a scanner for strings, words
// and tuples of integers is enough.
class DictScanner {
 public:
  DictScanner(const InputFile& file, std::string_view text) : file_(file), text_(text) {}

  bool Take(char c) {
    SkipSpace();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  void Expect(char c) {
    if (!Take(c)) Refuse();
  }
  void ExpectEnd() {
    SkipSpace();
    if (position_ != text_.size()) Refuse();
  }
  std::string String() {
    SkipSpace();
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    if (quote != '\'' && quote != '"') Refuse();
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) Refuse();
    std::string value(text_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return value;
  }
  bool Boolean() {
    SkipSpace();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(position_).starts_with(word)) {
        position_ += word.size();
        return value;
      }
    }
    Refuse();
  }
  NpyShape Tuple() {
    NpyShape values;
    Expect('(');
    while (!Take(')')) {
      SkipSpace();
      const char* begin = text_.data() + position_;
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
      if (error != std::errc{} || value < 0) Refuse();
      position_ += static_cast<std::size_t>(end - begin);
      Take('L');  // written by Python 2
      values.push_back(value);
      if (!Take(',')) {
        Expect(')');
        break;
      }
    }
    return values;
  }
  [[noreturn]] void Refuse() const {
    Fail(file_, fmt::format("has a malformed .npy header: {}", Quoted(text_)));
  }

 private:
  void SkipSpace() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n'))
      ++position_;
  }

  const InputFile& file_;
  std::string_view text_;
  std::size_t position_ = 0;
};

// "header claims 8.0 TB" is easier to read than thirteen digits.
std::string ByteCount(std::uint64_t bytes) {
  if (bytes < 1'000'000) return fmt::format("{} bytes", bytes);
  static constexpr const char* kUnits[] = {"MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / 1e6;
  std::size_t unit = 0;
  for (; value >= 1000.0 && unit + 1 < std::size(kUnits); ++unit) value /= 1000.0;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string ReadHeaderText(InputFile& file) {
  char prefix[8];
  if (file.size() < sizeof prefix) Fail(file, "is not a .npy file: it is too short");
  file.Read(prefix, sizeof prefix);
  if (std::string_view(prefix, kMagic.size()) != kMagic) {
    Fail(file, "is not a .npy file: it does not begin with \\x93NUMPY");
  }
  const int version = static_cast<unsigned char>(prefix[6]);
  if (version < 1 || version > 3) {
    Fail(file, fmt::format("has .npy version {}, but only 1, 2 and 3 are known", version));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::uint32_t length = 0;
  file.Read(&length, length_bytes);
  if (length > file.bytes_left()) {
    Fail(file, fmt::format("is truncated: its header claims {} bytes, the whole file has {}",
                           length, file.size()));
  }
  std::string header(length, '\0');
  file.Read(header.data(), header.size());
  return header;
}

// Product of the shape times `item_bytes`; saturates.
std::uint64_t TotalBytes(std::span<const std::int64_t> shape, std::size_t item_bytes) {
  std::uint64_t total = item_bytes;
  bool overflow = false;
  for (const std::int64_t n : shape) {
    if (n == 0) return 0;
    overflow |= __builtin_mul_overflow(total, static_cast<std::uint64_t>(n), &total);
  }
  return overflow ? std::numeric_limits<std::uint64_t>::max() : total;
}

// The largest number that does not round to an infinite float.
constexpr double kMaxRoundedToFloat = 0x1.fffffefffffffp+127;

// IEEE 754 half precision, as numpy's float16 is stored.
struct Half {
  std::uint16_t bits;

  // NOLINTNEXTLINE(google-explicit-constructor): every one of them is a float.
  operator float() const {
    constexpr int kMantissaBits = 10, kMantissa = 0x3ff, kExponent = 0x1f;
    const int exponent = bits >> kMantissaBits & kExponent;
    const int mantissa = bits & kMantissa;
    float size = 0.0F;
    if (exponent == kExponent) {
      size = mantissa == 0 ? std::numeric_limits<float>::infinity()
                           : std::numeric_limits<float>::quiet_NaN();
    } else if (exponent == 0) {
      size = std::ldexp(static_cast<float>(mantissa), -24);
    } else {
      size = std::ldexp(static_cast<float>(mantissa + kMantissa + 1), exponent - 25);
    }
    return (bits & 0x8000) != 0 ? -size : size;
  }
};

// Reads values stored as Stored through a small buffer.
template <class Stored, class T>
void ReadConverted(InputFile& file, std::span<T> values) {
  if constexpr (std::is_same_v<Stored, T>) {
    file.Read(values.data(), values.size_bytes());
    return;
  }
  constexpr std::size_t kChunk = 16384;
  std::vector<Stored> chunk(std::min(values.size(), kChunk));
  for (std::size_t done = 0; done < values.size(); done += chunk.size()) {
    const std::size_t n = std::min(chunk.size(), values.size() - done);
    file.Read(chunk.data(), n * sizeof(Stored));
    if constexpr (std::is_same_v<Stored, std::uint64_t> && std::is_same_v<T, std::int64_t>) {
      const auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      if (*std::max_element(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(n)) >
          limit) {
        Fail(file, "holds an integer beyond the range of int64");
      }
    }
    for (std::size_t k = 0; k < n; ++k) {
      if constexpr (std::is_same_v<Stored, double> && std::is_same_v<T, float>) {
        if (std::abs(chunk[k]) > kMaxRoundedToFloat && std::isfinite(chunk[k])) {
          Fail(file, fmt::format("holds the value {} at index {}, beyond the range of float32",
                                 chunk[k], done + k));
        }
      }
      values[done + k] = static_cast<T>(chunk[k]);
    }
  }
}

template <class T>
void ReadIntegers(InputFile& file, char kind, std::size_t item_bytes, std::span<T> values) {
  const bool is_signed = kind == 'i';
  switch (item_bytes) {
    case 1:
      return is_signed ? ReadConverted<std::int8_t>(file, values)
                       : ReadConverted<std::uint8_t>(file, values);
    case 2:
      return is_signed ? ReadConverted<std::int16_t>(file, values)
                       : ReadConverted<std::uint16_t>(file, values);
    case 4:
      return is_signed ? ReadConverted<std::int32_t>(file, values)
                       : ReadConverted<std::uint32_t>(file, values);
    default:
      return is_signed ? ReadConverted<std::int64_t>(file, values)
                       : ReadConverted<std::uint64_t>(file, values);
  }
}

template <class T>
constexpr std::string_view TypeCode() {
  if constexpr (std::is_same_v<T, double>) return "<f8";
  if constexpr (std::is_same_v<T, float>) return "<f4";
  if constexpr (std::is_same_v<T, std::int64_t>) return "<i8";
  if constexpr (std::is_same_v<T, std::int32_t>) return "<i4";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "|u1";
}

// Version 1 header, padded so that the values begin at a multiple of 64 bytes.
std::string HeaderFor(std::string_view type, std::span<const std::int64_t> shape) {
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type,
                                 ShapeText(shape));
  constexpr std::size_t kBefore = 10;  // magic, version, length
  dict.append(63 - (kBefore + dict.size()) % 64, ' ');
  dict += '\n';
  if (dict.size() > std::numeric_limits<std::uint16_t>::max()) {
    throw InvalidInput(
        fmt::format("a shape of {} dimensions does not fit into a .npy header", shape.size()));
  }
  std::string header(kMagic);
  header +=
      {'\x01', '\x00', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  return header + dict;
}

}  // namespace

std::string ShapeText(std::span<const std::int64_t> shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape, ", "));
}

NpyReader::NpyReader(const std::filesystem::path& path) : file_(path) {
  ParseHeader(ReadHeaderText(file_));
  const std::uint64_t claimed = TotalBytes(shape_, item_bytes_);
  const std::uint64_t available = file_.bytes_left();
  if (claimed != available) {
    Fail(file_,
         fmt::format(
             "is {}: its header claims {} of values ({} of shape {}), but {} follow the header",
             claimed > available ? "truncated" : "too long", ByteCount(claimed), type_name(),
             ShapeText(shape_), ByteCount(available)));
  }
  count_ = static_cast<std::size_t>(claimed / item_bytes_);
}

void NpyReader::ParseHeader(const std::string& header) {
  DictScanner scanner(file_, header);
  bool has_type = false, has_order = false, has_shape = false;
  scanner.Expect('{');
  while (!scanner.Take('}')) {
    const std::string key = scanner.String();
    scanner.Expect(':');
    if (key == "descr" && !has_type) {
      if (scanner.Take('['))
        Fail(file_, "holds records, but a plain array of numbers was expected");
      ParseType(scanner.String());
      has_type = true;
    } else if (key == "fortran_order" && !has_order) {
      if (scanner.Boolean()) {
        Fail(file_,
             "is in Fortran order, but C order was expected (numpy.ascontiguousarray makes it so)");
      }
      has_order = true;
    } else if (key == "shape" && !has_shape) {
      shape_ = scanner.Tuple();
      has_shape = true;
    } else {
      scanner.Refuse();
    }
    if (!scanner.Take(',')) {
      scanner.Expect('}');
      break;
    }
  }
  scanner.ExpectEnd();
  if (!has_type || !has_order || !has_shape) scanner.Refuse();
}

void NpyReader::ParseType(const std::string& type) {
  if (type.starts_with('>')) {
    Fail(file_,
         fmt::format("holds big-endian numbers ({}), but little-endian ones were expected", type));
  }
  if (type == "|O" || type == "O") Fail(file_, "holds Python objects, but numbers were expected");
  static constexpr std::string_view kKnown[] = {"f2", "f4", "f8", "i1", "i2", "i4",
                                                "i8", "u1", "u2", "u4", "u8", "b1"};
  const bool has_order = type.starts_with('<') || type.starts_with('|') || type.starts_with('=');
  const std::string_view code = std::string_view(type).substr(has_order ? 1 : 0);
  if (std::find(std::begin(kKnown), std::end(kKnown), code) == std::end(kKnown)) {
    Fail(file_,
         fmt::format("holds values of type {}, but float16, float32, float64 or integers of up to "
                     "64 bits were expected",
                     Quoted(type)));
  }
  kind_ = code[0] == 'b' ? 'u' : code[0];
  item_bytes_ = static_cast<std::size_t>(code[1] - '0');
}

std::string NpyReader::type_name() const {
  const std::string_view stem = kind_ == 'f' ? "float" : kind_ == 'i' ? "int" : "uint";
  return fmt::format("{}{}", stem, 8 * item_bytes_);
}

void NpyReader::CheckPlaces(std::size_t places) const {
  if (places != count_) {
    throw InvalidInput(
        fmt::format("the array has {} values, but room for {} was given", count_, places));
  }
}

template <class T>
void NpyReader::ReadNumbers(std::span<T> values) {
  CheckPlaces(values.size());
  if (kind_ != 'f') {
    ReadIntegers(file_, kind_, item_bytes_, values);
  } else if (item_bytes_ == 8) {
    ReadConverted<double>(file_, values);
  } else if (item_bytes_ == 4) {
    ReadConverted<float>(file_, values);
  } else {
    ReadConverted<Half>(file_, values);
  }
}

void NpyReader::ReadTo(std::span<double> values) { ReadNumbers(values); }

void NpyReader::ReadTo(std::span<float> values) { ReadNumbers(values); }

void NpyReader::ReadTo(std::span<std::int64_t> values) {
  CheckPlaces(values.size());
  if (!holds_integers()) {
    Fail(file_, fmt::format("holds {} values, but integers were expected", type_name()));
  }
  ReadIntegers(file_, kind_, item_bytes_, values);
}

void NpyReader::ReadUpToConstants(std::size_t columns, std::span<double> values) {
  if (!holds_integers() || item_bytes_ != sizeof(std::uint64_t)) return ReadTo(values);
  CheckPlaces(values.size());
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  constexpr std::uint64_t kExact = std::uint64_t{1} << 53;
  // Mapped to unsigned numbers of the same order, so that differences cannot overflow.
  std::vector<std::uint64_t> ordered(values.size());
  file_.Read(ordered.data(), ordered.size() * sizeof(std::uint64_t));
  const std::uint64_t zero = kind_ == 'i' ? kSign : 0;
  for (std::uint64_t& x : ordered) x ^= zero;
  for (std::size_t c = 0; c < columns; ++c) {
    std::uint64_t low = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t high = 0;
    for (std::size_t k = c; k < ordered.size(); k += columns) {
      low = std::min(low, ordered[k]);
      high = std::max(high, ordered[k]);
    }
    const bool exact = high <= zero + kExact && (zero == 0 || low >= zero - kExact);
    const std::uint64_t origin = exact ? zero : low + (high - low) / 2;
    for (std::size_t k = c; k < ordered.size(); k += columns) {
      const bool above = ordered[k] >= origin;
      const std::uint64_t apart = above ? ordered[k] - origin : origin - ordered[k];
      values[k] = above ? static_cast<double>(apart) : -static_cast<double>(apart);
    }
  }
}

template <class T>
void WriteNpy(const std::filesystem::path& path, std::span<const T> values,
              std::span<const std::int64_t> shape) {
  const bool negative =
      std::any_of(shape.begin(), shape.end(), [](std::int64_t n) { return n < 0; });
  if (negative || TotalBytes(shape, sizeof(T)) != values.size_bytes()) {
    throw InvalidInput(fmt::format("{} values cannot be written as an array of shape {}",
                                   values.size(), ShapeText(shape)));
  }
  AtomicFile file(path);
  file.Write(HeaderFor(TypeCode<T>(), shape));
  file.Write(values.data(), values.size_bytes());
  file.Commit();
}

template void WriteNpy(const std::filesystem::path&, std::span<const double>,
                       std::span<const std::int64_t>);
template void WriteNpy(const std::filesystem::path&, std::span<const float>,
                       std::span<const std::int64_t>);
template void WriteNpy(const std::filesystem::path&, std::span<const std::int32_t>,
                       std::span<const std::int64_t>);
template void WriteNpy(const std::filesystem::path&, std::span<const std::int64_t>,
                       std::span<const std::int64_t>);
template void WriteNpy(const std::filesystem::path&, std::span<const std::uint8_t>,
                       std::span<const std::int64_t>);

void WriteNpy(const std::filesystem::path& path, const Matrix<double>& values,
              const NpyShape& shape) {
  WriteNpy(path, std::span<const double>(values.data(), values.size()), shape);
}

void WriteNpy(const std::filesystem::path& path, const Matrix<double>& values) {
  WriteNpy(path, values,
           {static_cast<std::int64_t>(values.rows()), static_cast<std::int64_t>(values.cols())});
}

}  // namespace submarine::internal
