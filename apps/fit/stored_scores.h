// The memory of a fit in files, so that a command that was interrupted continues.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/fit/labelled_pictures.h"
#include "apps/fit/run_store.h"
#include "submarine/fit/fit.h"

namespace submarine::apps {

class StoredScores : public internal::FitMemory {
 public:
  // Scores depend on the contents of the picture and on some settings; runs with more pictures or evaluations,
  // other folds, another seed or another score to search for use the same ones.
  StoredScores(const std::vector<LabelledPicture>& pictures, const internal::FitOptions& options,
               RunStore* store);

  std::optional<internal::PictureScores> Find(std::size_t picture, const std::string& key) override;
  void Keep(std::size_t picture, const std::string& key,
            const internal::PictureScores& scores) override;

 private:
  struct Picture {
    std::string name;
    nlohmann::ordered_json about;
    nlohmann::json known;  // by key
  };
  std::vector<Picture> pictures_;
  RunStore* store_;
};

}  // namespace submarine::apps
