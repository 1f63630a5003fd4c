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

/// One answer of a Redis server, its strings in few large buffers: each behind its length, as named values are. Parts are known by number; an array's elements follow
/// it, each with all that is in it.
class RedisReply {
 public:
  enum class Kind : uint8_t { kString, kArray, kInteger, kNil, kStatus, kError };
  struct Part {
    Kind kind = Kind::kNil;
    uint32_t chunk = 0;  ///< of strings
    uint64_t at = 0;     ///< of strings, in their chunk; of arrays the number behind the last part in it
    int64_t number = 0;  ///< the integer, or how many elements or bytes
  };

  size_t size() const { return parts_.size(); }
  const Part& operator[](size_t i) const { return parts_[i]; }
  std::string_view text(size_t i) const;
  /// The strings from `first` to `last` with their lengths before them, in one piece: copied only where they lie in two buffers.
  Buffer strings(size_t first, size_t last) const;
  /// The number of the part behind part i and all that is in it.
  size_t behind(size_t i) const { return parts_[i].kind == Kind::kArray ? parts_[i].at : i + 1; }
  bool is(size_t i, Kind kind) const { return i < parts_.size() && parts_[i].kind == kind; }

  void add(Kind kind, int64_t number) { parts_.push_back({kind, 0, 0, number}); }
  void add_string(Kind kind, std::string_view text);
  /// When all parts are there: finds where arrays end.
  void finish();
  uint64_t bytes() const { return bytes_; }
  void clear();

 private:
  size_t finish_part(size_t i);

  std::vector<Part> parts_;
  std::vector<Buffer> chunks_;
  size_t used_ = 0;  ///< of the last chunk
  uint64_t bytes_ = 0;
};

/// Makes replies of what comes over a connection.
class RedisParser {
 public:
  /// An answer takes no more; else it is Corrupt.
  static constexpr uint64_t kMostBytes = uint64_t{2} << 30;

  RedisParser();
  ~RedisParser();
  RedisParser(RedisParser&&) noexcept;
  RedisParser& operator=(RedisParser&&) noexcept;

  void feed(std::span<const uint8_t> bytes);
  /// The next whole reply, valid until the next call; null where more bytes are needed. Corrupt for what is no answer of a Redis.
  Result<const RedisReply*> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace forebay
