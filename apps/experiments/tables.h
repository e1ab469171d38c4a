// Tables as Markdown and as comma-separated values.
#pragma once

#include <string>
#include <vector>

namespace submarine::apps {

// A table whose rows all begin and end with a bar.
class MarkdownTable {
 public:
  explicit MarkdownTable(const std::vector<std::string>& header);
  void Add(const std::vector<std::string>& cells);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Quoted if it contains a comma or a quote.
std::string CsvText(const std::string& text);

}  // namespace submarine::apps
