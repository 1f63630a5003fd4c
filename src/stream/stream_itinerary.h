#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "pipeline/itinerary.h"
#include "stream/step_records.h"
#include "stream/stream.h"

namespace forebay {

struct StreamItineraryOptions {
  int64_t batch_size = 1;  ///< per rank
  int64_t world_size = 1;
  int64_t rank = 0;
  std::optional<int64_t> steps_per_epoch = {};  ///< without it the first epoch has no end
  std::optional<int64_t> epochs = {};
  LastPolicy last = LastPolicy::kPartial;  ///< for the records that remain where a log ends
};

/// The steps of a stream: each global batch is the next batch_size × world_size records. A step is
/// known as soon as its records are decided and, if the ranks read the log together, those of this
/// rank have arrived. The step source of a StreamRun. May be used from any thread.
class StreamItinerary final : public StepSource {
 public:
  StreamItinerary(std::shared_ptr<Stream> stream, const StreamItineraryOptions& options);

  /// Sets the records that other ranks read for this one, if the ranks read the log together.
  /// Called before the first step().
  void set_records(std::shared_ptr<StepRecords> records) { records_ = std::move(records); }
  /// Maps the place `at` of the run to the stream's record `number`. Called before the first step()
  /// after a seek of the stream.
  void set_anchor(const Cursor& at, int64_t number);
  /// The number of the first record of the step at a place.
  int64_t number_at(const Cursor& at) const;
  /// The place itself, or the beginning of the next epoch if this epoch has no steps left.
  Cursor normalized(const Cursor& at) const;

  int64_t global_batch() const { return global_batch_; }
  int64_t batch_size() const override { return options_.batch_size; }
  std::optional<int64_t> batches(const Cursor&) const override { return options_.steps_per_epoch; }
  bool epoch_over(const Cursor& at) const override { return !(normalized(at) == at); }
  bool finished(const Cursor& at) const override;
  bool request_step(const Cursor& at) override;
  void set_awaited(const Cursor& at) override;
  bool decide_now(const Cursor& at) override;
  std::optional<StepPlan> step(const Cursor& at) override;
  Status failure() const override;
  std::string awaited() const override;
  /// A record's number in the stream is its index, and its id.
  int64_t replacements(size_t) const override { return 0; }
  int64_t replacement(const Row& row, int64_t) const override { return row.id; }

  /// The number of records in the step that begins with that record: fewer near the stream's end,
  /// and 0 if there is no such step.
  int64_t size_at(int64_t number) const;

 private:
  std::vector<int64_t> own_numbers(int64_t first) const;
  void fetch_ahead(int64_t first);

  const std::shared_ptr<Stream> stream_;
  const StreamItineraryOptions options_;
  const int64_t global_batch_;
  mutable Mutex mutex_;
  Cursor anchor_ FOREBAY_GUARDED_BY(mutex_);              // see set_anchor()
  int64_t anchor_number_ FOREBAY_GUARDED_BY(mutex_) = 0;  // the stream's record at `anchor_`
  std::shared_ptr<StepRecords> records_;                  // null: this rank reads all records itself
  int64_t fetch_end_ FOREBAY_GUARDED_BY(mutex_) = 0;      // records of steps that begin below it were requested
};

/// Adds to a step its rows of `branch` for which no record came in time: their numbers, which are
/// their ids, are among `missing`, the ascending numbers of such rows on all ranks.
void add_missing_rows(std::span<const int64_t> missing, size_t branch, StepPlan& plan);

}  // namespace forebay
