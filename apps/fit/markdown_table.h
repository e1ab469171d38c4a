// A Markdown table whose rows all begin and end with a bar.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace submarine::apps {

class MarkdownTable {
 public:
  explicit MarkdownTable(const std::vector<std::string>& header) {
    Add(header);
    text_ += "|";
    for (std::size_t k = 0; k < header.size(); ++k) text_ += "---|";
    text_ += "\n";
  }
  void Add(const std::vector<std::string>& cells) {
    text_ += fmt::format("| {} |\n", fmt::join(cells, " | "));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace submarine::apps
