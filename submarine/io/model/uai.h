// The file formats of the UAI inference competitions.
//
//   model     MARKOV or BAYES; number of variables; cardinalities; number of factors; their scopes;
//             their tables of potentials exp(-energy), last variable of the scope fastest
//   evidence  k var value ... ; the 2010 form puts the number of samples, 1, before it
//   .PR       "PR", then log10 Z
//   .MAR      "MAR", then n card p... card p...
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/model/factor_graph.h"

namespace submarine {

// All readers throw FileError "file:line: ...".

// A BAYES network is the product of its tables. Potential 0 becomes energy +inf.
FactorGraph ReadUai(const std::filesystem::path& path);
FactorGraph ParseUai(std::string_view text, const std::filesystem::path& name);  // for messages

// Writes the graph as MARKOV, with enough digits to read back the same energies, those below 1/1024
// to within 2^-62. Throws NotExpressible when an energy's potential is out of range (|E| beyond
// about 11300).
void WriteUai(const std::filesystem::path& path, const FactorGraph& graph);

struct Observation {
  int variable = 0;
  int value = 0;
};

std::vector<Observation> ReadUaiEvidence(const std::filesystem::path& path);

// Conditions the graph: for each observed variable, a factor is added that forbids every other
// value, so that Z becomes the weight of the evidence. Throws InvalidInput for variables or values
// out of range.
void ApplyEvidence(FactorGraph& graph, std::span<const Observation> evidence);

// lnZ is a natural logarithm here; the file holds log10 Z.
void WriteUaiPr(const std::filesystem::path& path, double ln_z);

using Marginals = std::vector<std::vector<double>>;  // one row per variable, of its own cardinality

void WriteUaiMar(const std::filesystem::path& path, const Marginals& marginals);
void WriteUaiMar(const std::filesystem::path& path, const Matrix<double>& marginals);
void WriteUaiMar(const std::filesystem::path& path, const Matrix<float>& marginals);

}  // namespace submarine
