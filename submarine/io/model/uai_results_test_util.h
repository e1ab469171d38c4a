// Reads what WriteUaiPr and WriteUaiMar write, and the competition's files; throws where it cannot.
#pragma once

#include <filesystem>
#include <fstream>
#include <locale>
#include <numbers>
#include <string>

#include "submarine/io/model/uai.h"

namespace submarine::internal::testing {

inline std::ifstream UaiResult(const std::filesystem::path& path, const std::string& kind) {
  std::ifstream file;
  file.exceptions(std::ios::failbit | std::ios::badbit);
  file.open(path);
  file.imbue(std::locale::classic());
  std::string found;
  file >> found;
  if (found != kind) file.setstate(std::ios::failbit);
  return file;
}

inline double ReadUaiPr(const std::filesystem::path& path) {
  double log10_z = 0.0;
  UaiResult(path, "PR") >> log10_z;
  return log10_z * std::numbers::ln10;
}

inline Marginals ReadUaiMar(const std::filesystem::path& path) {
  std::ifstream file = UaiResult(path, "MAR");
  std::size_t count = 0;
  file >> count;
  Marginals marginals(count);
  for (auto& probabilities : marginals) {
    file >> count;
    probabilities.resize(count);
    for (double& p : probabilities) file >> p;
  }
  return marginals;
}

}  // namespace submarine::internal::testing
