#include "submarine/extension/kinds.h"

#include <array>
#include <string_view>
#include <utility>

namespace submarine {

template <>
NameTable<ExtensionKind> Names() {
  static constexpr std::array<std::pair<std::string_view, ExtensionKind>, 2> kNames = {
      {{"optimal", ExtensionKind::kOptimal}, {"alternate", ExtensionKind::kAlternate}}};
  return kNames;
}

template <>
NameTable<MeanFieldKind> Names() {
  static constexpr std::array<std::pair<std::string_view, MeanFieldKind>, 2> kNames = {
      {{"naive", MeanFieldKind::kNaive}, {"forest", MeanFieldKind::kForest}}};
  return kNames;
}

}  // namespace submarine
