#include "submarine/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <random>
#include <stdexcept>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/loop_interrupt.h"
#include "submarine/base/parallel_test_util.h"

namespace submarine::internal {
namespace {

class ParallelTest : public ::testing::Test {
 protected:
  ~ParallelTest() override { testing::SetThreadCount(0); }
};

TEST_F(ParallelTest, ChunksCoverTheRangeExactlyOnce) {
  for (int threads : {0, 1, 2}) {
    testing::SetThreadCount(threads);
    for (std::size_t n : {1, 2, 7, 99, 100, 101, 1000}) {
      for (std::size_t grain : {1, 3, 100, 5000}) {
        std::vector<std::atomic<int>> visits(n);
        std::atomic<bool> chunks_fit = true;
        ParallelFor(n, grain, [&](std::size_t begin, std::size_t end) {
          if (begin >= end || end > n || end - begin > grain || begin % grain != 0) {
            chunks_fit = false;
            return;
          }
          for (std::size_t k = begin; k < end; ++k) ++visits[k];
        });
        EXPECT_TRUE(chunks_fit) << n << " elements in chunks of " << grain;
        for (std::size_t k = 0; k < n; ++k) ASSERT_EQ(visits[k], 1) << "element " << k;
      }
    }
  }
}

TEST_F(ParallelTest, AnEmptyRangeCallsNothing) {
  ParallelFor(0, 8, [](std::size_t, std::size_t) { FAIL() << "called on an empty range"; });
  EXPECT_EQ(ParallelSum(0, 8, [](std::size_t, std::size_t) { return 1.0; }), 0.0);
}

TEST_F(ParallelTest, SumsAreBitEqualForAnyNumberOfThreads) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> magnitude(0.0, 20.0);
  std::vector<double> terms(20000);
  for (std::size_t k = 0; k < terms.size(); ++k) {
    terms[k] = k % 2 == 0 ? magnitude(random) : -magnitude(random);
  }
  const auto sum = [&] {
    return ParallelSum(terms.size(), 64, [&](std::size_t begin, std::size_t end) {
      double part = 0.0;
      for (std::size_t k = begin; k < end; ++k) part += terms[k];
      return part;
    });
  };
  double in_order = 0.0;
  for (std::size_t begin = 0; begin < terms.size(); begin += 64) {
    double part = 0.0;
    for (std::size_t k = begin; k < std::min(begin + 64, terms.size()); ++k) part += terms[k];
    in_order += part;
  }
  for (int threads : {1, 2, 0}) {
    testing::SetThreadCount(threads);
    for (int repeat = 0; repeat < 10; ++repeat) EXPECT_EQ(sum(), in_order);
  }
}

TEST_F(ParallelTest, ExceptionsReachTheCaller) {
  for (int threads : {1, 2}) {
    testing::SetThreadCount(threads);
    for (std::size_t grain : {4, 1000}) {
      const auto fail_at_77 = [](std::size_t begin, std::size_t end) {
        if (begin <= 77 && 77 < end) throw std::domain_error("element 77");
        return 1.0;
      };
      EXPECT_THROW(ParallelSum(100, grain, fail_at_77), std::domain_error);
      EXPECT_THROW(ParallelFor(100, grain, fail_at_77), std::domain_error);
      EXPECT_EQ(ParallelSum(77, 7, fail_at_77), 11.0) << "unusable after an exception";
    }
  }
}

TEST_F(ParallelTest, AnInterruptedLoopBeginsNoMoreChunks) {
  for (int threads : {1, 2}) {
    testing::SetThreadCount(threads);
    for (int limit : {1, 2, 7}) {
      int asked = 0;
      const std::function<bool()> interrupted = [&] { return ++asked >= limit; };
      std::atomic<int> after = 0;
      {
        const LoopInterrupt scope(interrupted);
        EXPECT_THROW(
            ParallelFor(100000, 1,
                        [&](std::size_t, std::size_t) { after += asked >= limit ? 1 : 0; }),
            Interrupted);
      }
      EXPECT_EQ(asked, limit) << "asked again after it had said so";
      EXPECT_LT(after, 2 * threads) << "others than those under way";
      EXPECT_EQ(ParallelSum(10, 1, [](std::size_t, std::size_t) { return 1.0; }), 10.0);
      EXPECT_EQ(asked, limit) << "asked beyond the scope";
    }
  }
}

TEST_F(ParallelTest, InterruptsNest) {
  const std::function<bool()> always = [] { return true; };
  const std::function<bool()> nobody;
  const auto sum = [] { return ParallelSum(9, 1, [](std::size_t, std::size_t) { return 1.0; }); };
  const LoopInterrupt outer(always);
  {
    const LoopInterrupt inner(nobody);
    EXPECT_EQ(sum(), 9.0);
  }
  EXPECT_THROW(sum(), Interrupted);
}

TEST_F(ParallelTest, CallsMayNest) {
  std::atomic<int> calls = 0;
  ParallelFor(50, 1, [&](std::size_t, std::size_t) {
    ParallelFor(20, 1, [&](std::size_t, std::size_t) { ++calls; });
  });
  EXPECT_EQ(calls, 1000);
}

}  // namespace
}  // namespace submarine::internal
