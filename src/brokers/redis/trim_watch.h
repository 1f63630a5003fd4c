#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "brokers/redis/stream_id.h"

namespace forebay {

/// Parsed reply to XINFO STREAM.
struct StreamInfo {
  bool exists = false;
  uint64_t length = 0;
  std::optional<uint64_t> added;  ///< entries ever added; unknown before version 7.0
  /// First entry that the stream has; last entry ever added.
  StreamId first, last;
  StreamId latest_deleted;  ///< by XDEL

  /// Returns how many entries were ever added up to the first one. Nothing if that is unknown,
  /// because some were deleted from the middle.
  std::optional<uint64_t> first_number() const;
};

/// Detects that a stream was trimmed before its entries were read, from the server's later answers.
/// A stream is trimmed from its beginning, so nothing is missing as long as the entry read last, or
/// an earlier one, still exists, or the number of the first entry is the next to be read. For one
/// stream.
class TrimWatch {
 public:
  struct Missing {
    std::optional<int64_t> entries;
    StreamId until;  ///< first entry that exists; 0-0: there is none
  };
  /// Checks before reading continues after `position`, also on a new connection.
  std::optional<Missing> check_position(const StreamInfo& info, StreamId position);
  /// Does the same if reading continues with the first entry that the stream ever had.
  static std::optional<Missing> check_first(const StreamInfo& info);
  /// Checks after `read`, at least one entry, was read after `position`.
  std::optional<Missing> check_read(const StreamInfo& info, StreamId position, std::span<const StreamId> read);

 private:
  std::optional<Missing> check_empty(const StreamInfo& info, StreamId position, std::optional<uint64_t> known);

  /// Entries ever added up to the last one read.
  std::optional<uint64_t> number_;
};

/// Detects that a stream was recreated with lower ids, so that new entries would be skipped. It
/// waits before it decides, because a replica may lag for a while. A server that lost its last
/// entries does not end the reading, because its next entries have higher ids. For one stream.
class EndWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kConfirmAfter{20};

  enum class EndState { kContinues, kEndsBeforePosition, kRecreated };
  /// Called with each answer. Returns kRecreated if the stream has ended before `position` in all
  /// answers for kConfirmAfter, and either did so when reading began, or has grown since and still
  /// ends before `position`.
  EndState check(const StreamInfo& info, StreamId position, bool nothing_read, Clock::time_point now);

 private:
  std::optional<Clock::time_point> since_;
  StreamId end_;  ///< when since_ was set
};

}  // namespace forebay
