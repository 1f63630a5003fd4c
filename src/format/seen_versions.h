#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace forebay {

/// What answers said of the versions of objects, eight bytes each. May be used from any thread.
class SeenVersions {
 public:
  explicit SeenVersions(int64_t count) : seen_(static_cast<size_t>(count)) {}

  /// Nothing was said yet.
  bool unheard(int64_t id) const { return get(id) == kUnheard; }
  /// The version; 0: the server tells none. Nothing before an object was read or its version was told.
  std::optional<uint64_t> find(int64_t id) const;
  void set(int64_t id, uint64_t version);
  /// It was asked for, and not told.
  void set_in_vain(int64_t id) { at(id).store(kInVain, std::memory_order_relaxed); }
  uint64_t bytes() const { return seen_.capacity() * sizeof(uint64_t); }

  /// Of the samples without a version; of no other table of this process.
  uint64_t number() const { return number_; }
  /// Warns of an object whose server tells no version; once.
  void tell_of_none(std::string_view name);

 private:
  enum : uint64_t { kUnheard, kInVain, kNone, kFirstVersion };
  uint64_t get(int64_t id) const { return seen_[static_cast<size_t>(id)].load(std::memory_order_relaxed); }
  std::atomic<uint64_t>& at(int64_t id) { return seen_[static_cast<size_t>(id)]; }
  static uint64_t next_number();

  std::vector<std::atomic<uint64_t>> seen_;
  const uint64_t number_ = next_number();
  std::atomic<bool> told_{false};
};

}  // namespace forebay
