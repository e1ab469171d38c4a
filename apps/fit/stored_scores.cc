#include "apps/fit/stored_scores.h"

#include <fmt/format.h>

#include <cstdint>
#include <span>

#include "apps/fit/content_hash.h"
#include "submarine/base/version.h"

namespace submarine::apps {
namespace {

using internal::PictureScores;

using Counts = std::vector<std::int64_t>;

}  // namespace

StoredScores::StoredScores(const std::vector<LabelledPicture>& pictures,
                           const internal::FitOptions& options, RunStore* store)
    : store_(store) {
  for (const LabelledPicture& picture : pictures) {
    Picture stored{picture.name,
                   {{"updates", options.updates},
                    {"pixels", options.pixels},
                    {"version", kVersion},
                    {"contents", fmt::format("{:016x}", picture.contents)}},
                   nlohmann::json::object()};
    if (options.labels) {
      const Matrix<double>& distance = options.labels->metrics.front().distance;
      stored.about["metric"] = fmt::format(
          "{:016x}", ContentHash(std::span<const double>(distance.data(), distance.size())));
    }
    if (auto found = store_->Find(stored.name, stored.about)) stored.known = *std::move(found);
    pictures_.push_back(std::move(stored));
  }
}

std::optional<PictureScores> StoredScores::Find(std::size_t picture, const std::string& key) {
  const Picture& stored = pictures_[picture];
  try {
    if (!stored.known.contains(key)) return std::nullopt;
    const nlohmann::json& found = stored.known.at(key);
    PictureScores scores;
    scores.counts = {found.at("truth").get<Counts>(), found.at("given").get<Counts>(),
                     found.at("right").get<Counts>()};
    scores.probabilities = {found.at("pixels").get<std::int64_t>(),
                            found.at("calibration_error").get<double>(),
                            found.at("negative_log_likelihood").get<double>()};
    return scores;
  } catch (const nlohmann::json::exception&) {
    store_->Refuse(stored.name);
  }
}

void StoredScores::Keep(std::size_t picture, const std::string& key, const PictureScores& scores) {
  Picture& stored = pictures_[picture];
  stored.known[key] = {{"truth", scores.counts.truth},
                       {"given", scores.counts.given},
                       {"right", scores.counts.right},
                       {"pixels", scores.probabilities.pixels},
                       {"calibration_error", scores.probabilities.calibration_error},
                       {"negative_log_likelihood", scores.probabilities.negative_log_likelihood}};
  store_->Store(stored.name, {{"parameters", stored.about}, {"result", stored.known}});
}

}  // namespace submarine::apps
