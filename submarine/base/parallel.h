// Data parallelism over ranges. Work is cut into chunks whose borders depend only on the range and
// the grain, never on the number of threads, so sums come out bit-equal whatever machine runs them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace submarine::internal {

// Calls body(begin, end) on disjoint chunks of [0, n) of at most `grain` elements.
void ParallelFor(std::size_t n, std::size_t grain,
                 const std::function<void(std::size_t begin, std::size_t end)>& body);

// Sum of body(begin, end) over the same chunks, added in order of the chunks.
double ParallelSum(std::size_t n, std::size_t grain,
                   const std::function<double(std::size_t begin, std::size_t end)>& body);

// The number of threads that the above may use here: for sizes of working memory, not of results.
std::size_t NumThreads();
// The same without limits.
std::size_t NumCores();

// A grain that suits rows of labels: enough of them to outweigh the cost of a task.
inline constexpr std::size_t kRowGrain = 256;

// While this object lives, calls of the above by the thread that made it use at most this many
// threads; 0 means all cores. Limits nest and the innermost one counts. Other threads are not
// affected.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

  struct Arena;

 private:
  std::unique_ptr<Arena> arena_;
  Arena* outer_;
};

}  // namespace submarine::internal
