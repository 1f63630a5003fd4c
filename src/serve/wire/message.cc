#include "serve/wire/message.h"

namespace forebay {

namespace {

struct StatusMessage {
  Code code = Code::kInternal;
  std::string text, key, op;
  std::optional<int64_t> sample;
  std::optional<uint64_t> offset;
  uint64_t length = 0, bytes_needed = 0;
};

template <typename Archive>
void fields(Archive& archive, StatusMessage& value) {
  checked_enum(archive, value.code, Code::kInternal);
  archive(value.text, value.key, value.op, value.sample, value.offset, value.length, value.bytes_needed);
}

}  // namespace

std::string to_message(const Status& status) {
  StatusMessage message{status.code(),        status.message(), status.key(), status.op(), status.sample(), {}, 0,
                        status.bytes_needed()};
  if (status.range()) {
    message.offset = status.range()->offset;
    message.length = status.range()->length;
  }
  return to_message<StatusMessage>(message);
}

Status status_from_message(std::string_view bytes) {
  const Result<StatusMessage> message = from_message<StatusMessage>(bytes);
  if (!message.ok()) return message.status();
  if (message->code == Code::kOk) return {};
  Status status(message->code, message->text);
  if (!message->key.empty()) status = std::move(status).with_key(message->key);
  if (!message->op.empty()) status = std::move(status).with_operator(message->op);
  if (message->sample) status = std::move(status).with_sample(*message->sample);
  if (message->offset) status = std::move(status).with_range({*message->offset, message->length});
  if (message->bytes_needed > 0) status = std::move(status).with_bytes_needed(message->bytes_needed);
  return status;
}

}  // namespace forebay
