#pragma once
#include <vector>
#include "submarine/model/dense_crf.h"
namespace submarine::internal {
struct PairCensus {
  struct Row {
    double cutoff;
    double pairs;
    double left_out;
  };
  std::vector<Row> rows;
};
PairCensus CountPairs(const DenseCrf& model);
}
