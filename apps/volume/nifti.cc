#include "apps/volume/nifti.h"

#include <fmt/format.h>
#include <nifti2_io.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>

#include "apps/report/page_encoding.h"
#include "submarine/base/error.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/file/input_file.h"

static_assert(std::endian::native == std::endian::little, "volumes are written as they are held");

namespace submarine::apps {
namespace {

using internal::AtomicFile;

using Header = std::unique_ptr<nifti_image, void (*)(nifti_image*)>;

constexpr std::int64_t kMostVoxels = std::int64_t{1} << 31;  // of all parts

// Of a length in the file's unit.
double Millimetres(const nifti_image& header) {
  switch (header.xyz_units) {
    case NIFTI_UNITS_METER:
      return 1000.0;
    case NIFTI_UNITS_MICRON:
      return 0.001;
    default:
      return 1.0;
  }
}

[[noreturn]] void FailToRead(const std::string& file, const std::string& why) {
  throw FileError(fmt::format("\"{}\" {}", file, why));
}

// The number of axes tells the order of bytes: it is from 1 to 7.
template <class Stored>
bool LooksGood(Stored* header, int version, int (*looks_good)(const Stored*)) {
  if (header->dim[0] < 0 || header->dim[0] > 7) swap_nifti_header(header, version);
  return looks_good(header) != 0;
}

bool HasGoodHeader(const std::string& file) {
  int version = 0;
  const std::unique_ptr<void, void (*)(void*)> stored(nifti_read_header(file.c_str(), &version, 0),
                                                      std::free);
  if (!stored) return false;
  if (version == 1)
    return LooksGood(static_cast<nifti_1_header*>(stored.get()), 1, nifti_hdr1_looks_good);
  if (version == 2)
    return LooksGood(static_cast<nifti_2_header*>(stored.get()), 2, nifti_hdr2_looks_good);
  return false;
}

Header Open(const std::string& file) {
  nifti_set_debug_level(0);  // it would print
  // Errors of the operating system have better words here.
  const internal::InputFile opened(file);
  // Checked first: nifti_image_read prints about headers that are wrong.
  Header header(HasGoodHeader(file) ? nifti_image_read(file.c_str(), 0) : nullptr,
                nifti_image_free);
  if (!header || header->nifti_type == NIFTI_FTYPE_ANALYZE)
    FailToRead(file, "cannot be read as NIfTI: its header is none");
  return header;
}

// Axes of length 1 behind the third are left out: NIfTI puts vectors on the fifth.
std::size_t PartsOf(const nifti_image& header, const std::string& file) {
  std::int64_t parts = 1;
  int longer = 0;
  for (int axis = 4; axis <= header.ndim; ++axis) {
    const std::int64_t length = header.dim[axis];
    longer += length > 1 ? 1 : 0;
    parts = length > 0 && parts <= kMostVoxels / length ? parts * length : -1;
    if (longer > 1 || parts < 1)
      FailToRead(file,
                 fmt::format("has {} axes, expected 3, or 4 with labels in the last", header.ndim));
  }
  return static_cast<std::size_t>(parts);
}

void TakeGrid(const nifti_image& header, Volume* volume) {
  const std::array<std::int64_t, 3> extent = {header.nx, header.ny, header.nz};
  std::int64_t all = static_cast<std::int64_t>(volume->parts);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (extent[axis] < 1 || extent[axis] > kMostVoxels / all)
      FailToRead(volume->name, fmt::format("has {} x {} x {} voxels, more than can be read",
                                           extent[0], extent[1], extent[2]));
    all *= extent[axis];
    volume->extent[axis] = static_cast<int>(extent[axis]);
  }
  const double unit = Millimetres(header);
  volume->spacing = {unit * header.dx, unit * header.dy, unit * header.dz};
  for (const double side : volume->spacing) {
    if (!(side > 0.0) || !std::isfinite(side))
      FailToRead(volume->name,
                 fmt::format("has voxels of {:g} x {:g} x {:g} mm", volume->spacing[0],
                             volume->spacing[1], volume->spacing[2]));
  }
  const auto& rows = header.sform_code > 0 ? header.sto_xyz : header.qto_xyz;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 4; ++j) volume->affine[i][j] = unit * rows.m[i][j];
  }
}

// The numbers of a file, piece by piece. nifti_image_load would hold all of them, and put 0 where one is
// not finite.
class Numbers {
 public:
  explicit Numbers(const nifti_image& header)
      : header_(header),
        file_(znzopen(header.iname, "rb", nifti_is_gzfile(header.iname))),
        bytes_(kPiece * static_cast<std::size_t>(header.nbyper)) {
    if (znz_isnull(file_) || znzseek(file_, header.iname_offset, SEEK_SET) < 0) Fail();
  }
  ~Numbers() { Xznzclose(&file_); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  // Calls take(i, value) for all of them.
  template <class T, class Take>
  void ForEach(const Take& take) {
    const auto count = static_cast<std::size_t>(header_.nvox);
    for (std::size_t begin = 0; begin < count; begin += kPiece) {
      const std::size_t size = std::min(kPiece, count - begin);
      if (znzread(bytes_.data(), sizeof(T), size, file_) != size) Fail();
      if (sizeof(T) > 1 && header_.byteorder != nifti_short_order())
        nifti_swap_Nbytes(static_cast<std::int64_t>(size), sizeof(T), bytes_.data());
      for (std::size_t i = 0; i < size; ++i) {
        T value;
        std::memcpy(&value, bytes_.data() + i * sizeof(T), sizeof(T));
        take(begin + i, static_cast<double>(value));
      }
    }
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 16;

  [[noreturn]] void Fail() {
    FailToRead(header_.fname, "ends before its last voxel, or is damaged");
  }

  const nifti_image& header_;
  znzFile file_;
  std::vector<char> bytes_;
};

template <class T, class Take>
bool TakeIf(const nifti_image& header, int type, const Take& take) {
  if (header.datatype != type) return false;
  Numbers(header).ForEach<T>(take);
  return true;
}

template <class Take>
void ForEachNumber(const nifti_image& header, const Take& take) {
  TakeIf<std::uint8_t>(header, DT_UINT8, take) || TakeIf<std::int8_t>(header, DT_INT8, take) ||
      TakeIf<std::int16_t>(header, DT_INT16, take) ||
      TakeIf<std::uint16_t>(header, DT_UINT16, take) ||
      TakeIf<std::int32_t>(header, DT_INT32, take) ||
      TakeIf<std::uint32_t>(header, DT_UINT32, take) ||
      TakeIf<std::int64_t>(header, DT_INT64, take) ||
      TakeIf<std::uint64_t>(header, DT_UINT64, take) || TakeIf<float>(header, DT_FLOAT32, take) ||
      TakeIf<double>(header, DT_FLOAT64, take);
}

void CheckType(const nifti_image& header, const std::string& file) {
  constexpr std::array kTypes = {DT_UINT8,  DT_INT8,  DT_INT16,  DT_UINT16,  DT_INT32,
                                 DT_UINT32, DT_INT64, DT_UINT64, DT_FLOAT32, DT_FLOAT64};
  if (std::find(kTypes.begin(), kTypes.end(), header.datatype) == kTypes.end())
    FailToRead(file, fmt::format("holds {}, expected one integer or float per voxel",
                                 nifti_datatype_string(header.datatype)));
}

void TakeValues(const nifti_image& header, Volume* volume) {
  const bool scaled = header.scl_slope != 0.0 && std::isfinite(header.scl_slope) &&
                      (header.scl_slope != 1.0 || header.scl_inter != 0.0);
  const double slope = scaled ? header.scl_slope : 1.0;
  const double shift = scaled && std::isfinite(header.scl_inter) ? header.scl_inter : 0.0;
  volume->bytes = header.datatype == DT_UINT8 && !scaled;
  volume->values.resize(static_cast<std::size_t>(header.nvox));
  std::size_t bad = volume->values.size();
  ForEachNumber(header, [&](std::size_t i, double value) {
    volume->values[i] = static_cast<float>(scaled ? slope * value + shift : value);
    if (!std::isfinite(volume->values[i])) bad = std::min(bad, i);
  });
  if (bad == volume->values.size()) return;
  const std::size_t part = bad / volume->voxels();
  throw InvalidInput(
      fmt::format("\"{}\" is {} at voxel {}{}, expected finite numbers", volume->name,
                  volume->values[bad], volume->PlaceText(bad % volume->voxels()),
                  volume->parts > 1 ? fmt::format(", label {}", part) : std::string()));
}

std::string Zipped(std::string_view bytes) {
  // gzip is zlib's stream with another frame: its two bytes before and four after are left out.
  const std::string stream = Deflate(bytes);
  std::string zipped("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  zipped.append(stream, 2, stream.size() - 6);
  uLong check = crc32(0, nullptr, 0);
  constexpr std::size_t kMost = std::size_t{1} << 30;
  for (std::size_t at = 0; at < bytes.size(); at += kMost) {
    const std::string_view piece = bytes.substr(at, kMost);
    check = crc32(check, reinterpret_cast<const Bytef*>(piece.data()),  // NOLINT
                  static_cast<uInt>(piece.size()));
  }
  for (int shift = 0; shift < 32; shift += 8) zipped += static_cast<char>(check >> shift & 0xff);
  for (int shift = 0; shift < 32; shift += 8)
    zipped += static_cast<char>(bytes.size() >> shift & 0xff);
  return zipped;
}

// The header of one file for the places of `like`, with room for no extensions behind it.
std::string HeaderBytes(const Volume& like, std::size_t parts, bool narrow, double slope) {
  const Header header(nifti_copy_nim_info(static_cast<const nifti_image*>(like.header.get())),
                      nifti_image_free);
  if (!header) throw std::bad_alloc();
  nifti_free_extensions(header.get());
  header->ndim = header->dim[0] = parts > 1 ? 4 : 3;
  for (int axis = 4; axis < 8; ++axis) header->dim[axis] = 1;
  header->dim[4] = static_cast<std::int64_t>(parts);
  header->pixdim[4] = 1.0;
  nifti_update_dims_from_array(header.get());
  header->datatype = narrow ? DT_UINT8 : DT_UINT16;
  header->nbyper = narrow ? 1 : 2;
  header->scl_slope = slope;
  header->scl_inter = header->cal_min = header->cal_max = 0.0;
  header->intent_code = NIFTI_INTENT_NONE;
  header->intent_p1 = header->intent_p2 = header->intent_p3 = 0.0;
  std::memset(header->intent_name, 0, sizeof(header->intent_name));
  const bool large = std::any_of(like.extent.begin(), like.extent.end(), [](int n) {
    return n > std::numeric_limits<std::int16_t>::max();
  });
  header->nifti_type = large ? NIFTI_FTYPE_NIFTI2_1 : NIFTI_FTYPE_NIFTI1_1;
  nifti_set_iname_offset(header.get(), large ? 2 : 1);
  std::string bytes(static_cast<std::size_t>(header->iname_offset), '\0');
  if (large) {
    nifti_2_header stored;
    nifti_convert_nim2n2hdr(header.get(), &stored);
    std::memcpy(bytes.data(), &stored, sizeof(stored));
  } else {
    nifti_1_header stored;
    nifti_convert_nim2n1hdr(header.get(), &stored);
    std::memcpy(bytes.data(), &stored, sizeof(stored));
  }
  return bytes;
}

}  // namespace

std::string Volume::PlaceText(std::size_t voxel) const {
  const auto nx = static_cast<std::size_t>(extent[0]);
  const auto ny = static_cast<std::size_t>(extent[1]);
  return fmt::format("x = {}, y = {}, z = {}", voxel % nx, voxel / nx % ny, voxel / nx / ny);
}

Volume ReadVolume(const std::string& file,
                  const std::function<void(const Volume& begun, double bytes)>& before) {
  const Header header = Open(file);
  Volume volume;
  volume.name = file;
  volume.parts = PartsOf(*header, file);
  TakeGrid(*header, &volume);
  CheckType(*header, file);
  before(volume, static_cast<double>(sizeof(float) * volume.voxels() * volume.parts));
  TakeValues(*header, &volume);
  volume.header = std::shared_ptr<const void>(nifti_copy_nim_info(header.get()),
                                              [](nifti_image* copy) { nifti_image_free(copy); });
  return volume;
}

void WriteVolume(const std::filesystem::path& file, const Volume& like,
                 std::span<const std::uint16_t> values, double slope) {
  const bool narrow = std::all_of(values.begin(), values.end(), [](auto v) { return v < 256; });
  std::string bytes = HeaderBytes(like, values.size() / like.voxels(), narrow, slope);
  bytes.reserve(bytes.size() + (narrow ? 1 : 2) * values.size());
  for (const std::uint16_t value : values) {
    bytes += static_cast<char>(value & 0xff);
    if (!narrow) bytes += static_cast<char>(value >> 8);
  }
  AtomicFile out(file);
  out.Write(file.string().ends_with(".gz") ? Zipped(bytes) : bytes);
  out.Commit();
}

}  // namespace submarine::apps
