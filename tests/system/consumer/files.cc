#include <iostream>

#include "submarine/io/model/uai.h"
#include "submarine/submarine.h"

int main(int argc, char** argv) {
  const submarine::SolveResult result = submarine::Solve(submarine::ReadUai(argv[argc - 1]));
  std::cout << "log Z = " << *result.certificate.upper << "\n";
}
