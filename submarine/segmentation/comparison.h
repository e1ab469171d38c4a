// Does it help? Labels before and after, over pictures whose truth is known, with intervals over the
// pictures.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "submarine/segmentation/evaluation.h"

namespace submarine::internal {

// Of one picture. `thin...` are those of thin parts only; empty where there are none, or nobody looked.
struct ComparedPicture {
  LabelCounts before, after;
  LabelCounts thin_before, thin_after;

  ComparedPicture& operator+=(const ComparedPicture& other);
};
// Counts of both labelings, thin parts by ThinRadius.
ComparedPicture ComparePicture(std::span<const int> truth, std::span<const int> before,
                               std::span<const int> after, int width, int height, int num_labels);

struct Change {
  double before = 0.0;
  double after = 0.0;
  // Of after - before on other pictures of this kind, with 95%: Student's, its standard error by
  // 2000 resamples of the pictures. None for one picture.
  std::optional<std::array<double, 2>> interval = {};

  double by() const { return after - before; }
  // Beyond chance; with one picture nobody knows, and half a point counts.
  bool helps() const;
  bool hurts() const;
};

struct Comparison {
  int pictures = 0;
  int better = 0;  // pictures whose mean IoU rises
  int worse = 0;
  Change mean_iou;  // of the summed counts
  Change accuracy;
  std::vector<std::optional<Change>> iou;  // per label; none: nowhere in the truth
  std::optional<Change> thin;              // accuracy on thin parts
};

// Throws InvalidInput for no pictures, and where no pixel is compared.
Comparison Compare(std::span<const ComparedPicture> pictures);

// The same of any values {before, after} of a set of pictures, given by their indices; some occur more
// than once.
Change ChangeOver(
    std::size_t pictures,
    const std::function<std::array<double, 2>(const std::vector<std::size_t>&)>& values);

// "Helps on 17 of 20 pictures: mean IoU 61.2% before, 64.0% after, +2.8 points (95% interval +1.1 to
// +4.0). Hurts bicycle (-1.2) and thin parts (-3.1)."
std::string ComparisonText(const Comparison& comparison, const std::vector<std::string>& names);

// "+2.8 points (95% interval +1.1 to +4.0)"
std::string PointsText(const Change& change);

}  // namespace submarine::internal
