#include "submarine/base/machine.h"

#include <unistd.h>

#include <cstring>

#include "submarine/base/aligned_memory.h"
#include "submarine/base/stopwatch.h"

namespace submarine::internal {

std::size_t PhysicalMemoryBytes() {
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0)
    return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
#endif
  return 0;
}

double MeasuredNewMemorySeconds(std::size_t bytes) {
  const Stopwatch clock;
  void* memory = AllocateAligned(bytes);
  std::memset(memory, 0, bytes);
  // The volatile read keeps the compiler from removing the memset.
  const double seconds =
      static_cast<const volatile char*>(memory)[bytes / 2] == 0 ? clock.Seconds() : 0.0;
  FreeAligned(memory, bytes);
  return seconds;
}

}  // namespace submarine::internal
