#include "apps/solve/group_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <variant>

namespace submarine::apps {
namespace {

using Json = nlohmann::ordered_json;

// Calls take(marginals) for every variable; models with groups have rows of one length.
template <class Take>
void ForEachRow(const MarginalRows& marginals, const Take& take) {
  std::visit(
      [&](const auto& rows) {
        if constexpr (requires { rows.cols(); }) {
          for (std::size_t a = 0; a < rows.rows(); ++a) take(rows.row(a));
        } else {
          for (const std::vector<double>& row : rows) take(std::span<const double>(row));
        }
      },
      marginals);
}

// Of all labels.
std::vector<double> MeanMarginals(const MarginalRows& marginals) {
  std::vector<double> mean;
  double count = 0.0;
  ForEachRow(marginals, [&](auto row) {
    mean.resize(std::max(mean.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) mean[i] += static_cast<double>(row[i]);
    count += 1.0;
  });
  for (double& share : mean) share /= count;
  return mean;
}

double ShareOf(const LabelGroup& group, const std::vector<double>& mean) {
  double share = 0.0;
  for (int i : group.labels) share += mean[static_cast<std::size_t>(i)];
  return share;
}

std::string NameOf(const std::vector<std::string>& names, int label) {
  return names.empty() ? fmt::format("{}", label) : names[static_cast<std::size_t>(label)];
}

}  // namespace

void AddGroups(const std::vector<LabelGroup>& groups, const std::vector<std::string>& names,
               const MarginalRows& marginals, Json* summary) {
  if (!names.empty()) (*summary)["label_names"] = names;
  if (groups.empty()) return;
  const std::vector<double> mean = MeanMarginals(marginals);
  (*summary)["label_shares"] = mean;
  Json json = Json::array();
  for (const LabelGroup& group : groups) {
    const double share = ShareOf(group, mean);
    Json within = Json::object();
    for (int i : group.labels) {
      within[NameOf(names, i)] =
          share > 0.0 ? Json(mean[static_cast<std::size_t>(i)] / share) : Json(nullptr);
    }
    json.push_back(
        {{"name", group.name},
         {"labels", group.labels},
         {"parent", group.parent < 0 ? Json(nullptr)
                                     : Json(groups[static_cast<std::size_t>(group.parent)].name)},
         {"share", share},
         {"of_which", within}});
  }
  (*summary)["groups"] = std::move(json);
}

void WriteGroups(const std::string& file, const std::vector<LabelGroup>& groups,
                 const MarginalRows& marginals, internal::NpyShape shape) {
  std::vector<float> values;
  ForEachRow(marginals, [&](auto row) {
    for (const LabelGroup& group : groups) {
      double sum = 0.0;
      for (int i : group.labels) sum += static_cast<double>(row[static_cast<std::size_t>(i)]);
      values.push_back(static_cast<float>(sum));
    }
  });
  shape.push_back(static_cast<std::int64_t>(groups.size()));
  internal::WriteNpy(file, std::span<const float>(values), shape);
}

std::string GroupsText(const std::vector<LabelGroup>& groups, const std::vector<std::string>& names,
                       const MarginalRows& marginals) {
  constexpr std::size_t kGroups = 6, kLabels = 3;
  constexpr double kLeast = 5e-4;  // 0.1%, rounded
  const std::vector<double> mean = MeanMarginals(marginals);
  std::vector<std::pair<double, const LabelGroup*>> order;
  for (const LabelGroup& group : groups) order.emplace_back(ShareOf(group, mean), &group);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (std::size_t k = 0; k < std::min(kGroups, order.size()) && order[k].first >= kLeast; ++k) {
    std::vector<int> labels = order[k].second->labels;
    std::stable_sort(labels.begin(), labels.end(), [&](int i, int j) {
      return mean[static_cast<std::size_t>(i)] > mean[static_cast<std::size_t>(j)];
    });
    text += fmt::format("{}{} {:.1f}%", k == 0 ? "Groups: " : "; ", order[k].second->name,
                        100.0 * order[k].first);
    if (labels.size() == 1) continue;
    labels.resize(std::min(kLabels, labels.size()));
    for (std::size_t i = 0; i < labels.size(); ++i) {
      text += fmt::format("{}{} {:.0f}%", i == 0 ? ", of which " : ", ", NameOf(names, labels[i]),
                          100.0 * mean[static_cast<std::size_t>(labels[i])] / order[k].first);
    }
  }
  return text.empty() ? text : text + ".\n";
}

}  // namespace submarine::apps
