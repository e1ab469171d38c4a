// libDAI's factor-graph format: the number of factors, then for each of them the number of its
// variables, their numbers, their cardinalities, the number of nonzero potentials, and as many
// pairs of index and value, the *first* variable of the scope fastest. '#' begins a comment.
#pragma once

#include <filesystem>
#include <string_view>

#include "submarine/model/factor_graph.h"

namespace submarine {

// Tables are reordered to the last variable fastest; potentials left out are 0 (energy +inf). A
// variable number that no factor mentions, below the highest one, is a variable of cardinality 1,
// so that numbers keep their meaning. Throws FileError "file:line: ...".
FactorGraph ReadFg(const std::filesystem::path& path);
FactorGraph ParseFg(std::string_view text, const std::filesystem::path& name);  // for messages

}  // namespace submarine
