#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// A value that is encoded as its bytes in memory. That suffices, because both ends of a socket are
/// on one host.
template <typename T>
concept PlainValue = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Encodes values one after another. A struct is encoded by a function `fields(archive, value)`
/// next to it, which passes all members to the archive. MessageReader uses the same function.
class MessageWriter {
 public:
  template <typename... Values>
  void operator()(const Values&... values) {
    (write(values), ...);
  }
  std::string take() { return std::move(bytes_); }

 private:
  void append(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }

  template <PlainValue T>
  void write(const T& value) {
    append(&value, sizeof value);
  }
  void write(const std::string& text) {
    write(static_cast<uint64_t>(text.size()));
    append(text.data(), text.size());
  }
  template <typename T>
  void write(const std::vector<T>& values) {
    write(static_cast<uint64_t>(values.size()));
    if constexpr (PlainValue<T>) {
      append(values.data(), values.size() * sizeof(T));
    } else {
      for (const T& value : values) write(value);
    }
  }
  template <typename T>
  void write(const std::optional<T>& value) {
    write(value.has_value());
    if (value) write(*value);
  }
  template <typename Key, typename Value>
  void write(const std::map<Key, Value>& map) {
    write(static_cast<uint64_t>(map.size()));
    for (const auto& [key, value] : map) (*this)(key, value);
  }
  template <typename T>
  void write(const T& value) {
    fields(*this, const_cast<T&>(value));  // NOLINT: fields() serves both directions
  }

  std::string bytes_;
};

/// Decodes what MessageWriter has encoded. After a value that the bytes cannot hold, all later
/// values stay unchanged and finish() returns an error. The reader never allocates more than the
/// bytes can hold.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : left_(bytes) {}

  template <typename... Values>
  void operator()(Values&... values) {
    (read(values), ...);
  }
  bool failed() const { return failed_; }
  /// Marks the message as corrupt, for callers that find an invalid value.
  void fail() { failed_ = true; }
  /// Returns Corrupt if bytes were missing or are left over.
  Status finish() const {
    return failed_ || !left_.empty() ? corrupt("a message that is not of the form that it says") : Status();
  }

 private:
  bool copy(void* to, size_t size) {
    if (failed_ || size > left_.size()) {
      failed_ = true;
      return false;
    }
    if (size > 0) std::memcpy(to, left_.data(), size);
    left_.remove_prefix(size);
    return true;
  }
  /// Reads a number of elements that have at least `least` bytes each. Fails and returns 0 if the
  /// remaining bytes cannot hold so many.
  size_t count(size_t least) {
    uint64_t number = 0;
    read(number);
    if (failed_ || number > left_.size() / least) {
      failed_ = true;
      return 0;
    }
    return static_cast<size_t>(number);
  }

  template <PlainValue T>
  void read(T& value) {
    if constexpr (std::same_as<T, bool>) {
      uint8_t byte = 0;
      if (copy(&byte, 1)) value = byte != 0;
    } else {
      copy(&value, sizeof value);
    }
  }
  void read(std::string& text) {
    text.resize(count(1));
    copy(text.data(), text.size());
  }
  template <typename T>
  void read(std::vector<T>& values) {
    if constexpr (PlainValue<T>) {
      values.resize(count(sizeof(T)));
      copy(values.data(), values.size() * sizeof(T));
    } else {
      const size_t number = count(1);
      values.clear();
      for (size_t i = 0; i < number && !failed_; ++i) read(values.emplace_back());
    }
  }
  template <typename T>
  void read(std::optional<T>& value) {
    bool there = false;
    read(there);
    if (there) read(value.emplace());
  }
  template <typename Key, typename Value>
  void read(std::map<Key, Value>& map) {
    const size_t number = count(1);
    for (size_t i = 0; i < number && !failed_; ++i) {
      Key key;
      read(key);
      read(map[key]);
    }
  }
  template <typename T>
  void read(T& value) {
    fields(*this, value);
  }

  std::string_view left_;
  bool failed_ = false;
};

template <typename T>
std::string to_message(const T& value) {
  MessageWriter writer;
  writer(value);
  return writer.take();
}

template <typename T>
Result<T> from_message(std::string_view bytes) {
  T value{};
  MessageReader reader(bytes);
  reader(value);
  FOREBAY_RETURN_IF_ERROR(reader.finish());
  return value;
}

/// Encodes or decodes an enumeration whose last value is `last`. A larger value is corrupt.
template <typename Archive, typename Enum>
void checked_enum(Archive& archive, Enum& value, Enum last) {
  archive(value);
  if constexpr (std::same_as<Archive, MessageReader>) {
    if (value > last) {
      value = last;
      archive.fail();
    }
  }
}

}  // namespace forebay
