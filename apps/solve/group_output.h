// What marginals say about the groups of a label hierarchy.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "submarine/io/file/npy.h"
#include "submarine/labels/label_cuts.h"
#include "submarine/solve/method/result.h"

namespace submarine::apps {

// Adds to a summary "label_names", if there are any, and, if there are groups, "label_shares", the
// mean marginals, and "groups": name, labels, the group around it, its share, and what part of that
// each label has.
void AddGroups(const std::vector<LabelGroup>& groups, const std::vector<std::string>& names,
               const MarginalRows& marginals, nlohmann::ordered_json* summary);

// The marginals of the groups, float32 of shape `shape` x groups.
void WriteGroups(const std::string& file, const std::vector<LabelGroup>& groups,
                 const MarginalRows& marginals, internal::NpyShape shape);

// "Groups: vehicle 60% (car 40% of it, ...), ..."
std::string GroupsText(const std::vector<LabelGroup>& groups, const std::vector<std::string>& names,
                       const MarginalRows& marginals);

}  // namespace submarine::apps
