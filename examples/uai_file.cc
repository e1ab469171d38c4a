// A model in the format of the UAI competitions: uai_file MODEL.uai [EVIDENCE.evid]
#include <exception>
#include <iostream>
#include <string>

#include "submarine/io/model/uai.h"
#include "submarine/submarine.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: uai_file MODEL.uai [EVIDENCE.evid]\n";
    return 2;
  }
  try {
    submarine::FactorGraph graph = submarine::ReadUai(argv[1]);
    if (argc > 2) submarine::ApplyEvidence(graph, submarine::ReadUaiEvidence(argv[2]));
    const submarine::SolveResult result =
        submarine::Solve(graph, {.limits = {.time_limit_seconds = 10.0}});
    std::cout << ToString(result.method) << ": " << ToString(result.termination) << "\n";
    if (result.certificate.lower) std::cout << "log Z >= " << *result.certificate.lower << "\n";
    if (result.certificate.upper) std::cout << "log Z <= " << *result.certificate.upper << "\n";
    for (const std::string& note : result.notes) std::cout << note << "\n";
  } catch (const std::exception& error) {  // one sentence: what is wrong, and where
    std::cerr << error.what() << "\n";
    return 2;
  }
}
