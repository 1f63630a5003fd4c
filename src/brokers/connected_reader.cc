#include "brokers/connected_reader.h"

#include <utility>

#include <fmt/format.h>

namespace forebay {

Status ConnectedReader::poll(const std::vector<size_t>& wanted, const Limits& limits, const std::stop_token& stop,
                             std::vector<LogRecord>& records) {
  if (!is_connected() && clock_.now() < try_again_) return {};
  Status status;
  if (!is_connected()) {
    status = connect(was_connected_, stop);
    if (is_connected() && std::exchange(was_connected_, true)) ++reconnects_;
  }
  if (status.ok()) status = read_round(wanted, limits, stop, records);
  if (status.ok()) {
    trouble_.clear();
    backoff_.reset();
    return {};
  }
  disconnect();
  if (status.code() != Code::kUnavailable) return std::move(status).with_key(log_);
  trouble_ = fmt::format("{}: {}", server_, status.message());
  try_again_ = clock_.now() + backoff_.next();
  return {};
}

}  // namespace forebay
