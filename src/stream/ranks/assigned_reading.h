#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "stream/awaited_records.h"
#include "stream/ranks/assigned_log.h"
#include "stream/ranks/record_exchange.h"
#include "stream/ranks/record_shelf.h"
#include "stream/ranks/stream_group.h"
#include "stream/step_records.h"
#include "stream/stream.h"

namespace forebay {

/// Lets the ranks of a job read one log together, so that a broker sends every record once. One
/// rank reads each partition and sends notes of its records to the others. The payload of a record
/// goes only to the rank that has the record in a batch. A rank reads a record from the log itself
/// if it does not get the record from another rank.
///
/// Owned by a StreamRun, which attaches the stream before the stream starts, and calls close() at
/// the end. A StreamItinerary calls the methods of StepRecords. The records of this rank's batches
/// that another rank reads are remote in the stream (LogRecord::remote) until the thread of
/// RecordExchange, which calls the methods of AwaitedRecords, has fetched them.
class AssignedReading final : public StepRecords, public AwaitedRecords {
 public:
  /// `limits`: bytes of records and notes that wait for slower ranks.
  AssignedReading(std::shared_ptr<const RecordLog> log, std::shared_ptr<StreamGroup> group, RecordShelf::Limits limits);
  ~AssignedReading() override { close(); }

  /// The log that the stream reads instead of the original one.
  std::shared_ptr<const RecordLog> log() const { return shared_log_; }
  /// Sets the stream that reads log(). Call it before the stream seeks.
  void attach(std::shared_ptr<Stream> stream);
  /// Sets the function that is called when records have arrived. Call it before the first
  /// start_fetch().
  void on_arrival(std::function<void()> arrived);

  /// Begins to fetch the remote ones of these records. The others leave the shelf, since no other
  /// rank will request them.
  void start_fetch(std::span<const int64_t> numbers) override;
  bool all_available(std::span<const int64_t> numbers) const override;
  std::string awaited() const override { return exchange_->awaited(); }

  int owner(int64_t number) const override;
  int own_rank() const override { return group_->rank(); }
  Status receive(int64_t number, const Buffer& bytes) override;
  /// Does nothing: no remote record is on this rank's disk.
  Status read_from_disk(int64_t /*number*/) override { return {}; }
  Status read_from_log(int64_t number, const std::stop_token& stop) override;
  bool replace(int64_t /*number*/) override { return false; }

  /// Begins another run. Call it after StreamGroup::begin_run() and before the stream seeks.
  void begin_run() { exchange_->begin_run(); }
  /// Ends the thread of the exchange.
  void close();

  /// The memory of the records and notes that wait for other ranks.
  std::shared_ptr<ReclaimableMemory> memory() const { return shelf_->memory(); }
  RecordExchange::Stats stats() const { return exchange_->stats(); }

 private:
  std::vector<RankItem> record_items(std::span<const int64_t> numbers) const;

  const std::shared_ptr<const RecordLog> log_;
  const std::shared_ptr<StreamGroup> group_;
  const std::shared_ptr<RecordShelf> shelf_;
  const std::shared_ptr<const RecordLog> shared_log_;
  std::shared_ptr<Stream> stream_;
  std::unique_ptr<RecordExchange> exchange_;
};

}  // namespace forebay
