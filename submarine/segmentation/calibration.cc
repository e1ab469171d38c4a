#include "submarine/segmentation/calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submarine/base/parallel.h"

namespace submarine {
namespace {

using internal::kRowGrain;
using internal::ParallelFor;

constexpr std::size_t kSampled = 4096;  // pixels that T is fitted to
constexpr double kMostTemperature = 16.0;
constexpr float kLeast = 1e-20F;  // what smaller marginals are raised to

// Rows of log q, and what the classifier says about them: <p, log q>.
struct Sample {
  std::size_t labels = 0;
  std::vector<float> logs;
  std::size_t asked = 0;  // pixels
  double mean = 0.0;

  std::size_t rows() const { return logs.size() / labels; }
};

Sample TakeSample(const float* costs, std::ptrdiff_t pixel_stride, std::ptrdiff_t label_stride,
                  std::size_t labels, std::span<const float> marginals) {
  Sample sample{.labels = labels, .logs = {}};
  const std::size_t pixels = marginals.size() / labels;
  const std::size_t step = pixels / kSampled | 1;  // odd, so that it meets all columns
  double sum = 0.0;
  for (std::size_t a = 0; a < pixels; a += step) {
    ++sample.asked;
    const float* row = costs + static_cast<std::ptrdiff_t>(a) * pixel_stride;
    float least = std::numeric_limits<float>::infinity();
    float largest = -least;
    for (std::size_t l = 0; l < labels; ++l) {
      const float cost = row[static_cast<std::ptrdiff_t>(l) * label_stride];
      least = std::min(least, cost);
      largest = std::max(largest, cost);
    }
    if (!(largest > least)) continue;
    double total = 0.0;
    double product = 0.0;
    for (std::size_t l = 0; l < labels; ++l) {
      const float cost = row[static_cast<std::ptrdiff_t>(l) * label_stride];
      const double p = std::exp(static_cast<double>(least) - cost);
      const float log = std::log(std::max(marginals[a * labels + l], kLeast));
      total += p;
      product += p * log;
      sample.logs.push_back(log);
    }
    sum += product / total;
  }
  if (sample.rows() > 0) sample.mean = sum / static_cast<double>(sample.rows());
  return sample;
}

// The mean of <r, log q>, r = softmax(log q / T). It falls with T.
double MeanAt(const Sample& sample, double temperature) {
  const auto inverse = static_cast<float>(1.0 / temperature);
  double sum = 0.0;
  for (auto row = sample.logs.begin(); row != sample.logs.end();
       row += static_cast<std::ptrdiff_t>(sample.labels)) {
    float total = 0.0F;
    float product = 0.0F;
    for (std::size_t l = 0; l < sample.labels; ++l) {
      const float log = row[static_cast<std::ptrdiff_t>(l)];
      const float r = std::exp(inverse * log);  // not above 1, and one of them at least 1/labels
      total += r;
      product += r * log;
    }
    sum += static_cast<double>(product / total);
  }
  return sum / static_cast<double>(sample.rows());
}

// The derivative of the cross-entropy by 1/T is MeanAt(T) - mean.
double FitTemperature(const Sample& sample) {
  if (2 * sample.rows() < sample.asked || !(MeanAt(sample, 1.0) > sample.mean)) return 1.0;
  double low = 0.0;
  double high = std::log(kMostTemperature);
  for (int i = 0; i < 12; ++i) {
    const double middle = 0.5 * (low + high);
    (MeanAt(sample, std::exp(middle)) > sample.mean ? low : high) = middle;
  }
  return std::exp(0.5 * (low + high));
}

void Temper(float inverse, std::span<float> row) {
  const auto best =
      static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
  float total = 0.0F;
  for (float& value : row) {
    value = value > kLeast ? std::exp(inverse * std::log(value)) : 0.0F;
    total += value;
  }
  float others = 0.0F;
  for (std::size_t l = 0; l < row.size(); ++l) {
    row[l] /= total;
    if (l != best) others = std::max(others, row[l]);
  }
  // Where rounding has made two of them equal.
  if (!(row[best] > others)) row[best] = std::nextafter(others, 2.0F);
}

}  // namespace

double CalibrateMarginals(const float* costs, std::ptrdiff_t pixel_stride,
                          std::ptrdiff_t label_stride, std::size_t labels,
                          std::span<float> marginals) {
  const double temperature =
      std::sqrt(FitTemperature(TakeSample(costs, pixel_stride, label_stride, labels, marginals)));
  if (temperature == 1.0) return temperature;
  const auto inverse = static_cast<float>(1.0 / temperature);
  ParallelFor(marginals.size() / labels, kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a)
      Temper(inverse, marginals.subspan(a * labels, labels));
  });
  return temperature;
}

double CalibrateMarginals(const Matrix<float>& unary, Matrix<float>* marginals) {
  return CalibrateMarginals(unary.data(), static_cast<std::ptrdiff_t>(unary.cols()), 1,
                            unary.cols(), {marginals->data(), marginals->size()});
}

}  // namespace submarine
