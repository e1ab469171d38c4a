#include "apps/metric/tree_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "apps/cli/messages.h"

namespace submarine::apps {
namespace {

constexpr double kRowHeight = 18.0;
constexpr double kTreeWidth = 480.0;
constexpr double kMargin = 12.0;
constexpr double kCharacter = 7.5;  // width, in pixels

struct Drawn {
  const LabelTree& tree;
  std::vector<std::vector<int>> children;
  std::vector<int> order;  // parents first, children in their order
  std::vector<std::size_t> depth;
};

Drawn Arrange(const LabelTree& tree) {
  const std::vector<TreeNode>& nodes = tree.nodes();
  Drawn drawn{tree, std::vector<std::vector<int>>(nodes.size()), {}, {}};
  std::vector<int> open;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].parent < 0) {
      open.push_back(static_cast<int>(n));
    } else {
      drawn.children[static_cast<std::size_t>(nodes[n].parent)].push_back(static_cast<int>(n));
    }
  }
  drawn.depth.resize(nodes.size());
  while (!open.empty()) {
    const auto n = static_cast<std::size_t>(open.back());
    open.pop_back();
    drawn.order.push_back(static_cast<int>(n));
    const std::vector<int>& below = drawn.children[n];
    for (std::size_t k = below.size(); k-- > 0;) {
      drawn.depth[static_cast<std::size_t>(below[k])] = drawn.depth[n] + 1;
      open.push_back(below[k]);
    }
  }
  return drawn;
}

std::string NameOf(const TreeNode& node) {
  if (node.label >= 0)
    return node.name.empty() ? fmt::format("{}", node.label)
                             : fmt::format("{} {}", node.label, node.name);
  return node.parent < 0 && node.name.empty() ? "root" : node.name;
}

std::string ForXml(std::string_view text) {
  std::string safe;
  for (const char c : Escaped(text)) {
    if (c == '&') {
      safe += "&amp;";
    } else if (c == '<') {
      safe += "&lt;";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string TreeText(const LabelTree& tree) {
  const Drawn drawn = Arrange(tree);
  std::string text;
  for (int n : drawn.order) {
    const TreeNode& node = tree.nodes()[static_cast<std::size_t>(n)];
    text += std::string(2 * drawn.depth[static_cast<std::size_t>(n)], ' ');
    text += Escaped(NameOf(node));
    if (node.parent >= 0)
      text += fmt::format("{}({:g})", NameOf(node).empty() ? "" : " ", node.length);
    text += "\n";
  }
  return text;
}

std::string TreeSvg(const LabelTree& tree) {
  const Drawn drawn = Arrange(tree);
  const std::vector<TreeNode>& nodes = tree.nodes();
  std::vector<double> x(nodes.size(), 0.0), y(nodes.size(), 0.0);
  double farthest = 0.0, widest = 0.0, row = 0.0;
  for (int index : drawn.order) {
    const auto n = static_cast<std::size_t>(index);
    if (nodes[n].parent >= 0) x[n] = x[static_cast<std::size_t>(nodes[n].parent)] + nodes[n].length;
    farthest = std::max(farthest, x[n]);
    if (nodes[n].label < 0) continue;
    y[n] = kMargin + kRowHeight * (row + 0.5);
    row += 1.0;
    widest = std::max(widest, kCharacter * static_cast<double>(NameOf(nodes[n]).size()));
  }
  for (double& position : x)
    position = kMargin + (farthest > 0.0 ? position / farthest * kTreeWidth : 0.0);
  for (std::size_t k = drawn.order.size(); k-- > 0;) {
    const auto n = static_cast<std::size_t>(drawn.order[k]);
    const std::vector<int>& below = drawn.children[n];
    if (below.empty()) continue;
    y[n] =
        (y[static_cast<std::size_t>(below.front())] + y[static_cast<std::size_t>(below.back())]) /
        2;
  }
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n",
      kTreeWidth + widest + 4 * kMargin, kRowHeight * row + 2 * kMargin);
  for (int index : drawn.order) {
    const auto n = static_cast<std::size_t>(index);
    if (nodes[n].parent >= 0) {
      const auto up = static_cast<std::size_t>(nodes[n].parent);
      svg += fmt::format(
          "<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" fill=\"none\" "
          "stroke=\"#555\"><title>{:g}</title>"
          "</path>\n",
          x[up], y[up], y[n], x[n], nodes[n].length);
    }
    const std::string name = ForXml(NameOf(nodes[n]));
    if (nodes[n].label >= 0) {
      svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x[n] + 4, y[n] + 4, name);
    } else if (nodes[n].parent >= 0) {
      svg += fmt::format(
          "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\" fill=\"#06c\">{}</text>\n", x[n] - 3,
          y[n] - 3, name);
    }
  }
  return svg + "</svg>\n";
}

}  // namespace submarine::apps
