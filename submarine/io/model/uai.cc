#include "submarine/io/model/uai.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numbers>
#include <string>

#include "submarine/base/error.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/file/input_file.h"
#include "submarine/io/file/text_scanner.h"

namespace submarine {
namespace {

using internal::AtomicFile;
using internal::kMaxInt;
using internal::Quoted;
using internal::ReadTextFile;
using internal::TextScanner;
using internal::WriteFileAtomically;

// No table over such a variable would fit into memory; a larger number means a damaged file.
constexpr std::int64_t kMaxCardinality = 1'000'000;

std::vector<int> ReadCardinalities(TextScanner& scanner) {
  const std::int64_t count = scanner.Integer("the number of variables", 1, kMaxInt);
  scanner.ExpectRoomFor(count, "variables");
  std::vector<int> cardinality(static_cast<std::size_t>(count));
  for (int& k : cardinality) {
    k = static_cast<int>(scanner.Integer("the cardinality of a variable", 1, kMaxCardinality));
  }
  return cardinality;
}

void ReadScopes(TextScanner& scanner, FactorGraph& graph) {
  const auto num_variables = static_cast<std::int64_t>(graph.cardinality.size());
  const std::int64_t num_factors = scanner.Integer("the number of factors", 0, kMaxInt);
  scanner.ExpectRoomFor(num_factors, "factors");
  std::vector<std::int64_t> last_factor(graph.cardinality.size(), -1);  // of each variable
  for (std::int64_t f = 0; f < num_factors; ++f) {
    const std::int64_t size = scanner.Integer("the size of a scope", 0, num_variables);
    scanner.ExpectRoomFor(size, "variables in a scope");
    Factor& factor = graph.factors.emplace_back();
    factor.scope.resize(static_cast<std::size_t>(size));
    for (int& variable : factor.scope) {
      variable = static_cast<int>(scanner.Integer("a variable of a scope", 0, num_variables - 1));
      std::int64_t& last = last_factor[static_cast<std::size_t>(variable)];
      if (last == f) {
        scanner.Fail(
            fmt::format("variable {} appears twice in the scope of factor {}", variable, f));
      }
      last = f;
    }
  }
}

// The number of joint states, or the largest integer if there are more.
std::int64_t TableSize(const FactorGraph& graph, const Factor& factor) {
  std::int64_t size = 1;
  for (const int variable : factor.scope) {
    if (__builtin_mul_overflow(size, graph.cardinality[static_cast<std::size_t>(variable)],
                               &size)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return size;
}

void ReadTables(TextScanner& scanner, FactorGraph& graph) {
  for (std::size_t f = 0; f < graph.factors.size(); ++f) {
    Factor& factor = graph.factors[f];
    const std::int64_t size = TableSize(graph, factor);
    const std::int64_t claimed =
        scanner.Integer("the size of a table", 1, std::numeric_limits<std::int64_t>::max());
    if (claimed != size) {
      scanner.Fail(
          fmt::format("the table of factor {} has {} entries, but its scope has {} joint states", f,
                      claimed, size));
    }
    scanner.ExpectRoomFor(size, "entries in a table");
    factor.energy.resize(static_cast<std::size_t>(size));
    for (double& energy : factor.energy) energy = scanner.PotentialEnergy("a potential");
  }
}

// exp(-energy) as text that reads back as the same energy. For energies up to 4, the error of a
// double potential together with that of reading it exceeds half an ulp of the energy; beyond the
// range of double, the extended format can still represent the potential.
void AppendPotential(fmt::memory_buffer& text, double energy, std::size_t factor) {
  const double potential = std::exp(-energy);
  if ((std::isnormal(potential) && std::abs(energy) >= 4.0) || energy == 0.0 ||
      energy == std::numeric_limits<double>::infinity()) {
    fmt::format_to(std::back_inserter(text), " {}", potential);
    return;
  }
  const long double extended = std::exp(-static_cast<long double>(energy));
  if (!std::isnormal(extended)) {
    throw NotExpressible(fmt::format(
        "factor {} has an entry of energy {}, whose potential exp(-energy) a UAI file cannot hold",
        factor, energy));
  }
  fmt::format_to(std::back_inserter(text), " {:.21g}", extended);
}

void WriteText(AtomicFile& file, fmt::memory_buffer& text) {
  file.Write(text.data(), text.size());
  text.clear();
}

// `row(a)` returns the marginals of variable a.
template <class Row>
void WriteMarginals(const std::filesystem::path& path, std::size_t num_variables, Row row) {
  AtomicFile file(path);
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), "MAR\n{}", num_variables);
  for (std::size_t a = 0; a < num_variables; ++a) {
    const auto probabilities = row(a);
    fmt::format_to(std::back_inserter(text), " {}", probabilities.size());
    for (const auto p : probabilities) {
      if (!(p >= 0) || !std::isfinite(p)) {
        throw InvalidInput(fmt::format("a marginal of variable {} is {}, not a probability", a, p));
      }
      fmt::format_to(std::back_inserter(text), " {}", p);
    }
    WriteText(file, text);
  }
  file.Write("\n");
  file.Commit();
}

}  // namespace

FactorGraph ReadUai(const std::filesystem::path& path) {
  return ParseUai(ReadTextFile(path), path);
}

FactorGraph ParseUai(std::string_view text, const std::filesystem::path& name) {
  TextScanner scanner(name, text);
  const std::string_view kind = scanner.Token("the word MARKOV or BAYES");
  if (kind != "MARKOV" && kind != "BAYES") {
    scanner.Fail(
        fmt::format("a UAI model begins with MARKOV or BAYES, but found {}", Quoted(kind)));
  }
  FactorGraph graph;
  graph.cardinality = ReadCardinalities(scanner);
  ReadScopes(scanner, graph);
  ReadTables(scanner, graph);
  scanner.ExpectEnd("the last table");
  return graph;
}

void WriteUai(const std::filesystem::path& path, const FactorGraph& graph) {
  Validate(graph);
  AtomicFile file(path);
  fmt::memory_buffer text;
  const auto out = [&text] { return std::back_inserter(text); };
  fmt::format_to(out(), "MARKOV\n{}\n{}\n{}\n", graph.cardinality.size(),
                 fmt::join(graph.cardinality, " "), graph.factors.size());
  for (const Factor& factor : graph.factors) {
    fmt::format_to(out(), "{}", factor.scope.size());
    for (const int variable : factor.scope) fmt::format_to(out(), " {}", variable);
    fmt::format_to(out(), "\n");
  }
  WriteText(file, text);
  for (std::size_t f = 0; f < graph.factors.size(); ++f) {
    const Factor& factor = graph.factors[f];
    fmt::format_to(out(), "\n{}\n", factor.energy.size());
    for (const double energy : factor.energy) AppendPotential(text, energy, f);
    fmt::format_to(out(), "\n");
    WriteText(file, text);
  }
  file.Commit();
}

std::vector<Observation> ReadUaiEvidence(const std::filesystem::path& path) {
  const std::string text = ReadTextFile(path);
  TextScanner scanner(path, text);
  std::vector<int> numbers;
  while (!scanner.AtEnd()) {
    numbers.push_back(static_cast<int>(scanner.Integer("a number of the evidence", 0, kMaxInt)));
  }
  if (numbers.empty())
    scanner.Fail("expected the number of observed variables, but the file is empty");

  const auto pairs_follow = [&numbers](std::size_t begin) {
    return begin < numbers.size() &&
           numbers.size() - begin - 1 == 2 * static_cast<std::size_t>(numbers[begin]);
  };
  std::size_t begin = 0;
  if (!pairs_follow(0)) {
    begin = 1;
    if (numbers[0] != 1 || !pairs_follow(1)) {
      scanner.Fail(
          fmt::format("evidence is the number of observed variables and as many pairs of variable "
                      "and value, but the "
                      "file holds {} numbers of which the first is {}",
                      numbers.size(), numbers[0]));
    }
  }
  std::vector<Observation> evidence;
  for (std::size_t k = begin + 1; k < numbers.size(); k += 2) {
    evidence.push_back({numbers[k], numbers[k + 1]});
  }
  return evidence;
}

void ApplyEvidence(FactorGraph& graph, std::span<const Observation> evidence) {
  std::vector<int> seen(graph.cardinality.size(), -1);
  for (const auto& [variable, value] : evidence) {
    const auto num_variables = static_cast<int>(graph.cardinality.size());
    if (variable < 0 || variable >= num_variables) {
      throw InvalidInput(
          fmt::format("the evidence names variable {}, but the model has variables 0 to {}",
                      variable, num_variables - 1));
    }
    const int cardinality = graph.cardinality[static_cast<std::size_t>(variable)];
    if (value < 0 || value >= cardinality) {
      throw InvalidInput(
          fmt::format("the evidence sets variable {} to {}, but its values are 0 to {}", variable,
                      value, cardinality - 1));
    }
    int& earlier = seen[static_cast<std::size_t>(variable)];
    if (earlier >= 0 && earlier != value) {
      throw InvalidInput(
          fmt::format("the evidence sets variable {} to {} and to {}", variable, earlier, value));
    }
    earlier = value;
  }
  for (std::size_t a = 0; a < seen.size(); ++a) {
    if (seen[a] < 0) continue;
    Factor& clamp = graph.factors.emplace_back();
    clamp.scope = {static_cast<int>(a)};
    clamp.energy.assign(static_cast<std::size_t>(graph.cardinality[a]),
                        std::numeric_limits<double>::infinity());
    clamp.energy[static_cast<std::size_t>(seen[a])] = 0.0;
  }
}

void WriteUaiPr(const std::filesystem::path& path, double ln_z) {
  if (!std::isfinite(ln_z)) {
    throw InvalidInput(fmt::format("log Z is {}, which a .PR file cannot hold", ln_z));
  }
  WriteFileAtomically(path, fmt::format("PR\n{}\n", ln_z / std::numbers::ln10));
}

void WriteUaiMar(const std::filesystem::path& path, const Marginals& marginals) {
  WriteMarginals(path, marginals.size(), [&](std::size_t a) { return std::span(marginals[a]); });
}

void WriteUaiMar(const std::filesystem::path& path, const Matrix<double>& marginals) {
  WriteMarginals(path, marginals.rows(), [&](std::size_t a) { return marginals.row(a); });
}

void WriteUaiMar(const std::filesystem::path& path, const Matrix<float>& marginals) {
  WriteMarginals(path, marginals.rows(), [&](std::size_t a) { return marginals.row(a); });
}

}  // namespace submarine
