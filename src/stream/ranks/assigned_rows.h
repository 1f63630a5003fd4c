#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stream/awaited_records.h"
#include "stream/ranks/assigned_log.h"
#include "stream/ranks/record_shelf.h"
#include "stream/stream.h"

namespace forebay {

/// The records of this rank's batches that another rank reads. They are remote in the stream
/// (LogRecord::away) until RecordExchange brings them. May be used from any thread.
class AssignedRows final : public AwaitedRecords {
 public:
  /// `log`: the original log, not the AssignedLog over it.
  AssignedRows(std::shared_ptr<const RecordLog> log, std::shared_ptr<Stream> stream, std::shared_ptr<RecordShelf> shelf,
               int rank, int ranks)
      : log_(std::move(log)), stream_(std::move(stream)), shelf_(std::move(shelf)), rank_(rank), ranks_(ranks) {}

  /// Returns which of these records, of a step of this rank, are remote. The others were read by
  /// this rank; they leave the shelf, since no other rank will request them.
  std::vector<int64_t> missing(std::span<const int64_t> numbers) const;

  int owner(int64_t number) const override;
  int own_rank() const override { return rank_; }
  bool here(std::span<const int64_t> numbers) const override;
  Status lend(int64_t number, const Buffer& bytes) override;
  Status read_here(int64_t number) override;
  Status read_again(int64_t number, const std::stop_token& stop) override;
  bool replacement(int64_t /*number*/) override { return false; }

  /// The names of these records in requests to other ranks.
  std::vector<SharedRow> asked_for(std::span<const int64_t> numbers) const;

 private:
  const std::shared_ptr<const RecordLog> log_;
  const std::shared_ptr<Stream> stream_;
  const std::shared_ptr<RecordShelf> shelf_;
  const int rank_, ranks_;
};

}  // namespace forebay
