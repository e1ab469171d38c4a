#include "submarine/io/model/text_table.h"

#include <algorithm>
#include <cstddef>

namespace submarine::internal {

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

char SeparatorOf(std::string_view text) {
  bool commas = false, everywhere = true;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (Trimmed(line).empty()) continue;
    if (line.find('\t', line.find_first_not_of(" \t")) != std::string_view::npos) return '\t';
    const bool here = line.find(',') != std::string_view::npos;
    commas = commas || here;
    everywhere = everywhere && here;
  }
  return commas && everywhere ? ',' : '\0';
}

std::vector<std::string_view> CellsOf(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  for (;;) {
    const std::size_t end = line.find(separator);
    std::string_view cell = Trimmed(line.substr(0, end));
    if (cell.size() > 1 && cell.front() == '"' && cell.back() == '"')
      cell = cell.substr(1, cell.size() - 2);
    cells.push_back(cell);
    if (end == std::string_view::npos) return cells;
    line.remove_prefix(end + 1);
  }
}

}  // namespace submarine::internal
