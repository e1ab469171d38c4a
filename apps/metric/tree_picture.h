// Label trees for people.
#pragma once

#include <string>

#include "submarine/labels/label_tree.h"

namespace submarine::apps {

// One line per node, with the length of the edge above it.
std::string TreeText(const LabelTree& tree);

// Labels at the right, the root at the left; edges are drawn in proportion to their lengths.
std::string TreeSvg(const LabelTree& tree);

}  // namespace submarine::apps
