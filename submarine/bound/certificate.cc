#include "submarine/bound/certificate.h"

#include <fmt/format.h>

#include <stdexcept>

namespace submarine {

void Certificate::Check() const {
  if (lower && upper && !(*lower <= *upper)) {
    throw std::logic_error(fmt::format("the lower bound {} of {} is above its upper bound {}",
                                       lower->value(), model, upper->value()));
  }
  if (dual && upper && !(*dual <= *upper)) {
    throw std::logic_error(fmt::format("the dual value {} of {} is above its upper bound {}",
                                       dual->value(), model, upper->value()));
  }
}

}  // namespace submarine
