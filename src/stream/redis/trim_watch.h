#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "stream/redis/stream_id.h"

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

}  // namespace forebay
