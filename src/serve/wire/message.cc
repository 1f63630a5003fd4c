#include "serve/wire/message.h"

#include <cstring>

#include "serve/wire/portable_object.h"

namespace forebay {

namespace {

struct StatusMessage {
  Code code = Code::kInternal;
  std::string text, key, op;
  std::optional<int64_t> sample;
  std::optional<uint64_t> offset;
  uint64_t length = 0, bytes_needed = 0;
  std::string payload = {};
};

template <typename Archive>
void fields(Archive& archive, StatusMessage& value) {
  checked_enum(archive, value.code, Code::kInternal);
  archive(value.text, value.key, value.op, value.sample, value.offset, value.length, value.bytes_needed, value.payload);
}

std::string_view bytes_of(const PortableObject& object) {
  return {reinterpret_cast<const char*>(object.bytes.buffer.data()), object.bytes.nbytes()};
}

}  // namespace

std::shared_ptr<PortableObject> portable_object(std::string_view bytes) {
  Tensor tensor = Tensor::allocate(DType::kUint8, Shape{static_cast<int64_t>(bytes.size())});
  if (!bytes.empty()) std::memcpy(tensor.buffer.data(), bytes.data(), bytes.size());
  return std::make_shared<PortableObject>(PortableObject{std::move(tensor)});
}

std::string to_message(const Status& status) {
  StatusMessage message{status.code(),        status.message(), status.key(), status.op(), status.sample(), {}, 0,
                        status.bytes_needed()};
  if (status.range()) {
    message.offset = status.range()->offset;
    message.length = status.range()->length;
  }
  if (status.payload()) message.payload = bytes_of(*static_cast<const PortableObject*>(status.payload().get()));
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
  if (!message->payload.empty()) status = std::move(status).with_payload(portable_object(message->payload));
  return status;
}

}  // namespace forebay
