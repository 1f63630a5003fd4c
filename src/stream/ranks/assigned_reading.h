#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "stream/ranks/assigned_log.h"
#include "stream/ranks/assigned_rows.h"
#include "stream/ranks/decisions.h"
#include "stream/ranks/record_exchange.h"
#include "stream/ranks/record_shelf.h"
#include "stream/step_records.h"
#include "stream/stream.h"

namespace forebay {

/// How the ranks of a job read one log together: each partition is read by one rank, which tells
/// the others what came, and each record goes to the rank that has it in a batch. Whatever a rank
/// does not get from another it reads from the log.
class AssignedReading final : public StepRecords {
 public:
  /// `limits`: of what is kept for ranks that are behind.
  AssignedReading(std::shared_ptr<const RecordLog> log, std::shared_ptr<Decisions> ranks, RecordShelf::Limits limits);
  ~AssignedReading() override { close(); }

  /// The log that the stream reads in place of the whole one.
  std::shared_ptr<const RecordLog> log() const { return shared_log_; }
  /// The stream of that log. Before it seeks.
  void attach(std::shared_ptr<Stream> stream);
  /// Who is told when records have come. Before the first bring().
  void on_arrival(std::function<void()> arrived);

  void bring(std::span<const int64_t> numbers) override;
  bool here(std::span<const int64_t> numbers) const override { return rows_->here(numbers); }
  std::string awaited() const override { return exchange_->awaited(); }

  /// Before the stream seeks, behind Decisions::begin_anew().
  void begin_anew() { exchange_->begin_anew(); }
  void close();

  std::shared_ptr<ReclaimableMemory> bytes() const { return shelf_->bytes(); }
  RecordExchange::Stats stats() const { return exchange_->stats(); }

 private:
  const std::shared_ptr<const RecordLog> log_;
  const std::shared_ptr<Decisions> ranks_;
  const std::shared_ptr<RecordShelf> shelf_;
  const std::shared_ptr<const RecordLog> shared_log_;
  std::shared_ptr<Stream> stream_;
  std::shared_ptr<AssignedRows> rows_;
  std::unique_ptr<RecordExchange> exchange_;
};

}  // namespace forebay
