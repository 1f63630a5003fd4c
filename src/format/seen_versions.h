#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace forebay {

/// Versions of objects as answers told them, eight bytes each. An object whose server tells no version has a number in its place: a
/// random one of the table that read it, so that the hosts of a job can share what one of them read. May be used from any thread.
class SeenVersions {
 public:
  explicit SeenVersions(int64_t count) : seen_(static_cast<size_t>(count)) {}

  /// Nothing was said yet.
  bool unheard(int64_t id) const { return get(id) == kUnheard; }
  /// The version, or the number in its place. Nothing before an object was read or its version was told.
  std::optional<uint64_t> find(int64_t id) const;
  /// Whether it is a version of the object, and not a number in its place.
  static bool is_version(uint64_t found) { return (found & kNumbers) != kNumbers; }
  /// `version`: 0 where the server tells none.
  void set(int64_t id, uint64_t version);
  /// Takes over what find() gave on another host. What this table has heard itself stays.
  void set_if_unheard(int64_t id, uint64_t found);
  /// It was asked for, and not told.
  void set_in_vain(int64_t id) { at(id).store(kInVain, std::memory_order_relaxed); }
  uint64_t bytes() const { return seen_.capacity() * sizeof(uint64_t); }

  /// Warns of an object whose server tells no version; once.
  void tell_of_none(std::string_view name);

 private:
  enum : uint64_t { kUnheard, kInVain, kFirstVersion };
  static constexpr uint64_t kNumbers = uint64_t{0xffff} << 48;  ///< bits that all numbers have, and no version
  uint64_t get(int64_t id) const { return seen_[static_cast<size_t>(id)].load(std::memory_order_relaxed); }
  std::atomic<uint64_t>& at(int64_t id) { return seen_[static_cast<size_t>(id)]; }
  static uint64_t random_number();

  std::vector<std::atomic<uint64_t>> seen_;
  const uint64_t number_ = random_number();
  std::atomic<bool> told_{false};
};

}  // namespace forebay
