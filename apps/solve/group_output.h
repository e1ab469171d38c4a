// What marginals say about the groups of a label hierarchy.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "submarine/io/file/npy.h"
#include "submarine/labels/label_cuts.h"
#include "submarine/solve/method/result.h"

namespace submarine::apps {

// "groups" of a summary: name, labels, the group around it, the mean marginal, and what part of that
// each label has.
nlohmann::ordered_json GroupsJson(const std::vector<LabelGroup>& groups,
                                  const std::vector<std::string>& names,
                                  const MarginalRows& marginals);

// The marginals of the groups, float32 of shape `shape` x groups.
void WriteGroups(const std::string& file, const std::vector<LabelGroup>& groups,
                 const MarginalRows& marginals, internal::NpyShape shape);

// "Groups: vehicle 60% (car 40% of it, ...), ..."
std::string GroupsText(const std::vector<LabelGroup>& groups, const std::vector<std::string>& names,
                       const MarginalRows& marginals);

}  // namespace submarine::apps
