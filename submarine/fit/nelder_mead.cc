#include "submarine/fit/nelder_mead.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace submarine::internal {
namespace {

using Point = std::vector<double>;

struct Corner {
  Point point;
  double value;
};

class Simplex {
 public:
  Simplex(const std::function<double(const Point&)>& function, const Point& low, const Point& high,
          const NelderMeadOptions& options)
      : function_(function), low_(low), high_(high), options_(options) {}

  NelderMeadResult Run(Point start, const Point& step) {
    FirstSimplex(std::move(start), step);
    while (Left() && Size() > options_.tolerance) {
      const Corner reflected = Along(-1.0);
      if (reflected.value < simplex_.front().value) {
        const Corner expanded = Left() ? Along(-2.0) : reflected;
        Replace(expanded.value < reflected.value ? expanded : reflected);
      } else if (reflected.value < simplex_[simplex_.size() - 2].value) {
        Replace(reflected);
      } else {
        const bool outside = reflected.value < simplex_.back().value;
        const Corner contracted = Left() ? Along(outside ? -0.5 : 0.5) : reflected;
        if (contracted.value < std::min(reflected.value, simplex_.back().value)) {
          Replace(contracted);
        } else {
          Shrink();
        }
      }
    }
    result_.point = simplex_.front().point;
    result_.value = simplex_.front().value;
    return std::move(result_);
  }

 private:
  bool Left() const {
    return static_cast<int>(result_.best_so_far.size()) < options_.max_evaluations;
  }

  Corner Evaluate(Point point) {
    for (std::size_t d = 0; d < point.size(); ++d)
      point[d] = std::clamp(point[d], low_[d], high_[d]);
    const double value = function_(point);
    std::vector<double>& best = result_.best_so_far;
    best.push_back(best.empty() ? value : std::min(best.back(), value));
    return {std::move(point), value};
  }

  void FirstSimplex(Point start, const Point& step) {
    std::mt19937_64 rng(options_.seed);
    simplex_.push_back(Evaluate(start));
    for (std::size_t d = 0; d < start.size() && Left(); ++d) {
      Point point = start;
      const double sign = (rng() >> 63) == 0 ? 1.0 : -1.0;
      // A step beyond a bound would make the simplex flat.
      const bool room =
          start[d] + sign * step[d] >= low_[d] && start[d] + sign * step[d] <= high_[d];
      point[d] += (room ? sign : -sign) * step[d];
      simplex_.push_back(Evaluate(std::move(point)));
    }
    Sort();
  }

  // The centroid of all corners but the worst, plus this multiple of the vector to the worst.
  Corner Along(double factor) {
    const Point& worst = simplex_.back().point;
    Point point(worst.size());
    for (std::size_t d = 0; d < point.size(); ++d) {
      double middle = 0.0;
      for (std::size_t k = 0; k + 1 < simplex_.size(); ++k) middle += simplex_[k].point[d];
      middle /= static_cast<double>(simplex_.size() - 1);
      point[d] = middle + factor * (worst[d] - middle);
    }
    return Evaluate(std::move(point));
  }

  void Replace(Corner corner) {
    simplex_.back() = std::move(corner);
    Sort();
  }

  // Moves all corners half-way towards the best.
  void Shrink() {
    for (std::size_t k = 1; k < simplex_.size() && Left(); ++k) {
      Point point = simplex_[k].point;
      for (std::size_t d = 0; d < point.size(); ++d)
        point[d] = 0.5 * (point[d] + simplex_.front().point[d]);
      simplex_[k] = Evaluate(std::move(point));
    }
    Sort();
  }

  void Sort() {
    std::stable_sort(simplex_.begin(), simplex_.end(),
                     [](const Corner& a, const Corner& b) { return a.value < b.value; });
  }

  double Size() const {
    double size = 0.0;
    for (const Corner& corner : simplex_) {
      for (std::size_t d = 0; d < corner.point.size(); ++d)
        size = std::max(size, std::abs(corner.point[d] - simplex_.front().point[d]));
    }
    return size;
  }

  const std::function<double(const Point&)>& function_;
  const Point& low_;
  const Point& high_;
  const NelderMeadOptions& options_;
  std::vector<Corner> simplex_;  // best first
  NelderMeadResult result_;
};

}  // namespace

NelderMeadResult MinimiseByNelderMead(const std::function<double(const Point&)>& function,
                                      Point start, const Point& step, const Point& low,
                                      const Point& high, const NelderMeadOptions& options) {
  return Simplex(function, low, high, options).Run(std::move(start), step);
}

}  // namespace submarine::internal
