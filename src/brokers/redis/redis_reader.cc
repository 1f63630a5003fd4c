#include "brokers/redis/redis_reader.h"

#include <algorithm>

#include <fmt/format.h>

namespace forebay {

namespace {

using RedisClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kConnectLimit{5};
constexpr std::chrono::seconds kAnswerLimit{
    10};  ///< a server that is there answers before, or the connection is made again
constexpr std::chrono::seconds kEndCheckInterval{5};

}  // namespace

Status RedisReader::connect(bool, const std::stop_token& stop) {
  FOREBAY_ASSIGN(connection_, RedisConnection::open(address_, RedisClock::now() + kConnectLimit, stop));
  // Entries may have been trimmed while there was no connection.
  for (Stream& stream : streams_) stream.checked = false;
  return {};
}

std::string RedisReader::trouble() const {
  // The stream may be created later, so reading waits for it; but usually its name is wrong.
  const std::string trouble = ConnectedReader::trouble();
  if (trouble.empty() && !absent_.empty()) return fmt::format("there was no stream '{}' when reading began", absent_);
  return trouble.empty() ? ends_before_ : trouble;
}

Status RedisReader::read_round(const std::vector<size_t>& wanted, const Limits& limits, const std::stop_token& stop,
                               std::vector<LogRecord>& out) {
  FOREBAY_ASSIGN(const std::vector<Stream*> streams, find_wanted(wanted, streams_));
  FOREBAY_RETURN_IF_ERROR(check_positions(streams, stop));
  FOREBAY_RETURN_IF_ERROR(check_ends(streams, stop));
  FOREBAY_ASSIGN(const RedisReply* const reply, ask_entries(streams, limits, stop));
  std::vector<Stream*> given = streams;
  FOREBAY_ASSIGN(std::vector<ReadEntries> taken, take_entries(*reply, given));
  // Whether these entries follow a gap must be known before they are used.
  FOREBAY_ASSIGN(const std::vector<StreamInfo> infos, ask_infos(given, stop));
  for (size_t i = 0; i < given.size(); ++i) {
    Stream& stream = *given[i];
    if (const auto missing = stream.watch.check_read(infos[i], stream.position, taken[i].ids))
      note_gap(stream, *missing);
    // Set only together with the records in `out`: a round that fails before is requested again.
    stream.position = taken[i].ids.back();
    stream.quiet = stream.nothing_read = false;
    if (absent_ == name_of(stream)) absent_.clear();
    out.insert(out.end(), std::make_move_iterator(taken[i].records.begin()),
               std::make_move_iterator(taken[i].records.end()));
  }
  return {};
}

Status RedisReader::check_ends(const std::vector<Stream*>& streams, const std::stop_token& stop) {
  if (RedisClock::now() < next_end_check_) return {};
  next_end_check_ = RedisClock::now() + kEndCheckInterval;
  std::vector<Stream*> quiet;
  for (Stream* const stream : streams) {
    if (std::exchange(stream->quiet, true)) quiet.push_back(stream);
  }
  FOREBAY_ASSIGN(const std::vector<StreamInfo> infos, ask_infos(quiet, stop));
  ends_before_.clear();
  for (size_t i = 0; i < quiet.size(); ++i) FOREBAY_RETURN_IF_ERROR(check_end(*quiet[i], infos[i]));
  return {};
}

Status RedisReader::check_end(Stream& stream, const StreamInfo& info) {
  const EndWatch::EndState found = stream.end.check(info, stream.position, stream.nothing_read, RedisClock::now());
  if (found == EndWatch::EndState::kContinues) return {};
  ends_before_ = fmt::format(
      "the stream '{}' ends at '{}', before '{}' where reading is to go on: it was made anew, or restored from an "
      "older copy",
      name_of(stream), info.last.to_string(), stream.position.to_string());
  return found == EndWatch::EndState::kRecreated ? not_found(ends_before_) : Status();
}

Status RedisReader::check_positions(const std::vector<Stream*>& streams, const std::stop_token& stop) {
  std::vector<Stream*> unchecked;
  for (Stream* const stream : streams) {
    if (!stream->checked) unchecked.push_back(stream);
  }
  FOREBAY_ASSIGN(const std::vector<StreamInfo> infos, ask_infos(unchecked, stop));
  for (size_t i = 0; i < unchecked.size(); ++i) {
    Stream& stream = *unchecked[i];
    if (!infos[i].exists) absent_ = name_of(stream);
    FOREBAY_RETURN_IF_ERROR(check_end(stream, infos[i]));
    const bool begins = stream.position == StreamId{} && stream.known_from_first;
    const auto missing =
        begins ? TrimWatch::check_first(infos[i]) : stream.watch.check_position(infos[i], stream.position);
    if (missing) note_gap(stream, *missing);
    stream.checked = true;
  }
  return {};
}

Result<std::vector<StreamInfo>> RedisReader::ask_infos(const std::vector<Stream*>& streams,
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

Result<const RedisReply*> RedisReader::ask_entries(const std::vector<Stream*>& streams, const Limits& limits,
                                                   const std::stop_token& stop) {
  // COUNT applies to each stream and has no limit in bytes, so it follows from the size of earlier
  // entries.
  const uint64_t fitting = limits.bytes / (entry_bytes_ * streams.size());
  const uint64_t count = std::clamp<uint64_t>(fitting, 1, std::max<size_t>(limits.records, 1));
  std::vector<std::string> texts{fmt::format("{}", count), fmt::format("{}", limits.wait.count())};
  for (const Stream* const stream : streams) texts.push_back(stream->position.to_string());
  std::vector<std::string_view> words{"XREAD", "COUNT", texts[0]};
  if (limits.wait.count() > 0) words.insert(words.end(), {"BLOCK", texts[1]});  // 0 would block forever
  words.emplace_back("STREAMS");
  for (const Stream* const stream : streams) words.emplace_back(name_of(*stream));
  words.insert(words.end(), texts.begin() + 2, texts.end());
  RedisCommands commands;
  commands.add(words);
  // The server may delay the reply until then (BLOCK), and needs some time of its own.
  const Deadline deadline = RedisClock::now() + limits.wait + kAnswerLimit;
  FOREBAY_RETURN_IF_ERROR(connection_->send(commands, deadline, stop));
  FOREBAY_ASSIGN(const RedisReply* const reply, connection_->receive(deadline, stop));
  if (reply->is(0, RedisReply::Kind::kError)) return status_of_redis_error(reply->text(0), address_);
  return reply;
}

Result<std::vector<RedisReader::ReadEntries>> RedisReader::take_entries(const RedisReply& reply,
                                                                        std::vector<Stream*>& streams) {
  FOREBAY_ASSIGN(const std::vector<StreamEntries> found, read_entries(reply));
  std::vector<Stream*> given;
  std::vector<ReadEntries> all;
  uint64_t entries = 0;
  for (const StreamEntries& one : found) {
    const auto at = std::ranges::find_if(streams, [&](const Stream* s) { return name_of(*s) == one.stream; });
    if (at == streams.end() || (!one.entries.empty() && one.entries.front().id <= (*at)->position))
      return corrupt("the server's answer to XREAD has what was not asked for");
    if (one.entries.empty()) continue;
    given.push_back(*at);
    ReadEntries& taken = all.emplace_back();
    taken.records.reserve(one.entries.size());
    for (const StreamEntry& entry : one.entries) {
      Buffer payload = entry.last < entry.first ? Buffer() : reply.strings(entry.first, entry.last);
      const std::string id = entry.id.to_string();
      taken.records.push_back({(*at)->partition, id, id, std::move(payload)});
      taken.ids.push_back(entry.id);
    }
    entries += one.entries.size();
  }
  // Follows mostly the last reply, and is never 0, so that large entries after small ones do not
  // come by the thousand.
  if (entries > 0) entry_bytes_ = std::max<uint64_t>((entry_bytes_ + 3 * (reply.bytes() / entries)) / 4, 64);
  streams = std::move(given);
  return all;
}

void RedisReader::note_gap(const Stream& stream, const TrimWatch::Missing& missing) {
  gaps_.push_back({stream.partition, missing.entries, missing.until == StreamId{} ? "" : missing.until.to_string()});
}

}  // namespace forebay
