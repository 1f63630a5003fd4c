#include "brokers/nats/nats_reader.h"

#include <algorithm>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr std::chrono::seconds kSessionLimit{10};
constexpr std::chrono::milliseconds kFetchWait{50};  ///< the library does not look for stops
// Limit of one request: the library queues received messages without a limit in bytes.
constexpr uint64_t kMaxMessages = 10'000;

Buffer payload_of_message(NatsMessage message) {
  auto* const data = reinterpret_cast<uint8_t*>(const_cast<char*>(natsMsg_GetData(message.get())));
  const auto size = static_cast<size_t>(natsMsg_GetDataLength(message.get()));
  if (size == 0) return {};
  // Makes no copy: the message lives as long as its payload is used.
  return Buffer(data, size, std::shared_ptr<void>(message.release(), [](void* last) {
                  natsMsg_Destroy(static_cast<natsMsg*>(last));
                }));
}

}  // namespace

Status NatsReader::connect(bool again, const std::stop_token& stop) {
  FOREBAY_ASSIGN(session_, NatsSession::open(address_, position_ + 1, Clock::now() + kSessionLimit, stop));
  consumed_ = 0;
  const NatsRange& range = session_->range();
  // Numbers only increase, even if messages are deleted.
  if (range.last < position_)
    return not_found(
        fmt::format("the stream ends at message {}, before {} where reading is to go on: it was made anew, or "
                    "restored from an older copy",
                    range.last, position_));
  // If there is a subject, it is unknown whether the deleted messages had it.
  const bool goes_on = position_ > 0 || known_from_first_;
  if (goes_on && range.first > position_ + 1 && (!again || address_.subject.empty())) note_gap(range.first);
  return {};
}

Status NatsReader::read_round(const std::vector<size_t>&, const Limits& limits, const std::stop_token& stop,
                              std::vector<LogRecord>& out) {
  const uint64_t most = std::clamp<uint64_t>(limits.records, 1, kMaxMessages);
  // A request has no limit in bytes, so the number follows from the size of earlier messages.
  const auto count = static_cast<int>(std::clamp<uint64_t>(limits.bytes / message_bytes_, 1, most));
  const auto wait = std::clamp<std::chrono::milliseconds>(limits.wait, std::chrono::milliseconds(1), kFetchWait);
  FOREBAY_ASSIGN(std::vector<NatsMessage> messages, session_->fetch(count, wait));
  return take(std::move(messages), stop, out);
}

Status NatsReader::take(std::vector<NatsMessage> messages, const std::stop_token& stop, std::vector<LogRecord>& out) {
  out.reserve(out.size() + messages.size());
  for (NatsMessage& message : messages) {
    const char* const reply = natsMsg_GetReply(message.get());
    const auto sequence = NatsSequence::of_reply(reply == nullptr ? "" : reply);
    // The consumer begins after the position and delivers in order (js_AckNone: nothing is
    // delivered twice).
    if (!sequence || sequence->stream <= position_)
      return corrupt("a message that is not of the stream, or not in its order");
    if (sequence->consumer != consumed_ + 1)
      return unavailable("a message was lost on its way; reading begins again behind the last one");
    // Nothing can be missing before the first message.
    if (sequence->stream > position_ + 1 && position_ > 0) FOREBAY_RETURN_IF_ERROR(check_jump(sequence->stream, stop));
    ++consumed_;
    position_ = sequence->stream;
    const auto bytes = static_cast<uint64_t>(natsMsg_GetDataLength(message.get()));
    message_bytes_ = std::max<uint64_t>((message_bytes_ * 7 + bytes) / 8, 64);
    std::string subject = natsMsg_GetSubject(message.get());
    out.push_back({0, fmt::format("{}", position_), std::move(subject), payload_of_message(std::move(message))});
  }
  return {};
}

Status NatsReader::check_jump(uint64_t next, const std::stop_token& stop) {
  // Checked once for each gap: later messages of the same round begin with the same gap.
  if (!address_.subject.empty() || (!gaps_.empty() && gaps_.back().until == fmt::format("{}", next))) return {};
  FOREBAY_ASSIGN(const NatsRange range, session_->range_now(Clock::now() + kSessionLimit, stop));
  if (range.first > position_ + 1) note_gap(std::min(range.first, next));
  return {};
}

void NatsReader::note_gap(uint64_t until) {
  LogGap gap{0, std::nullopt, fmt::format("{}", until)};
  if (address_.subject.empty()) gap.records = static_cast<int64_t>(until - position_ - 1);
  gaps_.push_back(std::move(gap));
  // If gaps are not errors, reading continues after this one.
  position_ = until - 1;
}

}  // namespace forebay
