#pragma once

#include <string>
#include <vector>

#include "brokers/redis/redis_reply.h"
#include "brokers/redis/stream_id.h"
#include "brokers/redis/trim_watch.h"

namespace forebay {

/// An entry in a reply: its id, and the range of parts with its names and values.
struct StreamEntry {
  StreamId id;
  size_t first = 0, last = 0;  ///< empty if last < first
};

/// Entries of one stream.
struct StreamEntries {
  std::string stream;
  std::vector<StreamEntry> entries;
};

/// Parses the reply to XREAD: the streams that have entries. Corrupt for any other reply.
Result<std::vector<StreamEntries>> read_entries(const RedisReply& reply);

/// Parses the reply to XINFO STREAM. `exists` is false if there is no such stream.
Result<StreamInfo> read_stream_info(const RedisReply& reply);

}  // namespace forebay
