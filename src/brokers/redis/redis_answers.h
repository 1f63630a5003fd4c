#pragma once

#include <string>
#include <vector>

#include "brokers/redis/redis_reply.h"
#include "brokers/redis/stream_id.h"
#include "brokers/redis/trim_watch.h"

namespace forebay {

/// An entry in an answer: its id, and the parts with its names and values.
struct StreamEntry {
  StreamId id;
  size_t first = 0, last = 0;  ///< none where last < first
};

/// Entries of one stream.
struct StreamEntries {
  std::string stream;
  std::vector<StreamEntry> entries;
};

/// What XREAD answered: streams that have something, with their entries. Corrupt where it is no such answer.
Result<std::vector<StreamEntries>> read_entries(const RedisReply& reply);

/// What XINFO STREAM answered. A stream that is not there is none that `exists`.
Result<StreamInfo> read_stream_info(const RedisReply& reply);

}  // namespace forebay
