#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "forebay/buffer.h"

namespace forebay {

/// Bytes that lie in several pieces of memory, in order. Lets a file be written without copying its
/// large parts.
class BufferChain {
 public:
  BufferChain() = default;
  BufferChain(Buffer piece) { add(std::move(piece)); }  // NOLINT(google-explicit-constructor): a chain of one

  void add(Buffer piece) {
    if (piece.empty()) return;
    size_ += piece.size();
    pieces_.push_back(std::move(piece));
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const Buffer> pieces() const { return pieces_; }

  /// Calls `each` with every contiguous run of the `length` bytes from `offset` on. The bytes must
  /// lie inside the chain.
  template <typename Each>
  void each(size_t offset, size_t length, const Each& each) const {
    for (const Buffer& piece : pieces_) {
      if (length == 0) return;
      if (offset >= piece.size()) {
        offset -= piece.size();
        continue;
      }
      const size_t here = std::min(length, piece.size() - offset);
      each(piece.span().subspan(offset, here));
      offset = 0;
      length -= here;
    }
  }

  /// Hash of `length` bytes from `offset` on, or of all bytes.
  Hash128 hash(size_t offset, size_t length) const {
    size_t within = offset;
    // Contiguous bytes are hashed at once: a Hasher allocates memory, which costs more than hashing
    // a short sample.
    if (const Buffer* const piece = piece_of(within, length)) return hash128(piece->data() + within, length);
    Hasher hasher;
    each(offset, length, [&](std::span<const uint8_t> run) { hasher.update(run.data(), run.size()); });
    return hasher.digest();
  }
  Hash128 hash() const { return hash(0, size_); }

  /// The bytes in one piece of memory: a view if they are contiguous, otherwise a copy.
  Buffer together(size_t offset, size_t length) const {
    size_t within = offset;
    if (const Buffer* const piece = piece_of(within, length)) return piece->slice(within, length);
    Buffer copy = Buffer::allocate(length);
    uint8_t* to = copy.data();
    each(offset, length, [&](std::span<const uint8_t> run) {
      std::memcpy(to, run.data(), run.size());
      to += run.size();
    });
    return copy;
  }
  Buffer together() const { return together(0, size_); }

 private:
  /// The piece that contains all of these bytes; null if they span several. Makes `offset` relative
  /// to that piece.
  const Buffer* piece_of(size_t& offset, size_t length) const {
    for (const Buffer& piece : pieces_) {
      if (offset + length <= piece.size()) return &piece;
      if (offset < piece.size()) return nullptr;
      offset -= piece.size();
    }
    return nullptr;
  }

  std::vector<Buffer> pieces_;
  size_t size_ = 0;
};

}  // namespace forebay
