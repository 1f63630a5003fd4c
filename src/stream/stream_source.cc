#include "stream/stream_source.h"

#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {
constexpr uint64_t kExpectedBytes = uint64_t{128} << 10;  // estimate for a file not known yet
// The first number that a record cannot have: a state takes no count above 2^53 (kMaxEpoch), up to
// which a double, and so a JSON number of any reader, is exact.
constexpr int64_t kNumberLimit = int64_t{1} << 53;
}  // namespace

std::shared_ptr<const StreamSource> StreamSource::over(std::shared_ptr<const Stream> stream,
                                                       std::shared_ptr<const ReplayRecords> replay) const {
  auto source = std::make_shared<StreamSource>(log_);
  source->stream_ = std::move(stream);
  source->replay_ = std::move(replay);
  return source;
}

std::shared_ptr<const LogRecord> StreamSource::record(int64_t id) const {
  // A record of the replay buffer is in the stream as well until it is delivered.
  std::shared_ptr<const LogRecord> found = stream_ ? stream_->record(id) : nullptr;
  return found || !replay_ ? found : replay_->record(id);
}

int64_t StreamSource::size() const { return kNumberLimit; }

std::string StreamSource::key(int64_t id) const {
  const std::shared_ptr<const LogRecord> record = this->record(id);
  return record ? log_->place_of(*record) : fmt::format("record {} of {}", id, log_->name());
}

SampleSource::Fetch StreamSource::fetch(int64_t id) const {
  const std::shared_ptr<const LogRecord> record = this->record(id);
  if (record) return log_->fetch(*record).value_or(Fetch{});
  // An estimate, for when no record has arrived, or for a batch that is no longer wanted.
  Fetch unknown;
  unknown.store = log_->store();
  unknown.size = kExpectedBytes;
  return unknown;
}

Status StreamSource::load(int64_t id, Buffer fetched, Record& record) const {
  const std::shared_ptr<const LogRecord> found = this->record(id);
  // Only batches that are no longer wanted read a record that is behind the trainer (delivered), or
  // one that another rank has.
  if (!found || found->remote) return cancelled(fmt::format("record {} of {} is behind", id, log_->name()));
  record.resize(schema().size());
  return log_->load(*found, std::move(fetched), record);
}

}  // namespace forebay
