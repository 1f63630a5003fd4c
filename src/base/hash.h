#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace forebay {

/// 128 bits of xxh3, as 32 hexadecimal digits when printed.
struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;
  std::string to_string() const;
  static bool parse(std::string_view text, Hash128* out);
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

Hash128 hash128(const void* data, size_t size);
inline Hash128 hash128(std::string_view text) { return hash128(text.data(), text.size()); }
/// 64 bits of xxh3, equal to XXH3_64bits().
uint64_t hash64(const void* data, size_t size);

/// Hash of bytes that are given piece by piece; equal to hash128 of all pieces joined. digest() may
/// be called at any time and changes nothing. Used by one thread.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void update(const void* data, size_t size);
  void update(std::string_view text) { update(text.data(), text.size()); }
  template <typename T>
    requires std::is_arithmetic_v<T>
  void update_value(T value) {
    update(&value, sizeof value);
  }
  Hash128 digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace forebay
