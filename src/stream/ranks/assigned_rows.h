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

/// The records of this rank's batches that another rank reads: away in the stream, until they are
/// brought.
class AssignedRows final : public AwaitedRecords {
 public:
  /// `log`: as it is, and not as the ranks share it. The stream must live as long.
  AssignedRows(std::shared_ptr<const RecordLog> log, std::shared_ptr<Stream> stream, std::shared_ptr<RecordShelf> shelf,
               int rank, int ranks)
      : log_(std::move(log)), stream_(std::move(stream)), shelf_(std::move(shelf)), rank_(rank), ranks_(ranks) {}

  /// A step of this rank has these, which the stream knows: those of them that are away. What this
  /// rank has read itself nobody else will ask for.
  std::vector<int64_t> missing(std::span<const int64_t> numbers) const;

  int owner(int64_t number) const override;
  int own_rank() const override { return rank_; }
  bool here(std::span<const int64_t> numbers) const override;
  Status lend(int64_t number, const Buffer& bytes) override;
  Status read_here(int64_t number) override;
  Status read_again(int64_t number, const std::stop_token& stop) override;
  bool replacement(int64_t /*number*/) override { return false; }

  /// How others are asked for these.
  std::vector<SharedRow> asked_for(std::span<const int64_t> numbers) const;

 private:
  const std::shared_ptr<const RecordLog> log_;
  const std::shared_ptr<Stream> stream_;
  const std::shared_ptr<RecordShelf> shelf_;
  const int rank_, ranks_;
};

}  // namespace forebay
