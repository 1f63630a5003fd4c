#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// One reply of a Redis server. Its strings are in few large buffers, each after its length, in the
/// form of named values. Parts are known by index; an array is followed by its elements, each with
/// all of its own parts.
class RedisReply {
 public:
  enum class Kind : uint8_t { kString, kArray, kInteger, kNil, kStatus, kError };
  struct Part {
    Kind kind = Kind::kNil;
    uint32_t chunk = 0;  ///< index of a string's buffer
    /// Offset of a string in its buffer; for an array, the index after its last part.
    uint64_t at = 0;
    int64_t number = 0;  ///< the integer, or the number of elements or bytes
  };

  size_t size() const { return parts_.size(); }
  const Part& operator[](size_t i) const { return parts_[i]; }
  std::string_view text(size_t i) const;
  /// Returns the strings from `first` to `last`, each after its length, as one buffer. Copies only
  /// if they lie in several buffers.
  Buffer strings(size_t first, size_t last) const;
  /// Returns the index after part i and everything in it.
  size_t behind(size_t i) const { return parts_[i].kind == Kind::kArray ? parts_[i].at : i + 1; }
  bool is(size_t i, Kind kind) const { return i < parts_.size() && parts_[i].kind == kind; }

  void add(Kind kind, int64_t number) { parts_.push_back({kind, 0, 0, number}); }
  void add_string(Kind kind, std::string_view text);
  /// Called when all parts are there: finds the ends of arrays.
  void finish();
  uint64_t bytes() const { return bytes_; }
  void clear();

 private:
  size_t finish_part(size_t i);

  std::vector<Part> parts_;
  std::vector<Buffer> chunks_;
  size_t used_ = 0;  ///< bytes of the last buffer
  uint64_t bytes_ = 0;
};

/// Parses replies from the bytes of a connection.
class RedisParser {
 public:
  /// Limit of one reply; a larger one is Corrupt.
  static constexpr uint64_t kMostBytes = uint64_t{2} << 30;

  RedisParser();
  ~RedisParser();
  RedisParser(RedisParser&&) noexcept;
  RedisParser& operator=(RedisParser&&) noexcept;

  void feed(std::span<const uint8_t> bytes);
  /// Returns the next complete reply, valid until the next call; null if more bytes are needed.
  /// Corrupt for bytes that are not a reply of a Redis server.
  Result<const RedisReply*> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace forebay
