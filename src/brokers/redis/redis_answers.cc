#include "brokers/redis/redis_answers.h"

namespace forebay {

namespace {

using Kind = RedisReply::Kind;

Status no_answer(const char* command) {
  return corrupt(std::string("the server's answer to ") + command + " is of another form than that of Redis");
}

bool is_array_of(const RedisReply& reply, size_t i, int64_t elements) {
  return reply.is(i, Kind::kArray) && reply[i].number == elements;
}

/// Reads [id, [name, value, …]]. The fields of an entry that was deleted meanwhile are nil.
bool read_entry(const RedisReply& reply, size_t i, StreamEntry& entry) {
  if (!is_array_of(reply, i, 2) || !reply.is(i + 1, Kind::kString)) return false;
  const auto id = StreamId::parse(reply.text(i + 1));
  if (!id) return false;
  const size_t fields = i + 2;
  entry = {*id, fields + 1, fields};
  if (reply.is(fields, Kind::kNil)) return true;
  if (!reply.is(fields, Kind::kArray) || reply[fields].number % 2 != 0) return false;
  entry.last = fields + static_cast<size_t>(reply[fields].number);
  // Otherwise an element is an array, and parts do not correspond to fields.
  if (entry.last != reply.behind(fields) - 1) return false;
  for (size_t k = entry.first; k <= entry.last; ++k) {
    if (!reply.is(k, Kind::kString)) return false;
  }
  return true;
}

bool read_stream(const RedisReply& reply, size_t i, StreamEntries& out) {
  if (!is_array_of(reply, i, 2) || !reply.is(i + 1, Kind::kString) || !reply.is(i + 2, Kind::kArray)) return false;
  out.stream = reply.text(i + 1);
  out.entries.reserve(static_cast<size_t>(std::min<int64_t>(reply[i + 2].number, 1 << 16)));
  for (size_t k = i + 3; k < reply.behind(i + 2); k = reply.behind(k)) {
    StreamEntry entry;
    if (!read_entry(reply, k, entry)) return false;
    // Ids must increase (XADD): positions and gaps depend on it.
    if (!out.entries.empty() && entry.id <= out.entries.back().id) return false;
    out.entries.push_back(entry);
  }
  return true;
}

bool read_id(const RedisReply& reply, size_t i, StreamId& id) {
  if (!reply.is(i, Kind::kString)) return false;
  const auto read = StreamId::parse(reply.text(i));
  if (read) id = *read;
  return read.has_value();
}

/// Stores a name's value if it is needed here.
bool read_fact(const RedisReply& reply, size_t name, size_t value, StreamInfo& info) {
  const std::string_view what = reply.text(name);
  if (what == "length" || what == "entries-added") {
    if (!reply.is(value, Kind::kInteger) || reply[value].number < 0) return false;
    (what == "length" ? info.length : info.added.emplace()) = static_cast<uint64_t>(reply[value].number);
  } else if (what == "last-generated-id") {
    return read_id(reply, value, info.last);
  } else if (what == "max-deleted-entry-id") {
    return read_id(reply, value, info.latest_deleted);
  } else if (what == "first-entry" && reply.is(value, Kind::kArray)) {
    return reply[value].number >= 1 && read_id(reply, value + 1, info.first);
  }
  return true;
}

}  // namespace

Result<std::vector<StreamEntries>> read_entries(const RedisReply& reply) {
  std::vector<StreamEntries> streams;
  // No entry came while XREAD blocked, which RESP2 reports as nil.
  if (reply.is(0, Kind::kNil)) return streams;
  if (!reply.is(0, Kind::kArray)) return no_answer("XREAD");
  for (size_t i = 1; i < reply.behind(0); i = reply.behind(i)) {
    if (!read_stream(reply, i, streams.emplace_back())) return no_answer("XREAD");
  }
  return streams;
}

Result<StreamInfo> read_stream_info(const RedisReply& reply) {
  StreamInfo info;
  if (reply.is(0, Kind::kError) && reply.text(0).find("no such key") != std::string_view::npos) return info;
  if (!reply.is(0, Kind::kArray)) return no_answer("XINFO");
  info.exists = true;
  for (size_t i = 1; i < reply.behind(0);) {
    const size_t value = i + 1;
    if (!reply.is(i, Kind::kString) || value >= reply.behind(0) || !read_fact(reply, i, value, info))
      return no_answer("XINFO");
    // Unknown names may have values of any form: newer servers send more.
    i = reply.behind(value);
  }
  return info;
}

}  // namespace forebay
