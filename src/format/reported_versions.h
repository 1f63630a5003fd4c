#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace forebay {

/// Versions of objects as a server reported them, eight bytes each. If the server reports no
/// version for an object, a random number takes its place. The number is drawn once per table, so
/// the hosts of a job can share an object that one of them read. Any thread may use it.
class ReportedVersions {
 public:
  explicit ReportedVersions(int64_t count) : versions_(static_cast<size_t>(count)) {}

  /// True until a version or the lack of one was recorded.
  bool is_unknown(int64_t id) const { return get(id) == kUnknown; }
  /// The version, or the number in its place. Returns nullopt until the object was read or its
  /// version was reported.
  std::optional<uint64_t> find(int64_t id) const;
  /// True if `found` is a reported version, false if it is a number in its place.
  static bool is_version(uint64_t found) { return (found & kNumbers) != kNumbers; }
  /// Records the reported version; 0 means that the server reports none.
  void set(int64_t id, uint64_t version);
  /// Takes over a result of find() from another host, unless this table has a record of its own.
  void set_if_unknown(int64_t id, uint64_t found);
  /// Records that the version was asked for and not reported.
  void set_unavailable(int64_t id) { at(id).store(kUnavailable, std::memory_order_relaxed); }
  uint64_t bytes() const { return versions_.capacity() * sizeof(uint64_t); }

  /// Logs a warning, once per table, that the server reports no version of an object.
  void warn_no_version(std::string_view name);

 private:
  enum : uint64_t { kUnknown, kUnavailable, kFirstVersion };
  /// Bits that are set in every such number and in no version.
  static constexpr uint64_t kNumbers = uint64_t{0xffff} << 48;
  uint64_t get(int64_t id) const { return versions_[static_cast<size_t>(id)].load(std::memory_order_relaxed); }
  std::atomic<uint64_t>& at(int64_t id) { return versions_[static_cast<size_t>(id)]; }
  static uint64_t random_number();

  std::vector<std::atomic<uint64_t>> versions_;
  const uint64_t number_ = random_number();
  std::atomic<bool> warned_{false};
};

}  // namespace forebay
