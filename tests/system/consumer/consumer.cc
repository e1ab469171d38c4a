#include <iostream>
#include <vector>

#include "submarine/base/version.h"
#include "submarine/model/sparse_crf.h"

int main() {
  submarine::SparseCrf model(submarine::Matrix<double>(6, 3, 0.5),
                             submarine::GridEdges(3, 2, 4, 2.0), submarine::PottsLabels(3));
  const std::vector<int> labeling = {0, 1, 1,
                                     0, 1, 1};  // cuts the two edges between columns 0 and 1
  std::cout << submarine::kVersion << " energy " << model.Energy(labeling) << "\n";
}
