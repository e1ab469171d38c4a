#include "submarine/solve/method/sparse_memory.h"

namespace submarine::internal {
namespace {

constexpr double kOneDouble = 8.0;
// An edge and its two entries in the lists of its ends; where a variable's list begins.
constexpr double kEdgeBytes = 40.0;
constexpr double kListBeginBytes = 8.0;

}  // namespace

double ModelBytes(const SparseSize& size) {
  return size.variables * (kOneDouble * size.labels + kListBeginBytes) + kEdgeBytes * size.edges;
}

double HeldBytes(const SparseHeld& held, const SparseSize& size) {
  const double of_variable =
      kOneDouble * (held.labels * size.labels + held.cuts * size.cuts) + held.per_variable;
  const double of_edge =
      kOneDouble * (held.flows * size.cuts + 2.0 * held.messages * size.labels) + held.per_edge;
  return size.variables * of_variable + size.edges * of_edge;
}

}  // namespace submarine::internal
