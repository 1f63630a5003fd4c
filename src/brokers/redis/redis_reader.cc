#include "brokers/redis/redis_reader.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

using RedisClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kConnectLimit{5};
// A server that is alive answers within this time; otherwise the connection is made again.
constexpr std::chrono::seconds kAnswerLimit{10};
constexpr std::chrono::seconds kEndCheckInterval{5};

}  // namespace

Status RedisReader::connect(bool, const std::stop_token& stop) {
  FOREBAY_ASSIGN(connection_, RedisConnection::open(address_, RedisClock::now() + kConnectLimit, stop));
  // Entries may have been trimmed while there was no connection.
  for (Stream& stream : streams_) stream.checked = false;
  return {};
}

std::string RedisReader::trouble() const {
  // A lost connection explains more than a missing stream, so it comes first.
  const std::string trouble = ConnectedReader::trouble();
  // The stream may be created later, so reading waits for it; but usually its name is wrong.
  if (trouble.empty() && !absent_stream_.empty())
    return fmt::format("there was no stream '{}' when reading began", absent_stream_);
  return trouble.empty() ? ends_before_message_ : trouble;
}

Status RedisReader::read_round(const std::vector<size_t>& wanted, const Limits& limits, const std::stop_token& stop,
                               std::vector<LogRecord>& out) {
  FOREBAY_ASSIGN(const std::vector<Stream*> streams, find_wanted(wanted, streams_));
  FOREBAY_RETURN_IF_ERROR(check_positions(streams, stop));
  FOREBAY_RETURN_IF_ERROR(check_ends(streams, stop));
  FOREBAY_ASSIGN(const RedisReply* const reply, request_entries(streams, limits, stop));
  FOREBAY_ASSIGN(std::vector<ReadEntries> all, take_entries(*reply, streams));
  std::vector<Stream*> answered;
  for (const ReadEntries& read : all) answered.push_back(read.stream);
  // Whether these entries follow a gap must be known before they are used.
  FOREBAY_ASSIGN(const std::vector<StreamInfo> infos, request_infos(answered, stop));
  for (size_t i = 0; i < all.size(); ++i) accept(all[i], infos[i], out);
  return {};
}

void RedisReader::accept(ReadEntries& read, const StreamInfo& info, std::vector<LogRecord>& out) {
  Stream& stream = *read.stream;
  if (const auto missing = stream.watch.check_read(info, stream.position, read.ids)) note_gap(stream, *missing);
  // Set only together with the records in `out`: a round that fails before is requested again.
  stream.position = read.ids.back();
  stream.quiet = stream.nothing_read = false;
  if (absent_stream_ == name_of(stream)) absent_stream_.clear();
  out.insert(out.end(), std::make_move_iterator(read.records.begin()), std::make_move_iterator(read.records.end()));
}

Status RedisReader::check_ends(const std::vector<Stream*>& streams, const std::stop_token& stop) {
  if (RedisClock::now() < next_end_check_) return {};
  next_end_check_ = RedisClock::now() + kEndCheckInterval;
  std::vector<Stream*> quiet;
  for (Stream* const stream : streams) {
    if (std::exchange(stream->quiet, true)) quiet.push_back(stream);
  }
  FOREBAY_ASSIGN(const std::vector<StreamInfo> infos, request_infos(quiet, stop));
  ends_before_message_.clear();
  for (size_t i = 0; i < quiet.size(); ++i) FOREBAY_RETURN_IF_ERROR(check_end(*quiet[i], infos[i]));
  return {};
}

Status RedisReader::check_end(Stream& stream, const StreamInfo& info) {
  const EndWatch::EndState found = stream.end.check(info, stream.position, stream.nothing_read, RedisClock::now());
  if (found == EndWatch::EndState::kContinues) return {};
  ends_before_message_ = fmt::format(
      "the stream '{}' ends at '{}', before '{}' where reading is to go on: it was made anew, or restored from an "
      "older copy",
      name_of(stream), info.last.to_string(), stream.position.to_string());
  return found == EndWatch::EndState::kRecreated ? not_found(ends_before_message_) : Status();
}

Status RedisReader::check_positions(const std::vector<Stream*>& streams, const std::stop_token& stop) {
  std::vector<Stream*> unchecked;
  for (Stream* const stream : streams) {
    if (!stream->checked) unchecked.push_back(stream);
  }
  FOREBAY_ASSIGN(const std::vector<StreamInfo> infos, request_infos(unchecked, stop));
  for (size_t i = 0; i < unchecked.size(); ++i) {
    Stream& stream = *unchecked[i];
    if (!infos[i].exists) absent_stream_ = name_of(stream);
    FOREBAY_RETURN_IF_ERROR(check_end(stream, infos[i]));
    const bool reads_from_first_entry = stream.position == StreamId{} && stream.known_from_first;
    const auto missing = reads_from_first_entry ? TrimWatch::check_first(infos[i])
                                                : stream.watch.check_position(infos[i], stream.position);
    if (missing) note_gap(stream, *missing);
    stream.checked = true;
  }
  return {};
}

Result<std::vector<StreamInfo>> RedisReader::request_infos(const std::vector<Stream*>& streams,
                                                           const std::stop_token& stop) {
  std::vector<StreamInfo> infos;
  if (streams.empty()) return infos;
  RedisCommands commands;
  for (const Stream* const stream : streams) commands.add({"XINFO", "STREAM", name_of(*stream)});
  const Deadline deadline = RedisClock::now() + kAnswerLimit;
  FOREBAY_RETURN_IF_ERROR(connection_->send(commands, deadline, stop));
  for (const Stream* const stream : streams) {
    FOREBAY_ASSIGN(const RedisReply* const reply, connection_->receive(deadline, stop));
    const bool missing = reply->is(0, RedisReply::Kind::kError) && reply->text(0).starts_with("ERR no such key");
    if (reply->is(0, RedisReply::Kind::kError) && !missing)
      return status_of_redis_error(reply->text(0), address_).with_operator(name_of(*stream));
    FOREBAY_ASSIGN(StreamInfo info, read_stream_info(*reply));
    infos.push_back(info);
  }
  return infos;
}

// COUNT applies to each stream and has no limit in bytes, so it follows from the size of earlier
// entries.
std::string RedisReader::count_limit(const Limits& limits, size_t streams) const {
  const uint64_t fitting = limits.bytes / (entry_bytes_ * streams);
  return fmt::format("{}", std::clamp<uint64_t>(fitting, 1, std::max<size_t>(limits.records, 1)));
}

RedisCommands RedisReader::xread_command(const std::vector<Stream*>& streams, const Limits& limits) const {
  const std::string count = count_limit(limits, streams.size()), wait_ms = fmt::format("{}", limits.wait.count());
  std::vector<std::string> positions;
  for (const Stream* const stream : streams) positions.push_back(stream->position.to_string());
  std::vector<std::string_view> words{"XREAD", "COUNT", count};
  if (limits.wait.count() > 0) words.insert(words.end(), {"BLOCK", wait_ms});  // 0 would block forever
  words.emplace_back("STREAMS");
  for (const Stream* const stream : streams) words.emplace_back(name_of(*stream));
  words.insert(words.end(), positions.begin(), positions.end());
  RedisCommands commands;
  commands.add(words);
  return commands;
}

Result<const RedisReply*> RedisReader::request_entries(const std::vector<Stream*>& streams, const Limits& limits,
                                                       const std::stop_token& stop) {
  // The server may delay the reply until then (BLOCK), and needs some time of its own.
  const Deadline deadline = RedisClock::now() + limits.wait + kAnswerLimit;
  FOREBAY_RETURN_IF_ERROR(connection_->send(xread_command(streams, limits), deadline, stop));
  FOREBAY_ASSIGN(const RedisReply* const reply, connection_->receive(deadline, stop));
  if (reply->is(0, RedisReply::Kind::kError)) return status_of_redis_error(reply->text(0), address_);
  return reply;
}

Result<std::vector<RedisReader::ReadEntries>> RedisReader::take_entries(const RedisReply& reply,
                                                                        const std::vector<Stream*>& streams) {
  FOREBAY_ASSIGN(const std::vector<StreamEntries> answered, read_entries(reply));
  std::vector<ReadEntries> all;
  uint64_t entries = 0;
  for (const StreamEntries& each : answered) {
    const auto stream = std::ranges::find_if(streams, [&](const Stream* s) { return name_of(*s) == each.stream; });
    if (stream == streams.end() || (!each.entries.empty() && each.entries.front().id <= (*stream)->position))
      return corrupt("the server's answer to XREAD has what was not asked for");
    if (each.entries.empty()) continue;
    all.push_back(entries_of(**stream, each, reply));
    entries += each.entries.size();
  }
  if (entries > 0) update_entry_bytes(reply.bytes(), entries);
  return all;
}

RedisReader::ReadEntries RedisReader::entries_of(Stream& stream, const StreamEntries& answered,
                                                 const RedisReply& reply) {
  ReadEntries read{.stream = &stream};
  read.records.reserve(answered.entries.size());
  for (const StreamEntry& entry : answered.entries) {
    Buffer payload = entry.last < entry.first ? Buffer() : reply.strings(entry.first, entry.last);
    const std::string id = entry.id.to_string();
    read.records.push_back({stream.partition, id, id, std::move(payload)});
    read.ids.push_back(entry.id);
  }
  return read;
}

// A moving average, three quarters of which are the last reply, so that large entries after small
// ones do not come by the thousand. It is never 0.
void RedisReader::update_entry_bytes(uint64_t reply_bytes, uint64_t entries) {
  entry_bytes_ = std::max<uint64_t>((entry_bytes_ + 3 * (reply_bytes / entries)) / 4, 64);
}

void RedisReader::note_gap(const Stream& stream, const TrimWatch::Missing& missing) {
  gaps_.push_back({stream.partition, missing.entries, missing.until == StreamId{} ? "" : missing.until.to_string()});
}

}  // namespace forebay
