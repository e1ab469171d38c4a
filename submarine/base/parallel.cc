#include "submarine/base/parallel.h"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/loop_interrupt.h"

namespace submarine::internal {

struct ThreadLimit::Arena {
  explicit Arena(int threads) : tasks(threads) {}
  tbb::task_arena tasks;
};

namespace {

thread_local ThreadLimit::Arena* current_arena = nullptr;
thread_local LoopInterrupt* current_interrupt = nullptr;

std::size_t ChunkCount(std::size_t n, std::size_t grain) { return (n + grain - 1) / grain; }

#ifdef __SANITIZE_THREAD__
// The thread sanitizer does not see how an uninstrumented TBB orders memory, and would report every
// hand-over as a race. Plain threads let it watch the bodies, where real races would be.
template <class Run>
void ForEachChunk(std::size_t chunks, const Run& run) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t chunk = next++; chunk < chunks; chunk = next++) run(chunk);
  };
  std::future<void> second_thread = std::async(std::launch::async, work);
  work();
  second_thread.get();
}
#else
template <class Run>
void ForEachChunk(std::size_t chunks, const Run& run) {
  // Isolated: a body that waits for a loop of its own must not meanwhile begin another body of the
  // loop around it, or half-done bodies would pile up.
  const auto loop = [&] {
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::size_t{0}, chunks, run); });
  };
  // Workers have no limit of their own: they run in the arena of the loop that they work for.
  if (current_arena != nullptr) {
    current_arena->tasks.execute(loop);
  } else {
    loop();
  }
}
#endif

}  // namespace

void ParallelFor(std::size_t n, std::size_t grain,
                 const std::function<void(std::size_t, std::size_t)>& body) {
  const std::size_t chunks = ChunkCount(n, grain);
  if (chunks <= 1) {
    if (n > 0) body(0, n);
    return;
  }
  LoopInterrupt* const interrupt = current_interrupt;  // of this thread: workers have none
  ForEachChunk(chunks, [&](std::size_t chunk) {
    if (interrupt != nullptr) interrupt->Check();
    body(chunk * grain, std::min(n, (chunk + 1) * grain));
  });
}

double ParallelSum(std::size_t n, std::size_t grain,
                   const std::function<double(std::size_t, std::size_t)>& body) {
  std::vector<double> partial(ChunkCount(n, grain), 0.0);
  ParallelFor(n, grain, [&](std::size_t begin, std::size_t end) {
    partial[begin / grain] = body(begin, end);
  });
  double sum = 0.0;
  for (double p : partial) sum += p;
  return sum;
}

std::size_t NumCores() {
  return static_cast<std::size_t>(std::max(1, tbb::info::default_concurrency()));
}

std::size_t NumThreads() {
  const int threads = current_arena != nullptr ? current_arena->tasks.max_concurrency()
                                               : tbb::this_task_arena::max_concurrency();
  return static_cast<std::size_t>(std::max(1, threads));
}

ThreadLimit::ThreadLimit(int threads) : outer_(current_arena) {
  // More threads than cores would not be given, but TBB would print a warning.
  const int cores = tbb::info::default_concurrency();
  arena_ = std::make_unique<Arena>(threads > 0 ? std::min(threads, cores) : cores);
  current_arena = arena_.get();
}

ThreadLimit::~ThreadLimit() { current_arena = outer_; }

LoopInterrupt::LoopInterrupt(const std::function<bool()>& interrupted)
    : interrupted_(interrupted), outer_(current_interrupt) {
  current_interrupt = this;
}

LoopInterrupt::~LoopInterrupt() { current_interrupt = outer_; }

void LoopInterrupt::Check() {
  if (current_interrupt == this && !stopped_ && interrupted_ && interrupted_()) stopped_ = true;
  if (stopped_) throw Interrupted("a loop was interrupted before it was complete");
}

}  // namespace submarine::internal
