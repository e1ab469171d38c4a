#include "submarine/filter/lattice/lattice_parts.h"

#include <algorithm>

#include "submarine/base/parallel.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kMostTasks = 32;

// Numbers the vertices that each part touches in the order of first appearance; returns them.
std::vector<std::vector<std::uint32_t>> NumberRows(const Lattice& lattice, std::size_t part_chunks,
                                                   std::vector<std::uint32_t>* corner_row) {
  std::vector<std::vector<std::uint32_t>> touched((lattice.num_chunks() + part_chunks - 1) /
                                                  part_chunks);
  // Every task clears an array over all vertices.
  const std::size_t grain = (touched.size() + kMostTasks - 1) / kMostTasks;
  ParallelFor(touched.size(), grain, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint32_t> number(lattice.num_vertices, kNone);
    for (std::size_t part = begin; part < end; ++part) {
      const std::size_t last = lattice.FirstRecord((part + 1) * part_chunks) * lattice.corners;
      for (std::size_t k = lattice.FirstRecord(part * part_chunks) * lattice.corners; k < last;
           ++k) {
        const std::uint32_t v = lattice.simplex_vertex[k];
        if (number[v] == kNone) {
          number[v] = static_cast<std::uint32_t>(touched[part].size());
          touched[part].push_back(v);
        }
        (*corner_row)[k] = number[v];
      }
      for (const std::uint32_t v : touched[part]) number[v] = kNone;
    }
  });
  return touched;
}

}  // namespace

std::size_t SplatParts::bytes() const {
  return Bytes(row_begin) + Bytes(corner_row) + Bytes(vertex_of_row);
}

std::size_t SplatParts::MostRows(std::size_t count) const {
  std::size_t most = 0;
  for (std::size_t first = 0; first < num_parts(); first += count) {
    const std::size_t last = std::min(num_parts(), first + count);
    most = std::max<std::size_t>(most, row_begin[last] - row_begin[first]);
  }
  return most;
}

SplatParts BuildSplatParts(const Lattice& lattice) {
  if (2 * lattice.num_vertices > lattice.num_pixels) return {};
  SplatParts parts;
  const std::size_t part_chunks = ChunksOfPart(lattice.num_chunks());
  parts.part_pixels = PartPixels(lattice);
  parts.corner_row.resize(lattice.simplex_vertex.size());
  const std::vector<std::vector<std::uint32_t>> touched =
      NumberRows(lattice, part_chunks, &parts.corner_row);
  std::size_t rows = 0;
  for (const std::vector<std::uint32_t>& of_part : touched) rows += of_part.size();
  if (2 * rows > lattice.num_pixels) return {};

  parts.row_begin.push_back(0);
  parts.vertex_of_row.reserve(rows);
  for (const std::vector<std::uint32_t>& of_part : touched) {
    parts.vertex_of_row.insert(parts.vertex_of_row.end(), of_part.begin(), of_part.end());
    parts.row_begin.push_back(static_cast<std::uint32_t>(parts.vertex_of_row.size()));
  }
  return parts;
}

std::size_t PartPixels(const Lattice& lattice) {
  return ChunksOfPart(lattice.num_chunks()) * lattice.chunk;
}

std::size_t PartsAtOnce(std::size_t threads) {
  constexpr std::size_t kPerThread = 8;  // they end at different times
  return threads == 1 ? 1 : kPerThread * threads;
}

}  // namespace submarine::internal
