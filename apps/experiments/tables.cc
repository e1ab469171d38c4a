#include "apps/experiments/tables.h"

#include <fmt/format.h>

namespace submarine::apps {

MarkdownTable::MarkdownTable(const std::vector<std::string>& header) {
  Add(header);
  text_ += "|";
  for (std::size_t k = 0; k < header.size(); ++k) text_ += "---|";
  text_ += "\n";
}

void MarkdownTable::Add(const std::vector<std::string>& cells) {
  text_ += fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string CsvText(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace submarine::apps
