#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace forebay {

/// A view of bytes that keeps them alive. Copies share the memory. The last copy releases `owner`,
/// which frees the memory or returns it to a pool.
class Buffer {
 public:
  Buffer() = default;
  Buffer(uint8_t* data, size_t size, std::shared_ptr<void> owner)
      : data_(data), size_(size), owner_(std::move(owner)) {}

  /// Allocates `size` bytes on the heap, not initialised and aligned to 64 bytes.
  static Buffer allocate(size_t size);

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const uint8_t> span() const { return {data_, size_}; }
  std::span<uint8_t> mutable_span() { return {data_, size_}; }
  const std::shared_ptr<void>& owner() const { return owner_; }

  /// Returns a part of this buffer that shares its owner. The range must lie inside the buffer.
  Buffer slice(size_t offset, size_t length) const { return Buffer(data_ + offset, length, owner_); }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  std::shared_ptr<void> owner_;
};

}  // namespace forebay
