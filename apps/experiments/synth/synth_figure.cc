#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "apps/experiments/figure.h"
#include "apps/experiments/synth/synth_summary.h"

namespace submarine::apps {
namespace {

constexpr double kPanelWidth = 380.0;
constexpr double kPanelHeight = 270.0;
constexpr double kLeft = 62.0;  // margins of a panel around its axes
constexpr double kRight = 14.0;
constexpr double kTop = 34.0;
constexpr double kBottom = 48.0;
constexpr double kTitle = 34.0;
constexpr double kLegendRow = 22.0;
constexpr int kLegendColumns = 3;

struct Style {
  std::array<double, 3> colour;
  bool dashed;
  const char* text;
};

Style StyleOf(SynthMethod method) {
  switch (method) {
    case SynthMethod::kSubmodFrankWolfe:
      return {{0.00, 0.45, 0.70}, true, "Submod, Frank-Wolfe as in the paper"};
    case SynthMethod::kSubmod:
      return {{0.00, 0.45, 0.70}, false, "Submod, converged"};
    case SynthMethod::kAlternate:
      return {{0.84, 0.37, 0.00}, false, "Alternate extension"};
    case SynthMethod::kTrw:
      return {{0.35, 0.35, 0.35}, false, "TRW, rho = 1/2"};
    case SynthMethod::kTrwOptimised:
      return {{0.80, 0.47, 0.65}, false, "TRW, rho optimised"};
    case SynthMethod::kMeanField:
      return {{0.90, 0.62, 0.00}, false, "Mean field (lower bound)"};
    case SynthMethod::kHybrid:
      return {{0.00, 0.62, 0.45}, false, "Hybrid, rows exact"};
    case SynthMethod::kPublishedSubmod:
      return {{0.65, 0.10, 0.20}, true, "Submod as published (mistaken)"};
    case SynthMethod::kPublishedAlternate:
      return {{0.45, 0.25, 0.10}, true, "Alternate as published (mistaken)"};
  }
  return {{0.0, 0.0, 0.0}, false, ""};
}

bool IsAlternate(SynthMethod method) {
  return method == SynthMethod::kAlternate || method == SynthMethod::kPublishedAlternate;
}

// A linear axis whose ticks are round numbers.
class Axis {
 public:
  Axis(double low, double high, double from, double to) : from_(from), to_(to) {
    const double span = std::max(high - low, 1e-3 * std::max(1.0, std::abs(high)));
    low_ = low - 0.06 * span;
    high_ = low + 1.06 * span;
    const double raw = span / 5.0;
    const double power = std::pow(10.0, std::floor(std::log10(raw)));
    step_ = power;
    for (double factor : {2.0, 5.0, 10.0}) {
      if (step_ < raw) step_ = factor * power;
    }
  }
  double operator()(double value) const {
    return from_ + (value - low_) / (high_ - low_) * (to_ - from_);
  }
  std::vector<double> Ticks() const {
    std::vector<double> ticks;
    for (double k = std::ceil(low_ / step_); k * step_ <= high_; k += 1.0)
      ticks.push_back(k * step_ + 0.0);
    return ticks;
  }

 private:
  double from_, to_, low_ = 0.0, high_ = 1.0, step_ = 1.0;
};

struct Panel {
  std::string title;
  std::vector<const SynthRow*> rows;
};

class Figure {
 public:
  Figure(const SynthSettings& settings, const std::vector<SynthRow>& rows) : settings_(settings) {
    const bool alternate = std::any_of(rows.begin(), rows.end(),
                                       [](const SynthRow& r) { return IsAlternate(r.method); });
    // The alternate extension lies so far above the others that they need separate panels.
    for (bool zoomed : {false, true}) {
      if (zoomed && !alternate) continue;
      std::vector<Panel> line(settings.metrics.size());
      for (std::size_t m = 0; m < line.size(); ++m)
        line[m].title = settings.metrics[m] + (zoomed ? ", without the alternate extension" : "");
      for (const SynthRow& row : rows) {
        if (row.ratio && !(zoomed && IsAlternate(row.method)))
          line[row.metric].rows.push_back(&row);
      }
      panels_.push_back(std::move(line));
    }
  }

  double Width() const {
    return kPanelWidth * std::max<double>(3.0, static_cast<double>(settings_.metrics.size()));
  }
  double Height() const {
    return kTitle + kPanelHeight * static_cast<double>(panels_.size()) +
           kLegendRow * static_cast<double>(1 + LegendLines()) + 8.0;
  }

  void Draw(Canvas* canvas) const {
    canvas->Grey(0.1);
    canvas->Text(
        fmt::format("Bounds on log Z relative to TRW: {} x {} grids, {} labels, mean and "
                    "standard deviation over {} instances",
                    settings_.width, settings_.height, settings_.labels, settings_.instances),
        Width() / 2.0, 22.0, 0.5, 15.0);
    for (std::size_t line = 0; line < panels_.size(); ++line) {
      for (std::size_t m = 0; m < panels_[line].size(); ++m) {
        DrawPanel(panels_[line][m], kPanelWidth * static_cast<double>(m),
                  kTitle + kPanelHeight * static_cast<double>(line), canvas);
      }
    }
    DrawLegend(canvas);
  }

 private:
  std::size_t LegendLines() const {
    return (settings_.methods.size() + kLegendColumns - 1) / kLegendColumns;
  }

  std::pair<double, double> Range(const Panel& panel) const {
    double low = 0.0;
    double high = 0.0;
    for (const SynthRow* row : panel.rows) {
      low = std::min(low, row->ratio->mean - row->ratio->deviation);
      high = std::max(high, row->ratio->mean + row->ratio->deviation);
    }
    return {low, high};
  }

  void DrawPanel(const Panel& panel, double left, double top, Canvas* canvas) const {
    const double x0 = left + kLeft;
    const double x1 = left + kPanelWidth - kRight;
    const double y0 = top + kPanelHeight - kBottom;
    const double y1 = top + kTop;
    const auto [least, most] =
        std::minmax_element(settings_.weights.begin(), settings_.weights.end());
    const Axis x(*least, *most, x0, x1);
    const auto [low, high] = Range(panel);
    const Axis y(low, high, y0, y1);
    canvas->Grey(0.1);
    canvas->Text(panel.title, (x0 + x1) / 2.0, y1 - 9.0, 0.5, 14.0);
    canvas->Text("weight", (x0 + x1) / 2.0, y0 + 36.0, 0.5, 13.0);
    canvas->TextUpwards("(bound - TRW) / |TRW|", left + 18.0, (y0 + y1) / 2.0, 13.0);
    for (double tick : y.Ticks()) {
      canvas->Grey(0.88);
      canvas->Line(x0, y(tick), x1, y(tick));
      canvas->Grey(0.1);
      canvas->Text(fmt::format("{:.4g}", tick), x0 - 6.0, y(tick) + 4.0, 1.0, 12.0);
    }
    for (double weight : settings_.weights) {
      canvas->Line(x(weight), y0, x(weight), y0 + 4.0);
      canvas->Text(fmt::format("{:g}", weight), x(weight), y0 + 18.0, 0.5, 12.0);
    }
    canvas->Grey(0.35);
    canvas->Line(x0, y(0.0), x1, y(0.0), 1.6);  // TRW itself
    canvas->Line(x0, y0, x0, y1);
    canvas->Line(x0, y0, x1, y0);
    for (SynthMethod method : settings_.methods) {
      if (method != SynthMethod::kTrw) DrawCurve(panel, method, x, y, canvas);
    }
  }

  void DrawCurve(const Panel& panel, SynthMethod method, const Axis& x, const Axis& y,
                 Canvas* canvas) const {
    std::vector<const SynthRow*> points;
    for (const SynthRow* row : panel.rows) {
      if (row->method == method) points.push_back(row);
    }
    std::sort(points.begin(), points.end(), [&](const SynthRow* a, const SynthRow* b) {
      return settings_.weights[a->weight] < settings_.weights[b->weight];
    });
    const Style style = StyleOf(method);
    canvas->Colour(style.colour);
    for (std::size_t k = 0; k < points.size(); ++k) {
      const SynthMoments& r = *points[k]->ratio;
      const double px = x(settings_.weights[points[k]->weight]);
      if (k > 0) {
        canvas->Dashed(style.dashed);
        canvas->Line(x(settings_.weights[points[k - 1]->weight]), y(points[k - 1]->ratio->mean), px,
                     y(r.mean), 1.8);
        canvas->Dashed(false);
      }
      canvas->Dot(px, y(r.mean));
      const double up = y(r.mean + r.deviation);
      const double down = y(r.mean - r.deviation);
      canvas->Line(px, down, px, up, 1.2);
      canvas->Line(px - 4.0, up, px + 4.0, up, 1.2);
      canvas->Line(px - 4.0, down, px + 4.0, down, 1.2);
    }
  }

  void DrawLegend(Canvas* canvas) const {
    const double top = kTitle + kPanelHeight * static_cast<double>(panels_.size()) + kLegendRow;
    for (std::size_t k = 0; k < settings_.methods.size(); ++k) {
      const double x = 40.0 + Width() / kLegendColumns * static_cast<double>(k % kLegendColumns);
      const std::size_t line = k / kLegendColumns;
      const double y = top + kLegendRow * static_cast<double>(line);
      const Style style = StyleOf(settings_.methods[k]);
      canvas->Colour(style.colour);
      canvas->Dashed(style.dashed);
      canvas->Line(x, y - 4.0, x + 34.0, y - 4.0, 2.0);
      canvas->Dashed(false);
      if (settings_.methods[k] != SynthMethod::kTrw) canvas->Dot(x + 17.0, y - 4.0);
      canvas->Grey(0.1);
      canvas->Text(style.text, x + 44.0, y, 0.0, 13.0);
    }
  }

  const SynthSettings& settings_;
  std::vector<std::vector<Panel>> panels_;
};

}  // namespace

void WriteSynthFigure(const std::filesystem::path& directory, const SynthSettings& settings,
                      const std::vector<SynthRow>& rows) {
  const Figure figure(settings, rows);
  WriteFigure(directory, figure.Width(), figure.Height(),
              [&](Canvas* canvas) { figure.Draw(canvas); });
}

}  // namespace submarine::apps
