// Panels below one another, each with a group of bars per case.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace submarine::apps {

struct BarSeries {
  std::string name;
  std::array<double, 3> colour;  // 0 to 1
};

struct BarPanel {
  std::string title;
  bool logarithmic = false;
  // None if there is no bar; positive on a logarithmic axis.
  std::function<std::optional<double>(std::size_t group, std::size_t series)> value;
};

struct BarFigure {
  std::string title;
  std::vector<std::string> groups;
  std::vector<BarSeries> series;
  std::vector<BarPanel> panels;  // those without any value are left out
};

// As DIRECTORY/figure.svg and figure.png.
void WriteBarFigure(const std::filesystem::path& directory, BarFigure figure);

}  // namespace submarine::apps
