#include "submarine/solver/mean_field/streamed_updates.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "submarine/base/aligned_memory.h"
#include "submarine/extension/simplex_kernels.h"
#include "submarine/labels/label_band.h"

namespace submarine::internal {
namespace {

class StreamedRun {
 public:
  StreamedRun(StreamedUpdates updates, LatticeStream* stream)
      : updates_(std::move(updates)),
        unary_(updates_.unary),
        stream_(*stream),
        keeps_(stream->needs_x() || updates_.go_on != nullptr || updates_.before_update != nullptr),
        y_(std::move(updates_.start)) {}

  StreamedMarginals Run() {
    const bool given = y_.size() > 0;
    if (keeps_ || IsLast(0)) TakeMemory();
    if (!updates_.band.empty() && stream_.gathers())
      spread_ = Matrix<float>::Unset(unary_.rows(), unary_.cols());
    Pass(0, [&](std::size_t first, std::size_t last, float* block) {
      CopyRows(given ? y_ : unary_, first, last, block);
      if (!given) Softmax(first, last, block);
      if (!IsLast(0)) ToSpread(first, last, block);
    });
    int k = 0;
    while (k < updates_.iterations && (!updates_.go_on || updates_.go_on(k))) {
      if (updates_.before_update) updates_.before_update(y_);
      Blur(++k);
      Pass(k, [&](std::size_t first, std::size_t last, float* block) {
        Slice(first, last, block);
        Softmax(first, last, block);
        if (!IsLast(k)) ToSpread(first, last, block);
        const std::size_t range = stream_.range_rows();
        if (IsLast(k) && updates_.after_rows && (last % range == 0 || last == unary_.rows()))
          updates_.after_rows((last - 1) / range * range, last);
      });
    }
    return {std::move(y_), k};
  }

 private:
  bool IsLast(int k) const { return k == updates_.iterations; }

  void TakeMemory() {
    if (y_.size() > 0) return;
    y_ = Matrix<float>::Unset(unary_.rows(), unary_.cols());
    if (keeps_) return;
    // It is filled from the beginning. Towards the end memory that comes before it is needed would
    // add to the peak.
    const std::size_t sixth = y_.rows() / 6;
    UseSmallPages(y_.data() + (y_.rows() - sixth) * y_.cols(), sixth * y_.cols() * sizeof(float));
  }

  void Blur(int k) {
    if (!IsLast(k)) {
      stream_.Blur(updates_.factor);
      return;
    }
    stream_.BlurLast(updates_.factor);
    if (updates_.after_blur) updates_.after_blur();
    TakeMemory();
  }

  void Pass(int k, const LatticeStream::MakeRows& make_rows) {
    if (IsLast(k)) {
      stream_.Visit(make_rows);
    } else {
      stream_.Spread(make_rows, spread_.size() > 0 ? &spread_ : &y_);
    }
  }

  void CopyRows(const Matrix<float>& from, std::size_t first, std::size_t last,
                float* block) const {
    for (std::size_t a = first; a < last; ++a) {
      const std::span<const float> row = from.row(a);
      float* to = block + (a - first) * stream_.row_stride();
      std::fill(std::copy(row.begin(), row.end(), to), to + stream_.row_stride(), 0.0F);
    }
  }
  void Slice(std::size_t first, std::size_t last, float* block) const {
    const float* x = stream_.needs_x() ? y_.row(first).data() : nullptr;
    std::vector<float> spread;
    if (x != nullptr && spread_.size() > 0) {
      x = spread_.row(first).data();
    } else if (x != nullptr && !updates_.band.empty()) {
      const std::size_t n = unary_.cols();
      spread.resize((last - first) * n);
      for (std::size_t a = first; a < last; ++a)
        ApplyBand(updates_.band, y_.row(a).data(), n, spread.data() + (a - first) * n);
      x = spread.data();
    }
    stream_.Slice(first, last, unary_.row(first).data(), x, block);
  }
  // From marginals to what is multiplied by K.
  void ToSpread(std::size_t first, std::size_t last, float* block) {
    if (updates_.band.empty()) return;
    const std::size_t n = unary_.cols();
    std::vector<float> row(n);
    for (std::size_t a = first; a < last; ++a) {
      float* to = block + (a - first) * stream_.row_stride();
      std::copy(to, to + n, row.begin());
      ApplyBand(updates_.band, row.data(), n, to);
      if (spread_.size() > 0) std::copy(to, to + n, spread_.row(a).data());
    }
  }
  void Softmax(std::size_t first, std::size_t last, float* block) {
    SoftmaxBlock(updates_.temperature, last - first, unary_.cols(), stream_.row_stride(), block,
                 y_.size() > 0 ? y_.row(first).data() : nullptr);
  }

  StreamedUpdates updates_;
  const Matrix<float>& unary_;
  LatticeStream& stream_;
  const bool keeps_;  // the marginals of every update, not only of the last
  Matrix<float> y_;
  Matrix<float> spread_;  // M y, where the stream reads it once more
};

}  // namespace

StreamedMarginals RunUpdates(StreamedUpdates updates, LatticeStream* stream) {
  return StreamedRun(std::move(updates), stream).Run();
}

}  // namespace submarine::internal
