// Buffers of the lattice operator; internal to lattice.cc and lattice_flow.cc.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "submarine/base/aligned_memory.h"
#include "submarine/base/matrix.h"
#include "submarine/filter/lattice/lattice.h"

namespace submarine::internal {

// An uninitialised aligned buffer of floats that never shrinks.
class FloatBuffer {
 public:
  FloatBuffer() = default;
  FloatBuffer(const FloatBuffer&) = delete;
  FloatBuffer& operator=(const FloatBuffer&) = delete;
  ~FloatBuffer() { Release(); }

  float* Reserve(std::size_t size) {
    if (size > size_) {
      Release();
      data_ = AlignedAllocator<float>().allocate(size);
      size_ = size;
    }
    return data_;
  }
  void Release() {
    if (data_ != nullptr) AlignedAllocator<float>().deallocate(data_, size_);
    data_ = nullptr;
    size_ = 0;
  }
  float* data() { return data_; }
  std::size_t bytes() const { return size_ * sizeof(float); }
  void Swap(FloatBuffer* other) {
    std::swap(data_, other->data_);
    std::swap(size_, other->size_);
  }

 private:
  float* data_ = nullptr;
  std::size_t size_ = 0;
};

class LatticeOperator::Workspace {
 public:
  FloatBuffer front;  // what the next pass reads
  FloatBuffer back;   // what it writes, and what the rows of parts are added to
  FloatBuffer parts;  // these rows
  std::size_t bytes() const { return front.bytes() + back.bytes() + parts.bytes(); }
};

// Takes an idle workspace or makes one, and returns it at the end.
class LatticeOperator::WorkspaceLease {
 public:
  explicit WorkspaceLease(const LatticeOperator& op) : op_(op) {
    const std::lock_guard lock(op_.idle_mutex_);
    if (op_.idle_.empty()) {
      workspace_ = std::make_unique<Workspace>();
    } else {
      workspace_ = std::move(op_.idle_.back());
      op_.idle_.pop_back();
    }
  }
  ~WorkspaceLease() {
    const std::lock_guard lock(op_.idle_mutex_);
    op_.idle_.push_back(std::move(workspace_));
  }
  WorkspaceLease(const WorkspaceLease&) = delete;
  WorkspaceLease& operator=(const WorkspaceLease&) = delete;
  Workspace* get() { return workspace_.get(); }

 private:
  const LatticeOperator& op_;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace submarine::internal
