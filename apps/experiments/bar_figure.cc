#include "apps/experiments/bar_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "apps/experiments/figure.h"

namespace submarine::apps {
namespace {

constexpr double kLeft = 70.0;
constexpr double kRight = 16.0;
constexpr double kTitle = 32.0;
constexpr double kLegendRow = 19.0;
constexpr std::size_t kLegendColumns = 3;
constexpr double kPanelHeight = 196.0;
constexpr double kPanelTop = 26.0;  // space above the axes of a panel
constexpr double kPanelBottom = 30.0;
constexpr double kBar = 15.0;
constexpr double kBetween = 30.0;  // between groups
constexpr double kLeastWidth = 660.0;
constexpr double kNumberSize = 8.5;

// The number above a bar: three digits, never an exponent.
std::string Short(double value) {
  if (value >= 100.0) return fmt::format("{:.0f}", value);
  if (value >= 10.0) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

// Maps values to heights. A linear axis begins at 0, a logarithmic one at a power of ten.
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

class Drawing {
 public:
  explicit Drawing(BarFigure figure) : figure_(std::move(figure)) {
    std::erase_if(figure_.panels, [this](const BarPanel& panel) { return Values(panel).empty(); });
  }

  double Width() const {
    const auto bars = static_cast<double>(figure_.series.size());
    return std::max(kLeastWidth, kLeft + kRight +
                                     static_cast<double>(figure_.groups.size()) *
                                         (bars * 1.6 * kBar + kBetween));
  }
  double Height() const {
    return PanelsTop() + kPanelHeight * static_cast<double>(figure_.panels.size()) + 8.0;
  }

  void Draw(Canvas* canvas) const {
    canvas->Grey(0.1);
    canvas->Text(figure_.title, Width() / 2.0, 22.0, 0.5, 15.0);
    DrawLegend(canvas);
    for (std::size_t k = 0; k < figure_.panels.size(); ++k)
      DrawPanel(figure_.panels[k], PanelsTop() + kPanelHeight * static_cast<double>(k), canvas);
  }

 private:
  std::vector<double> Values(const BarPanel& panel) const {
    std::vector<double> values;
    for (std::size_t g = 0; g < figure_.groups.size(); ++g) {
      for (std::size_t s = 0; s < figure_.series.size(); ++s) {
        if (const auto value = panel.value(g, s)) values.push_back(*value);
      }
    }
    return values;
  }

  double PanelsTop() const {
    const std::size_t lines = (figure_.series.size() + kLegendColumns - 1) / kLegendColumns;
    return kTitle + kLegendRow * static_cast<double>(lines) + 10.0;
  }

  void DrawLegend(Canvas* canvas) const {
    const double step = (Width() - kLeft) / static_cast<double>(kLegendColumns);
    for (std::size_t k = 0; k < figure_.series.size(); ++k) {
      const double x = kLeft + step * static_cast<double>(k % kLegendColumns);
      const std::size_t line = k / kLegendColumns;
      const double y = kTitle + kLegendRow * static_cast<double>(line);
      canvas->Colour(figure_.series[k].colour);
      canvas->Rectangle(x, y, 12.0, 12.0);
      canvas->Grey(0.1);
      canvas->Text(figure_.series[k].name, x + 17.0, y + 10.0, 0.0, 12.0);
    }
  }

  void DrawPanel(const BarPanel& panel, double top, Canvas* canvas) const {
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
    const double group = (x1 - kLeft) / static_cast<double>(figure_.groups.size());
    for (std::size_t k = 0; k < figure_.groups.size(); ++k) {
      const double middle = kLeft + group * (static_cast<double>(k) + 0.5);
      DrawGroup(panel, k, middle, group - kBetween, y0, y, canvas);
      canvas->Grey(0.1);
      canvas->Text(figure_.groups[k], middle, y0 + 16.0, 0.5, 12.0);
    }
    canvas->Grey(0.35);
    canvas->Line(kLeft, y0, x1, y0);
  }

  void DrawGroup(const BarPanel& panel, std::size_t group, double middle, double room, double y0,
                 const Scale& y, Canvas* canvas) const {
    std::vector<std::pair<std::size_t, double>> bars;
    for (std::size_t s = 0; s < figure_.series.size(); ++s) {
      if (const auto value = panel.value(group, s)) bars.emplace_back(s, *value);
    }
    const auto count = static_cast<double>(bars.size());
    const double step = std::min(2.4 * kBar, room / std::max(1.0, count));
    for (std::size_t k = 0; k < bars.size(); ++k) {
      const auto& [series, value] = bars[k];
      const double x = middle + (static_cast<double>(k) - (count - 1.0) / 2.0) * step;
      canvas->Colour(figure_.series[series].colour);
      canvas->Rectangle(x - 0.42 * step, y(value), 0.84 * step, y0 - y(value));
      canvas->Grey(0.25);
      canvas->Text(Short(value), x, y(value) - 3.0, 0.5, kNumberSize);
    }
  }

  BarFigure figure_;
};

}  // namespace

void WriteBarFigure(const std::filesystem::path& directory, BarFigure figure) {
  const Drawing drawing(std::move(figure));
  WriteFigure(directory, drawing.Width(), drawing.Height(),
              [&](Canvas* canvas) { drawing.Draw(canvas); });
}

}  // namespace submarine::apps
