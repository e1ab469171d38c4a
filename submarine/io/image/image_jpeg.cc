#include <fmt/format.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
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
  explicit JpegDecoder(std::string_view bytes) : bytes_(bytes) {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = Leave;
    errors_.emit_message = LeaveIfDamaged;
    errors_.output_message = [](j_common_ptr) {};
    info_.client_data = this;
    progress_.progress_monitor = LimitScans;
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
  static void LimitScans(j_common_ptr info) {
    if (info->is_decompressor == FALSE ||
        reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxScans) {
      return;
    }
    auto* self = Self(info);
    fmt::format_to_n(self->error_, sizeof self->error_ - 1, "it has more than {} scans", kMaxScans);
    std::longjmp(self->leave_, 1);
  }

  std::string_view bytes_;
  jpeg_decompress_struct info_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  std::jmp_buf leave_ = {};
  char error_[JMSG_LENGTH_MAX] = {};
};

}  // namespace

Image DecodeJpeg(const EncodedImage& file) {
  JpegDecoder decoder(file.bytes);
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
  image.samples.resize(row_samples * static_cast<std::size_t>(image.height));
  std::vector<JSAMPLE> row(row_samples);
  bool good = decoder.Start(image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB);
  for (std::size_t y = 0; good && y < static_cast<std::size_t>(image.height); ++y) {
    good = decoder.ReadRow(row.data());
    std::copy(row.begin(), row.end(),
              image.samples.begin() + static_cast<std::ptrdiff_t>(y * row_samples));
  }
  if (!good || !decoder.Finish()) file.FailToDecode("JPEG", decoder.error());
  return image;
}

}  // namespace submarine::internal
