#pragma once

#include <memory>
#include <string>

#include "base/source.h"
#include "stream/replay_records.h"
#include "stream/stream.h"

namespace forebay {

/// A log as a source of samples. It has no number of samples: a Stream over the log determines
/// which there are. Immutable; may be used from any thread.
class StreamSource final : public SampleSource {
 public:
  explicit StreamSource(std::shared_ptr<const RecordLog> log) : log_(std::move(log)) {}

  const std::shared_ptr<const RecordLog>& log() const { return log_; }
  /// A source that reads the records of `stream`: sample `id` is the record of that number, while
  /// it is known and not delivered. Records in `replay`, the replay buffer, can be read for longer.
  std::shared_ptr<const StreamSource> over(std::shared_ptr<const Stream> stream,
                                           std::shared_ptr<const ReplayRecords> replay) const;

  const Schema& schema() const override { return log_->schema(); }
  /// Larger than any record number: a stream has no size.
  int64_t size() const override;
  Hash128 version() const override { return hash128(log_->identity()); }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t id) const override;
  Fetch fetch(int64_t id) const override;
  /// Cancelled if the record is delivered already, which only happens for batches that are no
  /// longer wanted.
  Status load(int64_t id, Buffer fetched, Record& record) const override;

 private:
  std::shared_ptr<const LogRecord> record(int64_t id) const;

  const std::shared_ptr<const RecordLog> log_;
  std::shared_ptr<const Stream> stream_;
  std::shared_ptr<const ReplayRecords> replay_;
};

}  // namespace forebay
