#include "plan/bucketed_batches.h"

#include <algorithm>
#include <utility>

#include "plan/divided_batches.h"
#include "plan/equal_part.h"

namespace forebay {

namespace {

constexpr int64_t kMaxWindow = int64_t{1} << 20;

// An upper bound of the rows of a batch.
int64_t bound_of_rows(const PlanNode& plan, std::span<const SampleLengths> lengths, const BucketingOptions& options) {
  const int64_t rows =
      options.repeats ? most_rows_with_repeats(options.rules, lengths) : most_rows(options.rules, lengths);
  return std::max<int64_t>(std::min({rows, 2 * options.window, plan.size()}), 1);
}

}  // namespace

int64_t window_of_groups(const BucketRules& rules, std::span<const SampleLengths> lengths, int64_t group,
                         int64_t groups) {
  const int64_t rows = mean_rows(rules, lengths);
  // Divides, so that the product cannot overflow.
  if (rows > kMaxWindow / groups / group) return kMaxWindow;
  return rows * group * groups;
}

BucketedBatches::BucketedBatches(std::shared_ptr<const PlanNode> plan, std::vector<SampleLengths> lengths,
                                 BucketingOptions options, int64_t world_size)
    : plan_(std::move(plan)), lengths_(std::move(lengths)), options_(std::move(options)),
      key_(PermutationKey::root(options_.seed, PermutationKey::Use::kBuckets)), world_size_(world_size),
      windows_(std::max<int64_t>(plan_->size() / options_.window, 1)),
      most_rows_(bound_of_rows(*plan_, lengths_, options_)) {}

int64_t BucketedBatches::steps_left(const Order::Use& at) const {
  if (!has_step(at)) return 0;
  const auto first = window_holding(at.epoch, at.position);
  const std::vector<uint32_t>& begins = first->window.begins;
  const auto next = std::ranges::upper_bound(begins, static_cast<uint32_t>(at.position - first->begin));
  int64_t batches = begins.end() - next;
  for (int64_t number = first->number + 1; number < windows_; ++number) batches += batches_in(at.epoch, number);
  return (batches + world_size_ - 1) / world_size_;
}

int64_t BucketedBatches::next_position(const Order::Use& at) const {
  return has_step(at) ? ends_of_batches(at).back() : plan_->size();
}

void BucketedBatches::rows(const Order::Use& at, int64_t rank, std::vector<Row>* out) const {
  out->clear();
  if (!has_step(at)) return;
  const std::vector<int64_t> ends = ends_of_batches(at);
  if (rank < std::ssize(ends)) {
    const auto own = static_cast<size_t>(rank);
    for (int64_t position = own == 0 ? at.position : ends[own - 1]; position < ends[own]; ++position)
      out->push_back({position, 0, false});
    return;
  }
  // The epoch ends with fewer samples than ranks. Each position has been used once, so its first
  // repeat has occurrence 1.
  const int64_t repeat = rank - std::ssize(ends);
  out->push_back({repeat % plan_->size(), static_cast<int32_t>(1 + repeat / plan_->size()), true});
}

// The ends of the batches of a step, by rank. There are fewer than ranks only if the epoch has
// fewer samples left.
std::vector<int64_t> BucketedBatches::ends_of_batches(const Order::Use& at) const {
  std::vector<int64_t> ends;
  for (int64_t position = at.position; position < plan_->size() && std::ssize(ends) < world_size_;) {
    const auto planned = window_holding(at.epoch, position);
    const std::vector<uint32_t>& begins = planned->window.begins;
    auto end = std::ranges::upper_bound(begins, static_cast<uint32_t>(position - planned->begin));
    for (; end != begins.end() && std::ssize(ends) < world_size_; ++end) ends.push_back(planned->begin + *end);
    position = ends.back();
  }
  return std::ssize(ends) < world_size_ ? divide_batches(at.position, ends, world_size_) : ends;
}

void BucketedBatches::to_plan_positions(int64_t epoch, std::span<int64_t> positions) const {
  std::shared_ptr<const Planned> planned;
  for (int64_t& position : positions) {
    if (!planned || position < planned->begin || position >= planned->end()) planned = window_holding(epoch, position);
    position = planned->begin + planned->window.samples[static_cast<size_t>(position - planned->begin)];
  }
}

int64_t BucketedBatches::first_plan_position(const Order::Use& at) const {
  if (!has_step(at)) return at.position;
  return equal_part(plan_->size(), windows_, part_with(at.position, plan_->size(), windows_)).begin;
}

std::shared_ptr<const BucketedBatches::Planned> BucketedBatches::window_holding(int64_t epoch, int64_t position) const {
  return window(epoch, part_with(position, plan_->size(), windows_));
}

// The lock is not held to plan: two threads may plan the same window.
std::shared_ptr<const BucketedBatches::Planned> BucketedBatches::window(int64_t epoch, int64_t number) const {
  {
    const Lock lock(mutex_);
    for (const auto& each : recent_)
      if (each && each->epoch == epoch && each->number == number) return each;
  }
  auto planned = plan(epoch, number);
  const Lock lock(mutex_);
  std::rotate(recent_.begin(), recent_.end() - 1, recent_.end());
  recent_.front() = planned;
  return planned;
}

std::shared_ptr<const BucketedBatches::Planned> BucketedBatches::plan(int64_t epoch, int64_t number) const {
  const EqualPart part = equal_part(plan_->size(), windows_, number);
  BucketWindow window = plan_window(lengths_of(epoch, part.begin, part.length), options_.rules, options_.group,
                                    key_.child(epoch).child(number));
  const Lock lock(mutex_);
  if (counted_epoch_ == epoch) counts_[static_cast<size_t>(number)] = static_cast<uint32_t>(window.batches());
  return std::make_shared<const Planned>(Planned{epoch, number, part.begin, std::move(window)});
}

std::vector<float> BucketedBatches::lengths_of(int64_t epoch, int64_t begin, int64_t count) const {
  std::vector<float> lengths(static_cast<size_t>(count));
  std::array<Draw, 256> draws;
  std::array<const float*, draws.size()> places;
  for (std::span<float> left(lengths); !left.empty();) {
    const std::span<float> some = left.first(std::min(left.size(), draws.size()));
    plan_->draws(epoch, begin, std::span(draws).first(some.size()));
    // The lengths of a shuffled epoch are cache misses, of which several can be under way at once.
    for (size_t i = 0; i < some.size(); ++i) {
      places[i] = lengths_[static_cast<size_t>(draws[i].leaf)]->data() + draws[i].index;
      __builtin_prefetch(places[i]);
    }
    for (size_t i = 0; i < some.size(); ++i) some[i] = *places[i];
    begin += static_cast<int64_t>(some.size());
    left = left.subspan(some.size());
  }
  return lengths;
}

int64_t BucketedBatches::batches_in(int64_t epoch, int64_t number) const {
  {
    const Lock lock(mutex_);
    if (counted_epoch_ != epoch) {
      counted_epoch_ = epoch;
      counts_.assign(static_cast<size_t>(windows_), 0);
    }
    if (const uint32_t count = counts_[static_cast<size_t>(number)]; count > 0) return count;
  }
  return plan(epoch, number)->window.batches();
}

}  // namespace forebay
