#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "stream/ranks/rank_messages.h"
#include "stream/ranks/record_shelf.h"
#include "stream/record_log.h"
#include "stream/stream_clock.h"

namespace forebay {

/// A log that the ranks of a job read together. One rank reads each partition and sends notes of
/// its records to the others, whose readers return them without payload (LogRecord::remote). A broker
/// thus sends every record once. If the rank that reads a partition is gone, does not answer, or
/// has dropped notes that this rank has not fetched, this rank reads the partition itself, after
/// the last record that it knows.
///
/// Immutable, apart from the flags of warnings that were logged; may be used from any thread. It
/// shares the shelf with the service that answers other ranks.
class AssignedLog final : public RecordLog {
 public:
  /// Requests notes (RankRequest::Kind::kNotes) from a rank and waits for the answer.
  using Ask = std::function<Result<std::vector<ResponseItem>>(int rank, std::vector<RankItem> wanted,
                                                              const std::stop_token& stop)>;

  AssignedLog(std::shared_ptr<const RecordLog> log, int rank, int ranks, std::shared_ptr<RecordShelf> shelf, Ask ask,
              StreamClock& clock = StreamClock::real())
      : log_(std::move(log)), rank_(rank), ranks_(ranks), shelf_(std::move(shelf)), ask_(std::move(ask)), clock_(clock),
        warned_(std::make_shared<Warned>(static_cast<size_t>(ranks))) {}

  /// For each rank, whether the warning that its partitions are read here was logged. Shared by all
  /// readers, which are made anew for each run.
  using Warned = std::vector<std::atomic<bool>>;
  /// The rank that reads a partition.
  static int reader_of(size_t partition, int ranks) { return static_cast<int>(partition % static_cast<size_t>(ranks)); }

  const Schema& schema() const override { return log_->schema(); }
  const std::vector<std::string>& partitions() const override { return log_->partitions(); }
  std::string identity() const override { return log_->identity(); }
  std::string name() const override { return log_->name(); }
  std::vector<std::vector<size_t>> readers() const override;
  Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const override;
  Result<std::vector<std::string>> ends(std::stop_token stop) const override { return log_->ends(std::move(stop)); }
  int compare(const std::string& a, const std::string& b) const override { return log_->compare(a, b); }
  Status check_offset(const std::string& offset) const override { return log_->check_offset(offset); }
  Store* store() const override { return log_->store(); }
  std::optional<SampleSource::Fetch> fetch(const LogRecord& record) const override { return log_->fetch(record); }
  Status load(const LogRecord& record, Buffer fetched, Record& out) const override {
    return log_->load(record, std::move(fetched), out);
  }

 private:
  const std::shared_ptr<const RecordLog> log_;
  const int rank_, ranks_;
  const std::shared_ptr<RecordShelf> shelf_;
  const Ask ask_;
  StreamClock& clock_;
  const std::shared_ptr<Warned> warned_;
};

}  // namespace forebay
