#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "brokers/redis/stream_id.h"

namespace forebay {

/// What XINFO STREAM says of a stream.
struct StreamInfo {
  bool exists = false;
  uint64_t length = 0;
  std::optional<uint64_t> added;  ///< entries that there ever were; servers before 7.0 do not count
  StreamId first, last;           ///< of the first entry that is there; the last that was ever made
  StreamId latest_deleted;        ///< by XDEL

  /// How many entries there ever were up to the first; nothing where that is not known, because some were deleted from the middle.
  std::optional<uint64_t> first_number() const;
};

/// Notices that a stream was trimmed before its entries were read, from what the server says of it afterwards: a stream is trimmed from its beginning, so nothing is missing as long as the
/// entry that was read last, or one before it, is still there, or the number of the first one is that of the next to be read. For one stream.
class TrimWatch {
 public:
  struct Missing {
    std::optional<int64_t> entries;
    StreamId until;  ///< the first that is there; 0-0: none is
  };
  /// Before reading goes on behind `position`, also on a new connection.
  std::optional<Missing> check_position(const StreamInfo& info, StreamId position);
  /// The same where it goes on with the first entry that the stream ever had.
  static std::optional<Missing> check_first(const StreamInfo& info);
  /// After `read` were read, not none, behind `position`.
  std::optional<Missing> check_read(const StreamInfo& info, StreamId position, std::span<const StreamId> read);

 private:
  std::optional<Missing> check_empty(const StreamInfo& info, StreamId position, std::optional<uint64_t> known);

  std::optional<uint64_t> number_;  ///< how many entries there ever were up to the last that was read
};

/// Notices that a stream was made anew with lower ids: what is added to it is passed over. Not at once: a replica may be behind for a
/// while. And a server that lost the last it was given does not end who has read that; what comes then has later ids. For one stream.
class EndWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kLasts{20};

  enum class Found { kGoesOn, kEndsBefore, kMadeAnew };
  /// After each look at it. kMadeAnew: it has ended before `position` in all looks for so long, and it did so when reading began or
  /// goes on there, before the position.
  Found look(const StreamInfo& info, StreamId position, bool nothing_read, Clock::time_point now);

 private:
  std::optional<Clock::time_point> since_;
  StreamId end_;  ///< at that time
};

}  // namespace forebay
