#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "loader/run/current_steps.h"
#include "stream/step_records.h"
#include "stream/stream.h"
#include "stream/stream_itinerary.h"

namespace forebay {

/// The steps of a plan, one of whose leaves is the log of a stream: draw n of this leaf is record n.
/// So the plan says at which positions records come, and the stream which records these are. A step
/// is known once the records of all ranks in it are decided and those of this rank are here. The
/// steps end before the first position that has no record, because the stream has ended.
///
/// Places of the stream count its draws: the place before draw n is {0, n, 0}. The step source of a
/// StreamPartRun. May be used from any thread.
class StreamPartSteps final : public StepSource {
 public:
  struct Part {
    size_t leaf = 0;  ///< of the plan
    std::shared_ptr<Stream> stream;
    std::shared_ptr<StreamItinerary> numbers;  ///< maps places of the stream to numbers of records
    std::shared_ptr<StepRecords> remote;       ///< null: this rank reads all records itself
  };
  /// `batches`: sizes of a step, for the last records of the stream; its epoch_size is not used.
  StreamPartSteps(std::shared_ptr<CurrentSteps> plan, Part part, const ScheduleOptions& batches, int64_t rank)
      : plan_(std::move(plan)), part_(std::move(part)), batches_(batches), rank_(rank) {}

  /// The place of the stream before the step at `at`.
  Cursor stream_place(const Cursor& at) const { return {0, plan_->next_place(part_.leaf, at).position, 0}; }
  /// Called after a seek of the stream, and after a change of the plan.
  void begin_again();

  int64_t batch_size() const override { return plan_->batch_size(); }
  /// Nothing if no other part and no number of samples ends the epoch before the stream does.
  std::optional<int64_t> batches(const Cursor& at) const override;
  bool epoch_over(const Cursor& at) const override { return plan_->epoch_over(at); }
  bool finished(const Cursor& at) const override;
  bool request_step(const Cursor& at) override;
  void set_awaited(const Cursor& at) override;
  std::optional<StepPlan> step(const Cursor& at) override;
  Status failure() const override { return part_.numbers->failure(); }
  std::string awaited() const override { return part_.numbers->awaited(); }
  int64_t replacements(size_t branch) const override { return plan_->replacements(branch); }
  int64_t replacement(const Row& row, int64_t attempt) const override { return plan_->replacement(row, attempt); }
  std::shared_ptr<const Order> order(size_t branch) const override { return plan_->order(branch); }
  Order::Use next_place(size_t branch, const Cursor& at) const override { return plan_->next_place(branch, at); }
  bool has_pass(size_t branch, int64_t pass) const override { return plan_->has_pass(branch, pass); }

 private:
  struct Records {
    int64_t first = 0, end = 0;
  };
  int64_t number_at(const Cursor& at) const { return part_.numbers->number_at(stream_place(at)); }
  Records records_of(const IndexedItinerary& plan, const Cursor& at) const;
  int64_t size_at(const IndexedItinerary& plan, const Cursor& at) const;
  std::optional<StepPlan> planned(const IndexedItinerary& plan, const Cursor& at) const;
  std::vector<int64_t> own_numbers(const IndexedItinerary& plan, const Cursor& at) const;
  void fetch_ahead(const IndexedItinerary& plan, Cursor at);

  const std::shared_ptr<CurrentSteps> plan_;
  const Part part_;
  const ScheduleOptions batches_;
  const int64_t rank_;
  Mutex mutex_;
  Cursor fetched_ FOREBAY_GUARDED_BY(mutex_);  // remote records of the steps before it were requested
};

}  // namespace forebay
