#pragma once

#include <atomic>
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

/// The steps of a plan, some of whose leaves are logs of streams: draw n of such a leaf is record n.
/// So the plan says at which positions records come, and the streams which records these are. A step
/// is known once the records of all ranks in it are decided and those of this rank are here. The
/// steps end before the first position that has no record, because its stream has ended.
///
/// Places of a stream count its draws: the place before draw n is {0, n, 0}. The step source of a
/// StreamPartRun. May be used from any thread.
class StreamPartSteps final : public StepSource {
 public:
  struct Part {
    size_t leaf = 0;  ///< of the plan
    std::shared_ptr<Stream> stream;
    std::shared_ptr<StreamItinerary> numbers;  ///< maps places of the stream to numbers of records
    std::shared_ptr<StepRecords> remote;       ///< null: this rank reads all records itself
  };
  /// `batches`: sizes of a step, for the last records of a stream; its epoch_size is not used.
  StreamPartSteps(std::shared_ptr<CurrentSteps> plan, std::vector<Part> parts, const ScheduleOptions& batches,
                  int64_t rank)
      : plan_(std::move(plan)), parts_(std::move(parts)), batches_(batches), rank_(rank), fetched_(parts_.size()) {}

  /// The place of the stream of a leaf before the step at `at`.
  Cursor stream_place(size_t leaf, const Cursor& at) const { return {0, plan_->next_place(leaf, at).position, 0}; }
  /// Called after a seek of the streams, and after a change of the plan.
  void begin_again();

  int64_t batch_size() const override { return plan_->batch_size(); }
  /// Nothing if no other part and no number of samples ends the epoch before a stream does.
  std::optional<int64_t> batches(const Cursor& at) const override;
  bool epoch_over(const Cursor& at) const override { return plan_->epoch_over(at); }
  bool finished(const Cursor& at) const override;
  bool request_step(const Cursor& at) override;
  void set_awaited(const Cursor& at) override;
  /// False as long as a stream that waits for its records lacks some of the step.
  bool decide_now(const Cursor& at) override;
  std::optional<StepPlan> step(const Cursor& at) override;
  Status failure() const override;
  std::string awaited() const override;
  int64_t replacements(size_t branch) const override { return plan_->replacements(branch); }
  int64_t replacement(const Row& row, int64_t attempt) const override { return plan_->replacement(row, attempt); }
  std::shared_ptr<const Order> order(size_t branch) const override { return plan_->order(branch); }
  Order::Use next_place(size_t branch, const Cursor& at) const override { return plan_->next_place(branch, at); }
  bool has_pass(size_t branch, int64_t pass) const override { return plan_->has_pass(branch, pass); }

 private:
  struct Records {
    int64_t first = 0, end = 0;
  };
  static int64_t number_at(const Part& part, const IndexedItinerary& plan, const Cursor& at) {
    return part.numbers->number_at({0, plan.next_place(part.leaf, at).position, 0});
  }
  bool finished(const IndexedItinerary& plan, const Cursor& at) const;
  static bool is_late(const Part& part, const Records& records);
  Records records_of(const Part& part, const IndexedItinerary& plan, const Cursor& at) const;
  int64_t size_at(const IndexedItinerary& plan, const Cursor& at) const;
  std::optional<StepPlan> planned(const IndexedItinerary& plan, const Cursor& at) const;
  std::vector<int64_t> own_numbers(const Part& part, const IndexedItinerary& plan, const Cursor& at) const;
  bool request_records(const Part& part, const IndexedItinerary& plan, const Cursor& at, uint64_t beginnings);
  void fetch_ahead(const Part& part, const IndexedItinerary& plan, Cursor at, uint64_t beginnings);

  const std::shared_ptr<CurrentSteps> plan_;
  const std::vector<Part> parts_;
  const ScheduleOptions batches_;
  const int64_t rank_;
  std::atomic<uint64_t> beginnings_ = 0;  // number of calls of begin_again()
  mutable Mutex mutex_;
  Cursor awaited_ FOREBAY_GUARDED_BY(mutex_);  // place of set_awaited()
  // Of each part: remote records of the steps before that place were requested.
  std::vector<Cursor> fetched_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
