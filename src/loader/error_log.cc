#include "loader/error_log.h"

#include <cmath>

#include <fmt/format.h>

namespace forebay {

Status ErrorLog::add(const RowError& error) {
  ++total_;
  const auto [found, fresh] = index_.try_emplace({error.id, error.status.op()}, entries_.size());
  if (!fresh) {
    ++entries_[found->second].count;
  } else if (entries_.size() < kMaxEntries) {
    entries_.push_back({error.id, error.status.key(), error.status.op(), std::string(code_name(error.status.code())),
                        error.status.message(), 1});
  } else {
    index_.erase(found);
  }
  if (!limit_ || total_ <= *limit_) return {};
  Status status(error.status.code(),
                fmt::format("{} (error number {}; max_errors allows {})", error.status.message(), total_, *limit_));
  status = std::move(status).with_key(error.status.key()).with_operator(error.status.op()).with_sample(error.id);
  return error.status.payload() ? std::move(status).with_payload(error.status.payload()) : status;
}

Result<std::optional<int64_t>> error_limit(std::optional<double> max_errors, int64_t size) {
  if (!max_errors) return std::optional<int64_t>();
  if (!(*max_errors >= 0))
    return invalid_argument(fmt::format("max_errors={} is negative; give a count, or a share below 1", *max_errors));
  const double count = *max_errors < 1 ? *max_errors * static_cast<double>(size) : *max_errors;
  return std::optional<int64_t>(static_cast<int64_t>(std::floor(std::min(count, 9e18))));
}

}  // namespace forebay
