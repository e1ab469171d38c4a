// Lines of cells separated by tabs or commas.
#pragma once

#include <string_view>
#include <vector>

namespace submarine::internal {

std::string_view Trimmed(std::string_view text);  // without white space around it

// A tab if one follows the beginning of a line, otherwise a comma if every line has one; NUL if the text is no table.
char SeparatorOf(std::string_view text);

// The cells, without white space and quotes around them.
std::vector<std::string_view> CellsOf(std::string_view line, char separator);

}  // namespace submarine::internal
