#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace forebay {

/// Reads a flatbuffer that has not been verified. A read outside of the buffer returns nullopt.
class FlatBytes {
 public:
  explicit FlatBytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  template <typename T>
  std::optional<T> read(uint64_t at) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  /// Target of the offset stored at `at`.
  std::optional<uint64_t> follow(uint64_t at) const {
    const auto offset = read<uint32_t>(at);
    if (!offset || *offset == 0 || at + *offset >= bytes_.size()) return std::nullopt;
    return at + *offset;
  }
  /// Position of field `number` of the table at `table`; nullopt if the field is absent.
  std::optional<uint64_t> field(uint64_t table, unsigned number) const {
    const auto back = read<int32_t>(table);
    if (!back) return std::nullopt;
    // A table begins with the distance back to its vtable. The vtable holds its own size, the
    // table's size, and the offsets of the fields, 0 for absent ones.
    const int64_t vtable = static_cast<int64_t>(table) - *back;
    if (vtable < 0) return std::nullopt;
    const auto size = read<uint16_t>(static_cast<uint64_t>(vtable));
    const unsigned entry = 4 + 2 * number;
    if (!size || entry + 2 > *size) return std::nullopt;
    const auto offset = read<uint16_t>(static_cast<uint64_t>(vtable) + entry);
    if (!offset || *offset == 0) return std::nullopt;
    return table + *offset;
  }

  struct Vector {
    uint64_t begin = 0;
    uint64_t size = 0;
  };
  /// A vector with `width` bytes per element. Empty if the field is absent, nullopt if it extends
  /// outside of the buffer.
  std::optional<Vector> vector(uint64_t table, unsigned number, uint64_t width) const {
    const auto position = field(table, number);
    if (!position) return Vector{};
    const auto begin = follow(*position);
    if (!begin) return std::nullopt;
    const auto size = read<uint32_t>(*begin);
    if (!size || *size > (bytes_.size() - *begin - sizeof(uint32_t)) / width) return std::nullopt;
    return Vector{*begin + sizeof(uint32_t), *size};
  }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace forebay
