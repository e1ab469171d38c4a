#include "submarine/stereo/filling/filling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "submarine/stereo/filling/colour_weights.h"
#include "submarine/stereo/filling/picture_rows.h"

namespace submarine::internal {
namespace {

class Filling {
 public:
  Filling(const BestDisparities& best, const std::vector<std::uint8_t>& agrees,
          const StereoView& view, const FillingOptions& options)
      : view_(view),
        options_(options),
        right_(best.right),
        agrees_(agrees),
        disparities_(best.left),
        known_(agrees) {
    for (const int k : disparities_) labels_ = std::max(labels_, k + 1);
  }

  std::vector<int> Run() {
    if (std::find(known_.begin(), known_.end(), 1) == known_.end()) return std::move(disparities_);
    FindArms();
    for (int round = 0; round < options_.rounds; ++round) Vote();
    FillFromRows();
    TakeMedians();
    MoveEdges();
    return std::move(disparities_);
  }

 private:
  enum Direction { kLeft, kRight, kUp, kDown };

  std::size_t At(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(view_.width) +
           static_cast<std::size_t>(x);
  }

  // Were pixel a = (x, y) at this disparity, the right view would see it, or something in front of it.
  bool IsPossible(std::size_t a, int x, int disparity) const {
    return disparity > x ||
           right_[a - static_cast<std::size_t>(disparity)] + options_.slack >= disparity;
  }

  // Leaves the votes for disparities that are possible at pixel a = (x, y), and returns how many.
  template <class T>
  T TakePossible(std::size_t a, int x, std::vector<T>* votes) const {
    T total = 0;
    for (int k = 0; k < labels_; ++k) {
      T& of_k = (*votes)[static_cast<std::size_t>(k)];
      if (of_k != 0 && !IsPossible(a, x, k)) of_k = 0;
      total += of_k;
    }
    return total;
  }

  float LargestDifference(std::size_t a, std::size_t b) const {
    const auto channels = static_cast<std::size_t>(view_.channels);
    float most = 0.0F;
    for (std::size_t c = 0; c < channels; ++c)
      most = std::max(most,
                      std::abs(view_.samples[a * channels + c] - view_.samples[b * channels + c]));
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
    // What is not known votes for a disparity that there is not.
    std::vector<int> voters = disparities_;
    for (std::size_t a = 0; a < voters.size(); ++a) {
      if (known_[a] == 0) voters[a] = labels_;
    }
    ForEachRow(view_.height, [&](int y) {
      std::vector<int> votes(static_cast<std::size_t>(labels_) + 1);
      for (int x = 0; x < view_.width; ++x) {
        const std::size_t a = At(x, y);
        if (known_[a] != 0) continue;
        std::fill(votes.begin(), votes.end(), 0);
        for (int y2 = y - arms_[kUp][a]; y2 <= y + arms_[kDown][a]; ++y2) {
          const std::size_t centre = At(x, y2);
          for (std::size_t b = centre - arms_[kLeft][centre]; b <= centre + arms_[kRight][centre];
               ++b)
            ++votes[static_cast<std::size_t>(voters[b])];
        }
        votes.back() = 0;
        const int total = TakePossible(a, x, &votes);
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
          const bool left_possible = left >= 0 && IsPossible(a, x, left);
          const bool right_possible = last >= 0 && IsPossible(a, x, last);
          if (left_possible != right_possible) {
            disparities_[a] = left_possible ? left : last;
          } else {
            disparities_[a] = left < 0 ? last : last < 0 ? left : std::min(left, last);
          }
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
    std::vector<std::uint8_t> unknown(agrees_.size());
    for (std::size_t a = 0; a < unknown.size(); ++a) unknown[a] = agrees_[a] == 0 ? 1 : 0;
    WeightedMedians(unknown, options_.radius);
  }

  // To those of the view: where disparities jump, the median over few pixels.
  void MoveEdges() {
    std::vector<std::uint8_t> near(disparities_.size(), 0);
    for (int y = 0; y < view_.height; ++y) {
      for (int x = 0; x < view_.width; ++x) {
        const int own = disparities_[At(x, y)];
        const bool jumps =
            (x + 1 < view_.width && std::abs(own - disparities_[At(x + 1, y)]) > 1) ||
            (y + 1 < view_.height && std::abs(own - disparities_[At(x, y + 1)]) > 1);
        if (!jumps) continue;
        ForWindow(x, y, 1, [&](std::size_t first, std::size_t count) {
          std::fill_n(near.begin() + static_cast<std::ptrdiff_t>(first), count, std::uint8_t{1});
        });
      }
    }
    WeightedMedians(near, options_.edge_radius);
  }

  // Calls body(first, count) for its rows.
  template <class Body>
  void ForWindow(int x, int y, int radius, const Body& body) const {
    const int begin = std::max(0, x - radius);
    const int end = std::min(view_.width, x + radius + 1);
    for (int y2 = std::max(0, y - radius); y2 <= std::min(view_.height - 1, y + radius); ++y2)
      body(At(begin, y2), static_cast<std::size_t>(end - begin));
  }

  // At the pixels that are marked, of the disparities as they are.
  void WeightedMedians(const std::vector<std::uint8_t>& marked, int radius) {
    const ColourWeights weights(view_, options_.colour_scale);
    const std::vector<int> before = disparities_;
    ForEachRow(view_.height, [&](int y) {
      std::vector<std::int64_t> votes(static_cast<std::size_t>(labels_));
      std::vector<int> of_run(static_cast<std::size_t>(2 * radius + 1));
      for (int x = 0; x < view_.width; ++x) {
        const std::size_t a = At(x, y);
        if (marked[a] == 0) continue;
        std::fill(votes.begin(), votes.end(), 0);
        ForWindow(x, y, radius, [&](std::size_t first, std::size_t count) {
          weights.OfRun(a, first, count, of_run.data());
          for (std::size_t j = 0; j < count; ++j)
            votes[static_cast<std::size_t>(before[first + j])] += of_run[j];
        });
        const std::int64_t total =
            agrees_[a] == 0 ? TakePossible(a, x, &votes)
                            : std::accumulate(votes.begin(), votes.end(), std::int64_t{0});
        if (total == 0) continue;
        std::int64_t sum = votes[0];
        int k = 0;
        while (2 * sum < total) sum += votes[static_cast<std::size_t>(++k)];
        disparities_[a] = k;
      }
    });
  }

  const StereoView& view_;
  const FillingOptions& options_;
  const std::vector<int>& right_;
  const std::vector<std::uint8_t>& agrees_;
  std::vector<int> disparities_;
  std::vector<std::uint8_t> known_;  // and what voting has added
  int labels_ = 0;
  std::array<std::vector<std::uint8_t>, 4> arms_;
};

}  // namespace

std::vector<int> FillDisparities(const BestDisparities& best,
                                 const std::vector<std::uint8_t>& agrees, const StereoView& view,
                                 const FillingOptions& options) {
  return Filling(best, agrees, view, options).Run();
}

}  // namespace submarine::internal
