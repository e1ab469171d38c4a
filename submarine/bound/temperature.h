// The check of temperatures that the verifiers share.
#pragma once

#include <fmt/format.h>

#include <cmath>

#include "submarine/base/error.h"

namespace submarine::internal {

inline void CheckTemperature(double temperature) {
  if (!(temperature >= 0.0) || !std::isfinite(temperature)) {
    throw InvalidInput(
        fmt::format("the temperature is {}, expected a finite number >= 0", temperature));
  }
}

}  // namespace submarine::internal
