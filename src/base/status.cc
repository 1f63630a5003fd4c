#include "forebay/status.h"

#include <array>

#include <fmt/format.h>

namespace forebay {

namespace {
// In the order of Code.
constexpr std::array<std::string_view, 11> kNames = {
    "Ok",          "InvalidArgument", "NotFound",      "Corrupt", "Unavailable", "Unsupported",
    "OutOfBudget", "Cancelled",       "StateMismatch", "User",    "Internal"};
const std::string kEmpty;
const std::shared_ptr<void> kNoPayload;
}  // namespace

std::string_view code_name(Code code) { return kNames[static_cast<size_t>(code)]; }

bool is_data_error(Code code) {
  return code == Code::kCorrupt || code == Code::kUnsupported || code == Code::kNotFound || code == Code::kUser;
}

Status::Status(Code code, std::string message) {
  auto detail = std::make_shared<Detail>();
  detail->code = code;
  detail->message = std::move(message);
  detail_ = std::move(detail);
}

const std::string& Status::message() const { return detail_ ? detail_->message : kEmpty; }
const std::string& Status::key() const { return detail_ ? detail_->key : kEmpty; }
const std::string& Status::op() const { return detail_ ? detail_->op : kEmpty; }
const std::shared_ptr<void>& Status::payload() const { return detail_ ? detail_->payload : kNoPayload; }

// Copies of a status share the detail, so it is copied before a change.
Status::Detail& Status::own() {
  auto copy = std::make_shared<Detail>(*detail_);
  Detail& detail = *copy;
  detail_ = std::move(copy);
  return detail;
}

Status&& Status::with_key(std::string key) && {
  // The first caller that sets a key is nearest to the cause; callers further up do not overwrite
  // it. The functions below follow the same rule.
  if (detail_ && detail_->key.empty()) own().key = std::move(key);
  return std::move(*this);
}
Status&& Status::with_operator(std::string name) && {
  if (detail_ && detail_->op.empty()) own().op = std::move(name);
  return std::move(*this);
}
Status&& Status::with_sample(int64_t id) && {
  if (detail_ && !detail_->sample) own().sample = id;
  return std::move(*this);
}
Status&& Status::with_range(ByteRange range) && {
  if (detail_ && !detail_->range) own().range = range;
  return std::move(*this);
}
Status&& Status::with_payload(std::shared_ptr<void> payload) && {
  if (detail_ && !detail_->payload) own().payload = std::move(payload);
  return std::move(*this);
}
Status&& Status::with_bytes_needed(uint64_t bytes) && {
  if (detail_ && detail_->bytes_needed == 0) own().bytes_needed = bytes;
  return std::move(*this);
}

std::string Status::to_string() const {
  if (ok()) return "Ok";
  std::string text = fmt::format("{}: ", code_name(code()));
  if (!key().empty()) text += fmt::format("{}: ", key());
  if (!op().empty()) text += fmt::format("{}: ", op());
  text += message();
  if (range()) text += fmt::format(" (bytes {} to {})", range()->offset, range()->offset + range()->length);
  if (sample()) text += fmt::format(" (sample {})", *sample());
  return text;
}

}  // namespace forebay
