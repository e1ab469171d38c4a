// FNV-1a, to tell whether a stored result is about the same data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace submarine::apps {

inline constexpr std::uint64_t kEmptyHash = 0xcbf29ce484222325;

template <class T>
std::uint64_t ContentHash(std::span<const T> values, std::uint64_t hash = kEmptyHash) {
  for (const std::byte byte : std::as_bytes(values))
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * std::uint64_t{0x100000001b3};
  return hash;
}

}  // namespace submarine::apps
