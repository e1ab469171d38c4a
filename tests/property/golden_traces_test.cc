// What a solve does, in which order, and what it keeps: recorded for some thirty models and limits, so that a change of
// policy is seen as one. Time is a fake: every iteration and every new phase takes the same, so that traces repeat.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/model/image_features.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/model/sparse_crf.h"
#include "submarine/solve/solve.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;

std::atomic<double> fake_seconds = 0.0;

class FakeTime {
 public:
  FakeTime() {
    fake_seconds = 0.0;
    time_source = [] { return fake_seconds.load(); };
  }
  ~FakeTime() { time_source = nullptr; }
};

struct Picture {
  int width;
  int height;
  int labels;
  double confidence;  // of the unaries, in nats
  double position_sigma, position_weight;
  double bilateral_sigma, colour_sigma, bilateral_weight;
};

// Three bands of colour with noise, and unaries that know which band a pixel is in, up to noise.
DenseCrf ModelOfPicture(const Picture& picture, LabelSpace labels) {
  RandomModels random(3);
  const auto width = static_cast<std::size_t>(picture.width);
  const auto height = static_cast<std::size_t>(picture.height);
  const auto count = static_cast<std::size_t>(picture.labels);
  Matrix<float> colours(width * height, 3);
  Matrix<float> unary(width * height, count);
  for (std::size_t a = 0; a < width * height; ++a) {
    const std::size_t band = 3 * (a % width) / width;
    for (std::size_t k = 0; k < 3; ++k)
      colours(a, k) =
          static_cast<float>(60.0 + 60.0 * (band == k ? 1.0 : 0.0) + 4.0 * random.Real(-1.0, 1.0));
    for (std::size_t i = 0; i < count; ++i)
      unary(a, i) = static_cast<float>(picture.confidence *
                                       ((i == band % count ? 0.0 : 1.0) + random.Real(-0.5, 0.5)));
  }
  const double sigma_colour[] = {picture.colour_sigma};
  std::vector<GaussianKernel> kernels = {
      PositionKernel(picture.width, picture.height, picture.position_sigma, picture.position_sigma,
                     picture.position_weight),
      BilateralKernel(picture.width, picture.height, 3,
                      std::span<const float>(colours.data(), colours.size()),
                      picture.bilateral_sigma, picture.bilateral_sigma, sigma_colour,
                      picture.bilateral_weight)};
  for (GaussianKernel& kernel : kernels) kernel.normalisation = KernelNormalisation::kSymmetric;
  return {std::move(unary), std::move(kernels), std::move(labels)};
}

template <class Model>
std::string TraceOf(const Model& model, SolveOptions options, double seconds_per_step) {
  const FakeTime time;
  options.limits.threads = 1;
  options.limits.max_bytes = std::size_t{4} << 30;
  std::string trace;
  std::string last_phase;
  int last_k = -2;
  const auto watch = [&](std::string_view phase, const SolveRecord& record) {
    if (phase != last_phase || record.k != last_k) fake_seconds = fake_seconds + seconds_per_step;
    if (phase != last_phase) trace += fmt::format("{}{}", trace.empty() ? "" : " > ", phase);
    last_phase = phase;
    last_k = record.k;
    return true;
  };
  const SolveResult result = Solve(model, options, watch);
  const std::string& about = result.certificate.model;
  const auto says = [&](std::string_view text) { return about.find(text) != std::string::npos; };
  return fmt::format(
      "{} | {}, {}, {}, {}{}", trace, ToString(result.method), ToString(result.termination),
      says("exact Gaussians")   ? "exact"
      : says("pair weights as") ? "operator"
                                : "model",
      result.certificate.extension.empty() ? "no upper" : result.certificate.extension,
      result.certificate.upper ? "" : " (none)");
}

// To record anew: SUBMARINE_RECORD_TRACES=FILE property_test --gtest_filter='GoldenTraces*'
TEST(GoldenTraces, AreAsRecorded) {
  struct Named {
    const char* name;
    Picture picture;
    std::vector<double> limits;
  };
  const double none = HUGE_VAL;
  const Named pictures[] = {
      {"tiny", {12, 8, 3, 1.0, 2, 1, 5, 10, 2}, {none, 30}},
      {"weak unaries", {48, 32, 2, 0.2, 3, 3, 40, 13, 10}, {none, 4}},
      {"medium unaries", {48, 32, 3, 2.0, 3, 3, 40, 13, 10}, {none, 30, 4}},
      {"strong unaries, narrow colours", {48, 32, 3, 7.0, 1, 5, 20, 3, 8}, {none, 30, 4}},
      {"twelve labels", {40, 30, 12, 2.0, 3, 3, 30, 10, 8}, {none, 4}},
      {"large, strong unaries", {160, 120, 3, 7.0, 1, 5, 60, 3, 8}, {30, 4}},
      {"large, weak unaries", {160, 120, 2, 0.2, 3, 3, 60, 13, 10}, {30, 4}}};
  std::string traces;
  for (const auto& [name, picture, limits] : pictures) {
    const DenseCrf model = ModelOfPicture(picture, PottsLabels(picture.labels));
    for (const double limit : limits) {
      const auto record = [&](Method method, Certify certify) {
        const SolveOptions options{.method = method,
                                   .limits = {.time_limit_seconds = limit},
                                   .dense = {.certify = certify}};
        const double step = limit == none ? 0.01 : limit / 120.0;
        traces += fmt::format("{}; within {} s; {}, {}: {}\n", name, limit, ToString(method),
                              ToString(certify), TraceOf(model, options, step));
      };
      record(Method::kAuto, Certify::kAuto);
      if (limit != 30.0 || picture.width > 48) continue;
      record(Method::kAuto, Certify::kExact);
      record(Method::kAuto, Certify::kOperator);
      for (const Method method : {Method::kPdhg, Method::kRouted, Method::kMeanField})
        record(method, Certify::kAuto);
    }
  }
  RandomModels random(5);
  for (const int side : {8, 60}) {
    const SparseCrf grid(random.Points(static_cast<std::size_t>(side * side), 4, 0.0, 4.0),
                         GridEdges(side, side, 4, 0.7), PottsLabels(4));
    for (const double temperature : {1.0, 0.0}) {
      for (const double limit : {none, 0.5}) {
        const SolveOptions options{.temperature = temperature,
                                   .limits = {.time_limit_seconds = limit}};
        traces += fmt::format("grid {}; T = {}; within {} s: {}\n", side, temperature, limit,
                              TraceOf(grid, options, limit == none ? 0.001 : limit / 120.0));
      }
    }
  }
  if (const char* const file = std::getenv("SUBMARINE_RECORD_TRACES"))
    std::ofstream(file) << traces;
  std::ifstream recorded(SUBMARINE_SOURCE_DIR "/tests/property/golden_traces.txt");
  std::istringstream now(traces);
  std::string line;
  std::string expected;
  while (std::getline(now, line)) {
    std::getline(recorded, expected);
    EXPECT_EQ(line, expected);
  }
  EXPECT_FALSE(std::getline(recorded, expected)) << "no longer made: " << expected;
}

}  // namespace
}  // namespace submarine::internal
