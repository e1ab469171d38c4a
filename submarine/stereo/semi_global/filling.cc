#include "submarine/stereo/semi_global/filling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "submarine/base/parallel.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kRowsOfFilling = 8;

template <class Body>
void ForEachRow(int height, const Body& body) {
  ParallelFor(static_cast<std::size_t>(height), kRowsOfFilling,
              [&](std::size_t begin, std::size_t end) {
                for (std::size_t y = begin; y < end; ++y) body(static_cast<int>(y));
              });
}

class Filling {
 public:
  Filling(std::vector<int> disparities, std::vector<std::uint8_t> known, const StereoView& view,
          const FillingOptions& options)
      : view_(view),
        options_(options),
        disparities_(std::move(disparities)),
        known_(std::move(known)),
        was_known_(known_) {
    const auto most = std::max_element(disparities_.begin(), disparities_.end());
    labels_ = most == disparities_.end() ? 0 : *most + 1;
  }

  std::vector<int> Run() {
    if (std::find(known_.begin(), known_.end(), 1) == known_.end()) return disparities_;
    FindArms();
    for (int round = 0; round < options_.rounds; ++round) Vote();
    FillFromRows();
    TakeMedians();
    return std::move(disparities_);
  }

 private:
  enum Direction { kLeft, kRight, kUp, kDown };

  std::size_t At(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(view_.width) +
           static_cast<std::size_t>(x);
  }

  float LargestDifference(std::size_t a, std::size_t b) const {
    const auto channels = static_cast<std::size_t>(view_.channels);
    float most = 0.0F;
    for (std::size_t c = 0; c < channels; ++c)
      most = std::max(most, std::abs(view_.samples[a * channels + c] - view_.samples[b * channels + c]));
    return most;
  }

  int Arm(int x, int y, int dx, int dy) const {
    const std::size_t centre = At(x, y);
    int length = 0;
    while (length < options_.far_arm) {
      const int x2 = x + (length + 1) * dx;
      const int y2 = y + (length + 1) * dy;
      if (x2 < 0 || x2 >= view_.width || y2 < 0 || y2 >= view_.height) break;
      const float limit = length + 1 > options_.near_arm ? options_.far_colour : options_.colour;
      if (LargestDifference(centre, At(x2, y2)) >= limit) break;
      ++length;
    }
    return length;
  }

  void FindArms() {
    for (auto& arms : arms_) arms.resize(disparities_.size());
    ForEachRow(view_.height, [&](int y) {
      for (int x = 0; x < view_.width; ++x) {
        const std::size_t a = At(x, y);
        arms_[kLeft][a] = static_cast<std::uint8_t>(Arm(x, y, -1, 0));
        arms_[kRight][a] = static_cast<std::uint8_t>(Arm(x, y, 1, 0));
        arms_[kUp][a] = static_cast<std::uint8_t>(Arm(x, y, 0, -1));
        arms_[kDown][a] = static_cast<std::uint8_t>(Arm(x, y, 0, 1));
      }
    });
  }

  // All votes of a round are those of the round before it.
  void Vote() {
    std::vector<int> disparities = disparities_;
    std::vector<std::uint8_t> known = known_;
    ForEachRow(view_.height, [&](int y) {
      std::vector<int> votes(static_cast<std::size_t>(labels_));
      for (int x = 0; x < view_.width; ++x) {
        const std::size_t a = At(x, y);
        if (known_[a] != 0) continue;
        std::fill(votes.begin(), votes.end(), 0);
        int total = 0;
        for (int y2 = y - arms_[kUp][a]; y2 <= y + arms_[kDown][a]; ++y2) {
          const std::size_t centre = At(x, y2);
          for (std::size_t b = centre - arms_[kLeft][centre]; b <= centre + arms_[kRight][centre]; ++b) {
            if (known_[b] == 0) continue;
            ++votes[static_cast<std::size_t>(disparities_[b])];
            ++total;
          }
        }
        if (total <= options_.least_votes) continue;
        const auto most = std::max_element(votes.begin(), votes.end());
        if (*most <= options_.least_share * total) continue;
        disparities[a] = static_cast<int>(most - votes.begin());
        known[a] = 1;
      }
    });
    disparities_ = std::move(disparities);
    known_ = std::move(known);
  }

  // The smaller of the two is the further away: what is seen by one view only is background.
  void FillFromRows() {
    std::vector<std::uint8_t> empty(static_cast<std::size_t>(view_.height), 0);
    for (int y = 0; y < view_.height; ++y) {
      std::vector<int> from_left(static_cast<std::size_t>(view_.width), -1);
      int last = -1;
      for (int x = 0; x < view_.width; ++x) {
        if (known_[At(x, y)] != 0) last = disparities_[At(x, y)];
        from_left[static_cast<std::size_t>(x)] = last;
      }
      if (last < 0) {
        empty[static_cast<std::size_t>(y)] = 1;
        continue;
      }
      last = -1;
      for (int x = view_.width - 1; x >= 0; --x) {
        const std::size_t a = At(x, y);
        const int left = from_left[static_cast<std::size_t>(x)];
        if (known_[a] != 0) {
          last = disparities_[a];
        } else {
          disparities_[a] = left < 0 ? last : last < 0 ? left : std::min(left, last);
        }
      }
    }
    CopyToEmptyRows(empty);
  }

  void CopyToEmptyRows(const std::vector<std::uint8_t>& empty) {
    for (int y = 0; y < view_.height; ++y) {
      if (empty[static_cast<std::size_t>(y)] == 0) continue;
      int above = y;
      while (above >= 0 && empty[static_cast<std::size_t>(above)] != 0) --above;
      int below = y;
      while (below < view_.height && empty[static_cast<std::size_t>(below)] != 0) ++below;
      for (int x = 0; x < view_.width; ++x) {
        const int from_above = above >= 0 ? disparities_[At(x, above)] : labels_;
        const int from_below = below < view_.height ? disparities_[At(x, below)] : labels_;
        disparities_[At(x, y)] = std::min(from_above, from_below);
      }
    }
  }

  void TakeMedians() {
    const std::vector<int> before = disparities_;
    const auto channels = static_cast<std::size_t>(view_.channels);
    // Weights by the sum over channels, in whole grey levels and in integers: sums are exact.
    std::vector<int> weights(255 * channels + 2);
    for (std::size_t n = 0; n < weights.size(); ++n) {
      weights[n] = static_cast<int>(std::lround(
          65536.0 * std::exp(-static_cast<double>(n) / (options_.colour_scale * view_.channels))));
    }
    ForEachRow(view_.height, [&](int y) {
      std::vector<std::int64_t> votes(static_cast<std::size_t>(labels_));
      for (int x = 0; x < view_.width; ++x) {
        const std::size_t a = At(x, y);
        if (was_known_[a] != 0) continue;
        std::fill(votes.begin(), votes.end(), 0);
        std::int64_t total = 0;
        const float* own = view_.samples.data() + a * channels;
        for (int y2 = std::max(0, y - options_.radius);
             y2 <= std::min(view_.height - 1, y + options_.radius); ++y2) {
          for (int x2 = std::max(0, x - options_.radius);
               x2 <= std::min(view_.width - 1, x + options_.radius); ++x2) {
            const std::size_t b = At(x2, y2);
            const float* other = view_.samples.data() + b * channels;
            float difference = 0.0F;
            for (std::size_t c = 0; c < channels; ++c) difference += std::abs(own[c] - other[c]);
            const int weight = weights[std::min(static_cast<std::size_t>(difference + 0.5F), weights.size() - 1)];
            votes[static_cast<std::size_t>(before[b])] += weight;
            total += weight;
          }
        }
        std::int64_t sum = 0;
        int k = 0;
        while (2 * (sum += votes[static_cast<std::size_t>(k)]) < total) ++k;
        disparities_[a] = k;
      }
    });
  }

  const StereoView& view_;
  const FillingOptions& options_;
  std::vector<int> disparities_;
  std::vector<std::uint8_t> known_;
  std::vector<std::uint8_t> was_known_;
  int labels_ = 0;
  std::array<std::vector<std::uint8_t>, 4> arms_;
};

}  // namespace

std::vector<int> FillDisparities(const std::vector<int>& disparities,
                                 const std::vector<std::uint8_t>& known, const StereoView& view,
                                 const FillingOptions& options) {
  return Filling(disparities, known, view, options).Run();
}

std::vector<float> Median5x5(const std::vector<float>& values, int width, int height) {
  constexpr int kRadius = 2;
  std::vector<float> medians(values.size());
  ForEachRow(height, [&](int y) {
    std::array<float, (2 * kRadius + 1) * (2 * kRadius + 1)> window;
    for (int x = 0; x < width; ++x) {
      std::size_t n = 0;
      for (int y2 = std::max(0, y - kRadius); y2 <= std::min(height - 1, y + kRadius); ++y2) {
        for (int x2 = std::max(0, x - kRadius); x2 <= std::min(width - 1, x + kRadius); ++x2)
          window[n++] = values[static_cast<std::size_t>(y2) * width + x2];
      }
      const auto middle = window.begin() + static_cast<std::ptrdiff_t>((n - 1) / 2);
      std::nth_element(window.begin(), middle, window.begin() + static_cast<std::ptrdiff_t>(n));
      medians[static_cast<std::size_t>(y) * width + x] = *middle;
    }
  });
  return medians;
}

}  // namespace submarine::internal
