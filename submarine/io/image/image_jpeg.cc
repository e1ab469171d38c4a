#include <fmt/format.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <exception>
#include <vector>

// clang-format off: jpeglib.h needs FILE, and jerror.h jpeglib.h, declared before it
#include <jerror.h>
#include <jpeglib.h>
// clang-format on

#include "submarine/io/image/image_decoders.h"

namespace submarine::internal {
namespace {

// A file with thousands of scans over a large picture would keep the decoder busy for hours.
constexpr int kMaxScans = 500;

// libjpeg exits by longjmp. Every method that it may exit from holds nothing with a destructor and
// returns false; error() says why, and the caller throws.
class JpegDecoder {
 public:
  JpegDecoder(std::string_view bytes, ImageStrips& strips) : bytes_(bytes), strips_(strips) {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = Leave;
    errors_.emit_message = LeaveIfDamaged;
    errors_.output_message = [](j_common_ptr) {};
    info_.client_data = this;
    progress_.progress_monitor = LookUp;
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  bool ReadHeader() {
    if (setjmp(leave_) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()),
                 static_cast<unsigned long>(bytes_.size()));
    jpeg_read_header(&info_, TRUE);
    return true;
  }
  bool Start(J_COLOR_SPACE colours) {
    if (setjmp(leave_) != 0) return false;
    info_.out_color_space = colours;
    info_.dct_method = JDCT_ISLOW;  // the same samples on every machine
    jpeg_start_decompress(&info_);
    return true;
  }
  bool ReadRow(JSAMPLE* row) {
    if (setjmp(leave_) != 0) return false;
    jpeg_read_scanlines(&info_, &row, 1);
    return true;
  }
  bool Finish() {
    if (setjmp(leave_) != 0) return false;
    jpeg_finish_decompress(&info_);
    return true;
  }

  const jpeg_decompress_struct& info() const { return info_; }
  // Then all scans are read, and kept as coefficients, before the first row.
  bool scans_several() { return jpeg_has_multiple_scans(&info_) != FALSE; }
  // What reading.meanwhile has thrown, if that is why a method returned false.
  const std::exception_ptr& thrown() const { return thrown_; }
  const char* error() const { return error_; }

 private:
  static JpegDecoder* Self(j_common_ptr info) {
    return static_cast<JpegDecoder*>(info->client_data);
  }
  static void Leave(j_common_ptr info) {
    (*info->err->format_message)(info, Self(info)->error_);
    std::longjmp(Self(info)->leave_, 1);
  }
  // libjpeg fills missing parts with grey and only warns. Warnings that lose no pixel are ignored.
  static void LeaveIfDamaged(j_common_ptr info, int level) {
    const int code = info->err->msg_code;
    if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM &&
        code != JWRN_BOGUS_PROGRESSION) {
      Leave(info);
    }
  }
  // Called for every row of blocks in every scan. Exceptions must not pass through libjpeg.
  static void LookUp(j_common_ptr info) {
    if (info->is_decompressor == FALSE) return;
    auto* self = Self(info);
    if (self->info_.input_scan_number > kMaxScans) {
      fmt::format_to_n(self->error_, sizeof self->error_ - 1, "it has more than {} scans",
                       kMaxScans);
    } else if (!self->scans_several() || !self->ThrowsMeanwhile()) {
      return;
    }
    std::longjmp(self->leave_, 1);
  }
  bool ThrowsMeanwhile() {
    try {
      strips_.Decoded(std::size_t{info_.image_width} * DCTSIZE);
    } catch (...) {
      thrown_ = std::current_exception();
    }
    return thrown_ != nullptr;
  }

  std::string_view bytes_;
  ImageStrips& strips_;
  std::exception_ptr thrown_;
  jpeg_decompress_struct info_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  std::jmp_buf leave_ = {};
  char error_[JMSG_LENGTH_MAX] = {};
};

}  // namespace

void DecodeJpeg(const EncodedImage& file, ImageStrips& strips) {
  JpegDecoder decoder(file.bytes, strips);
  if (!decoder.ReadHeader()) file.FailToDecode("JPEG", decoder.error());
  const J_COLOR_SPACE stored = decoder.info().jpeg_color_space;
  if (stored != JCS_GRAYSCALE && stored != JCS_YCbCr && stored != JCS_RGB) {
    file.Fail(fmt::format("is a JPEG picture of {} components, but grey or RGB was expected",
                          decoder.info().num_components));
  }
  Image image;
  image.channels = stored == JCS_GRAYSCALE ? 1 : 3;
  file.CheckSize(decoder.info().image_width, decoder.info().image_height,
                 8 * static_cast<std::size_t>(image.channels));
  image.width = static_cast<int>(decoder.info().image_width);
  image.height = static_cast<int>(decoder.info().image_height);
  const std::size_t row_samples = static_cast<std::size_t>(image.width) * image.channels;
  // Coefficients are numbers of 16 bits, at most as many as there are samples.
  const std::uint64_t samples =
      std::uint64_t{row_samples} * static_cast<std::uint64_t>(image.height);
  strips.Begin(image, {.bytes = decoder.scans_several() ? sizeof(JCOEF) * samples : 0});
  std::vector<JSAMPLE> row(row_samples);
  bool good = decoder.Start(image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB);
  for (int y = 0; good && y < image.height; ++y) {
    good = decoder.ReadRow(row.data());
    if (!good) break;
    std::copy(row.begin(), row.end(), strips.NextRow());
    strips.EndRow();
  }
  good = good && decoder.Finish();
  if (decoder.thrown()) std::rethrow_exception(decoder.thrown());
  if (!good) file.FailToDecode("JPEG", decoder.error());
}

}  // namespace submarine::internal
