// Three panels above each other, each with a group of bars per pair.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/experiments/figure.h"
#include "apps/experiments/stereo_bench/stereo_bench_table.h"

namespace submarine::apps {
namespace {

constexpr double kLeft = 70.0;
constexpr double kRight = 16.0;
constexpr double kTitle = 32.0;
constexpr double kLegendRow = 19.0;
constexpr std::size_t kLegendColumns = 3;
constexpr double kPanelHeight = 196.0;
constexpr double kPanelTop = 26.0;  // of a panel, above its axes
constexpr double kPanelBottom = 30.0;
constexpr double kBar = 15.0;
constexpr double kBetween = 30.0;  // groups
constexpr double kLeastWidth = 660.0;
constexpr double kNumberSize = 8.5;

struct Style {
  std::array<double, 3> colour;
  const char* text;
};

Style StyleOf(BenchMethod method) {
  switch (method) {
    case BenchMethod::kPublishedMeanField:
      return {{0.80, 0.47, 0.65}, "mean field as published"};
    case BenchMethod::kSelfTermMeanField:
      return {{0.84, 0.37, 0.00}, "mean field, self terms"};
    case BenchMethod::kMeanField:
      return {{0.90, 0.62, 0.00}, "mean field"};
    case BenchMethod::kFrankWolfe:
      return {{0.34, 0.71, 0.91}, "Submod, 100 steps"};
    case BenchMethod::kAuto:
      return {{0.00, 0.45, 0.70}, "ours, certified"};
    case BenchMethod::kConstant:
      return {{0.60, 0.60, 0.60}, "best constant"};
  }
  return {{0.0, 0.0, 0.0}, ""};
}

using Value = std::function<std::optional<double>(const std::string& pair, BenchMethod method)>;

struct Panel {
  std::string title;
  bool logarithmic;
  Value value;
};

// A number above a bar: three digits, never an exponent.
std::string Short(double value) {
  if (value >= 100.0) return fmt::format("{:.0f}", value);
  if (value >= 10.0) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

// From values to heights. A linear axis begins at 0, a logarithmic one at a power of ten.
class Scale {
 public:
  Scale(bool logarithmic, double least, double largest, double bottom, double top)
      : logarithmic_(logarithmic), bottom_(bottom), top_(top) {
    if (logarithmic) {
      low_ = std::floor(std::log10(least) - 0.05);
      high_ = std::max(low_ + 1.0, std::log10(largest) + 0.12);
    } else {
      high_ = largest > 0.0 ? 1.12 * largest : 1.0;
    }
  }
  double operator()(double value) const {
    const double at = logarithmic_ ? std::log10(value) : value;
    return bottom_ + (std::max(at, low_) - low_) / (high_ - low_) * (top_ - bottom_);
  }
  std::vector<double> Ticks() const {
    std::vector<double> ticks;
    if (logarithmic_) {
      for (double power = low_; power <= high_; power += 1.0) {
        for (const double digit : {1.0, 2.0, 5.0}) {
          const double tick = digit * std::pow(10.0, power);
          const bool shown = digit == 1.0 || high_ - low_ < 2.5;
          if (shown && std::log10(tick) <= high_) ticks.push_back(tick);
        }
      }
      return ticks;
    }
    double step = std::pow(10.0, std::floor(std::log10(high_ / 4.0)));
    for (const double factor : {2.0, 2.5, 2.0}) {
      if (step < high_ / 5.0) step *= factor;
    }
    for (double k = 0.0; k * step <= high_; k += 1.0) ticks.push_back(k * step);
    return ticks;
  }

 private:
  bool logarithmic_;
  double bottom_, top_;
  double low_ = 0.0;
  double high_ = 1.0;
};

class Figure {
 public:
  explicit Figure(const BenchRows& rows) : rows_(rows) {
    const auto with = [this](const auto& read) {
      return [this, read](const std::string& pair, BenchMethod method) -> std::optional<double> {
        const BenchResult* run = rows_.Find(pair, method);
        return run != nullptr ? read(pair, *run) : std::nullopt;
      };
    };
    AddPanel("Energy / energy of mean field (exact Gaussians, log scale)", true,
             with([this](const std::string& pair, const BenchResult& run) -> std::optional<double> {
               const BenchResult* mf = rows_.Find(pair, BenchMethod::kMeanField);
               if (mf == nullptr || !(mf->energy > 0.0 && run.energy > 0.0)) return std::nullopt;
               return run.energy / mf->energy;
             }));
    AddPanel("Seconds (log scale)", true,
             with([](const std::string&, const BenchResult& run) -> std::optional<double> {
               return run.seconds > 0.0 ? std::optional(run.seconds) : std::nullopt;
             }),
             BenchMethod::kConstant);
    const bool refined = rows_.settings.preset == StereoPreset::kDefault;
    AddPanel(refined ? "Bad pixels, refined disparities off by > 1 px (%)"
                     : "Bad pixels, labels off by > 1 px (%)",
             false,
             with([refined](const std::string&, const BenchResult& run) -> std::optional<double> {
               const auto& errors = refined ? run.refined : run.errors;
               return errors ? std::optional(100.0 * errors->bad_one) : std::nullopt;
             }),
             BenchMethod::kConstant);
  }

  double Width() const {
    const auto bars = static_cast<double>(rows_.settings.methods.size());
    return std::max(
        kLeastWidth,
        kLeft + kRight + static_cast<double>(rows_.pairs.size()) * (bars * 1.6 * kBar + kBetween));
  }
  double Height() const {
    return PanelsTop() + kPanelHeight * static_cast<double>(panels_.size()) + 8.0;
  }

  void Draw(Canvas* canvas) const {
    canvas->Grey(0.1);
    canvas->Text(fmt::format("Stereo benchmark, preset {}", ToString(rows_.settings.preset)),
                 Width() / 2.0, 22.0, 0.5, 15.0);
    DrawLegend(canvas);
    for (std::size_t k = 0; k < panels_.size(); ++k)
      DrawPanel(panels_[k], PanelsTop() + kPanelHeight * static_cast<double>(k), canvas);
  }

 private:
  // Only where there is anything to show. The method `without` has nothing to say there.
  void AddPanel(std::string title, bool logarithmic, const Value& value,
                std::optional<BenchMethod> without = {}) {
    const Value shown = [value, without](const std::string& pair, BenchMethod method) {
      return method == without ? std::nullopt : value(pair, method);
    };
    Panel panel{std::move(title), logarithmic, shown};
    if (!Values(panel).empty()) panels_.push_back(std::move(panel));
  }

  std::vector<double> Values(const Panel& panel) const {
    std::vector<double> values;
    for (const std::string& pair : rows_.pairs) {
      for (const BenchMethod method : rows_.settings.methods) {
        if (const auto value = panel.value(pair, method)) values.push_back(*value);
      }
    }
    return values;
  }

  double PanelsTop() const {
    const std::size_t lines = (rows_.settings.methods.size() + kLegendColumns - 1) / kLegendColumns;
    return kTitle + kLegendRow * static_cast<double>(lines) + 10.0;
  }

  void DrawLegend(Canvas* canvas) const {
    const double step = (Width() - kLeft) / static_cast<double>(kLegendColumns);
    for (std::size_t k = 0; k < rows_.settings.methods.size(); ++k) {
      const Style style = StyleOf(rows_.settings.methods[k]);
      const double x = kLeft + step * static_cast<double>(k % kLegendColumns);
      const std::size_t line = k / kLegendColumns;
      const double y = kTitle + kLegendRow * static_cast<double>(line);
      canvas->Colour(style.colour);
      canvas->Rectangle(x, y, 12.0, 12.0);
      canvas->Grey(0.1);
      canvas->Text(style.text, x + 17.0, y + 10.0, 0.0, 12.0);
    }
  }

  void DrawPanel(const Panel& panel, double top, Canvas* canvas) const {
    const std::vector<double> values = Values(panel);
    const auto [least, largest] = std::minmax_element(values.begin(), values.end());
    const double x1 = Width() - kRight;
    const double y0 = top + kPanelHeight - kPanelBottom;
    const Scale y(panel.logarithmic, *least, *largest, y0, top + kPanelTop);
    canvas->Grey(0.1);
    canvas->Text(panel.title, kLeft, top + 14.0, 0.0, 13.0);
    for (const double tick : y.Ticks()) {
      canvas->Grey(0.88);
      canvas->Line(kLeft, y(tick), x1, y(tick));
      canvas->Grey(0.1);
      canvas->Text(fmt::format("{:g}", tick), kLeft - 6.0, y(tick) + 4.0, 1.0, 11.0);
    }
    const double group = (x1 - kLeft) / static_cast<double>(rows_.pairs.size());
    for (std::size_t k = 0; k < rows_.pairs.size(); ++k) {
      const double middle = kLeft + group * (static_cast<double>(k) + 0.5);
      DrawGroup(panel, rows_.pairs[k], middle, group - kBetween, y0, y, canvas);
      canvas->Grey(0.1);
      canvas->Text(rows_.pairs[k], middle, y0 + 16.0, 0.5, 12.0);
    }
    canvas->Grey(0.35);
    canvas->Line(kLeft, y0, x1, y0);
  }

  void DrawGroup(const Panel& panel, const std::string& pair, double middle, double room, double y0,
                 const Scale& y, Canvas* canvas) const {
    std::vector<std::pair<BenchMethod, double>> bars;
    for (const BenchMethod method : rows_.settings.methods) {
      if (const auto value = panel.value(pair, method)) bars.emplace_back(method, *value);
    }
    const auto count = static_cast<double>(bars.size());
    const double step = std::min(2.4 * kBar, room / std::max(1.0, count));
    for (std::size_t k = 0; k < bars.size(); ++k) {
      const auto& [method, value] = bars[k];
      const double x = middle + (static_cast<double>(k) - (count - 1.0) / 2.0) * step;
      canvas->Colour(StyleOf(method).colour);
      canvas->Rectangle(x - 0.42 * step, y(value), 0.84 * step, y0 - y(value));
      canvas->Grey(0.25);
      canvas->Text(Short(value), x, y(value) - 3.0, 0.5, kNumberSize);
    }
  }

  const BenchRows& rows_;
  std::vector<Panel> panels_;
};

}  // namespace

void WriteBenchFigure(const std::filesystem::path& directory, const BenchRows& rows) {
  const Figure figure(rows);
  WriteFigure(directory, figure.Width(), figure.Height(),
              [&](Canvas* canvas) { figure.Draw(canvas); });
}

}  // namespace submarine::apps
