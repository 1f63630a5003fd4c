#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace forebay {

static_assert(std::endian::native == std::endian::little);

/// Writes numbers and texts one after another, little-endian as the machine is. Cache files and the
/// messages of services have this form. Used by one thread.
class ByteWriter {
 public:
  template <typename T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  /// Equal to put() of each value, but faster.
  template <typename... T>
  void put_all(T... values) {
    char packed[(sizeof(T) + ...)];
    char* at = packed;
    ((std::memcpy(at, &values, sizeof values), at += sizeof values), ...);
    bytes_.append(packed, sizeof packed);
  }
  /// Allocates memory for that many bytes more.
  void reserve(size_t bytes) { bytes_.reserve(bytes_.size() + bytes); }
  void put_text(std::string_view text) {
    put(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
  }
  /// Overwrites a number that was put at offset `offset`.
  template <typename T>
    requires std::is_arithmetic_v<T>
  void put_at(size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads the output of ByteWriter from untrusted bytes. Once a field does not fit, ok() is false
/// and all reads return zeros. The bytes must outlive the reader. Never throws, and allocates
/// memory only for texts whose bytes are present. Used by one thread.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}

  template <typename T>
    requires std::is_arithmetic_v<T>
  T take() {
    T value{};
    if (left_.size() < sizeof value) {
      fail();
      return value;
    }
    std::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
    return value;
  }
  std::string take_text() {
    const auto size = take<uint32_t>();
    if (left_.size() < size) {
      fail();
      return {};
    }
    std::string text(left_.substr(0, size));
    left_.remove_prefix(size);
    return text;
  }
  bool ok() const { return ok_; }
  size_t left() const { return left_.size(); }

 private:
  void fail() {
    ok_ = false;
    left_ = {};
  }
  std::string_view left_;
  bool ok_ = true;
};

}  // namespace forebay
