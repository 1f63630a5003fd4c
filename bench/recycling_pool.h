#pragma once

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <arrow/memory_pool.h>
#include <arrow/status.h>

namespace forebay::bench {

/// Keeps every block that is freed, for the next of its size: fresh pages cost more than decoding. Blocks of 2 MiB and more may
/// lie on huge pages. Used by all threads; must outlive what was allocated from it.
class RecyclingPool : public arrow::MemoryPool {
 public:
  ~RecyclingPool() override {
    for (auto& [size, blocks] : free_) {
      for (void* block : blocks) std::free(block);
    }
  }

  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;

  arrow::Status Allocate(int64_t size, int64_t, uint8_t** out) override {
    const int64_t capacity = capacity_of(size);
    in_use_ += size;
    total_ += size;
    ++count_;
    {
      const std::lock_guard lock(mutex_);
      std::vector<void*>& blocks = free_[capacity];
      if (!blocks.empty()) {
        *out = static_cast<uint8_t*>(blocks.back());
        blocks.pop_back();
        return arrow::Status::OK();
      }
    }
    const auto alignment = static_cast<size_t>(capacity >= kHuge ? kHuge : 64);
    void* block = std::aligned_alloc(alignment, static_cast<size_t>(capacity));
    if (block == nullptr) return arrow::Status::OutOfMemory("no memory for ", capacity, " bytes");
    if (capacity >= kHuge) madvise(block, static_cast<size_t>(capacity), MADV_HUGEPAGE);
    *out = static_cast<uint8_t*>(block);
    return arrow::Status::OK();
  }

  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** block) override {
    if (capacity_of(old_size) == capacity_of(new_size)) {
      in_use_ += new_size - old_size;
      return arrow::Status::OK();
    }
    uint8_t* moved = nullptr;
    ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
    std::memcpy(moved, *block, static_cast<size_t>(std::min(old_size, new_size)));
    Free(*block, old_size, alignment);
    *block = moved;
    return arrow::Status::OK();
  }

  void Free(uint8_t* block, int64_t size, int64_t) override {
    in_use_ -= size;
    const std::lock_guard lock(mutex_);
    free_[capacity_of(size)].push_back(block);
  }

  int64_t bytes_allocated() const override { return in_use_; }
  int64_t total_bytes_allocated() const override { return total_; }
  int64_t num_allocations() const override { return count_; }
  std::string backend_name() const override { return "recycling"; }

 private:
  static constexpr int64_t kHuge = 2 << 20;

  /// Steps of an eighth of a power of two, and whole huge pages.
  static int64_t capacity_of(int64_t size) {
    const auto asked = static_cast<uint64_t>(std::max<int64_t>(size, 64));
    const uint64_t unit = size >= kHuge ? kHuge : std::max<uint64_t>(std::bit_floor(asked) / 8, 64);
    return static_cast<int64_t>((asked + unit - 1) / unit * unit);
  }

  std::mutex mutex_;
  std::map<int64_t, std::vector<void*>> free_;
  std::atomic<int64_t> in_use_{0}, total_{0}, count_{0};
};

}  // namespace forebay::bench
