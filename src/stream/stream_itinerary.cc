#include "stream/stream_itinerary.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "plan/equal_batches.h"

namespace forebay {

namespace {
constexpr int64_t kStepsFetchedAhead = 8;  // how many steps ahead records of other ranks are fetched
}  // namespace

StreamItinerary::StreamItinerary(std::shared_ptr<Stream> stream, const StreamItineraryOptions& options)
    : stream_(std::move(stream)), options_(options), global_batch_(options.batch_size * options.world_size) {}

void StreamItinerary::set_anchor(const Cursor& at, int64_t number) {
  const Lock lock(mutex_);
  anchor_ = at;
  anchor_number_ = fetch_end_ = number;
}

Cursor StreamItinerary::normalized(const Cursor& at) const {
  // Each place has one form: the end of an epoch is the beginning of the next one.
  const bool over = options_.steps_per_epoch && at.step >= *options_.steps_per_epoch;
  return over ? Cursor{at.epoch + 1, 0, 0} : at;
}

int64_t StreamItinerary::number_at(const Cursor& requested) const {
  const Cursor at = normalized(requested);
  const Lock lock(mutex_);
  const Cursor anchor = normalized(anchor_);
  // Positions count samples, and the samples of all ranks in a step are consecutive records.
  if (at.epoch == anchor.epoch) return anchor_number_ + at.position - anchor.position;
  // Only an epoch with an end is followed by another.
  const int64_t steps = options_.steps_per_epoch.value_or(0);
  const int64_t between = steps - anchor.step + (at.epoch - anchor.epoch - 1) * steps;
  return anchor_number_ + between * global_batch_ + at.position;
}

int64_t StreamItinerary::size_at(int64_t number) const {
  const std::optional<int64_t> end = stream_->end();
  const int64_t left = end ? std::max<int64_t>(*end - number, 0) : global_batch_;
  if (left >= global_batch_) return global_batch_;
  return options_.last == LastPolicy::kDrop ? 0 : left;
}

bool StreamItinerary::finished(const Cursor& at) const {
  if (options_.epochs && normalized(at).epoch >= *options_.epochs) return true;
  return stream_->end() && size_at(number_at(at)) == 0;
}

bool StreamItinerary::request_step(const Cursor& at) {
  const int64_t first = number_at(at);
  if (!stream_->request(first + global_batch_)) return false;
  if (!records_) return true;
  fetch_ahead(first);
  return records_->all_available(own_numbers(first));
}

// The numbers of this rank's records in the step that begins with record `first`.
std::vector<int64_t> StreamItinerary::own_numbers(int64_t first) const {
  std::vector<int64_t> numbers;
  const int64_t size = size_at(first);
  if (size == 0) return numbers;
  std::vector<Row> rows;
  EqualBatches({size, options_.batch_size, options_.world_size, options_.last}).rows({0, 0}, options_.rank, &rows);
  for (const Row& row : rows) numbers.push_back(first + row.position);
  return numbers;
}

// Fetches this rank's records of the next decided steps, too, so that these need no request each.
void StreamItinerary::fetch_ahead(int64_t first) {
  const int64_t until = std::min(stream_->decided(), first + kStepsFetchedAhead * global_batch_);
  std::vector<int64_t> numbers;
  {
    const Lock lock(mutex_);
    // Only whole steps: the rest of a step may be in a decision that is not made yet.
    for (fetch_end_ = std::max(fetch_end_, first); fetch_end_ + size_at(fetch_end_) <= until;
         fetch_end_ += global_batch_) {
      const std::vector<int64_t> own = own_numbers(fetch_end_);
      if (own.empty()) break;
      numbers.insert(numbers.end(), own.begin(), own.end());
    }
  }
  records_->start_fetch(numbers);
}

Status StreamItinerary::failure() const {
  Status failure = stream_->failure();
  // The code that finds a corrupt record does not know the log.
  return failure.code() == Code::kCorrupt ? std::move(failure).with_key(stream_->log().name()) : failure;
}

std::string StreamItinerary::awaited() const {
  const std::string remote = records_ ? records_->awaited() : "";
  return remote.empty() ? stream_->awaited() : remote;
}

std::optional<StepPlan> StreamItinerary::step(const Cursor& requested) {
  // request_step() comes before size_at(): by then the stream's end is known if it is near.
  if (finished(requested) || !request_step(requested)) return std::nullopt;
  StepPlan plan;
  plan.at = normalized(requested);
  const int64_t size = size_at(number_at(plan.at));
  if (size == 0) return std::nullopt;
  plan.after = normalized({plan.at.epoch, plan.at.position + size, plan.at.step + 1});
  // The few records before a log's end are assigned to ranks like the last ones of an epoch.
  const EqualBatches schedule({size, options_.batch_size, options_.world_size, options_.last});
  schedule.rows({plan.at.epoch, 0}, options_.rank, &plan.rows);
  const int64_t first = number_at(plan.at);
  for (Row& row : plan.rows) {
    row.id = first + row.position;
    row.pass = plan.at.epoch;
    row.position += plan.at.position;
  }
  add_missing_rows(stream_->missing(first, first + size), 0, plan);
  return plan;
}

void StreamItinerary::set_awaited(const Cursor& at) {
  if (!finished(at)) stream_->set_awaited(number_at(at) + global_batch_);
}

bool StreamItinerary::decide_now(const Cursor& at) {
  if (finished(at)) return false;
  return stream_->decide_now(number_at(at) + global_batch_);
}

void add_missing_rows(std::span<const int64_t> missing, size_t branch, StepPlan& plan) {
  for (size_t row = 0; !missing.empty() && row < plan.rows.size(); ++row) {
    if (plan.rows[row].branch != branch) continue;
    const int64_t number = plan.rows[row].id;
    // The index among the missing rows of all ranks: each draw replaces the row of its index.
    const auto found = std::lower_bound(missing.begin(), missing.end(), number);
    if (found != missing.end() && *found == number)
      plan.missing_rows.push_back({row, plan.missing_rows_of_all + (found - missing.begin())});
  }
  plan.missing_rows_of_all += static_cast<int64_t>(missing.size());
}

}  // namespace forebay
