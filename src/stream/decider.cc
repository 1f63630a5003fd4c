#include "stream/decider.h"

#include <algorithm>
#include <numeric>

namespace forebay {

std::unique_ptr<WaitingRecords> Decider::make_waiting() const {
  // A stream with a guide learns only how many records were dropped, and must not drop any itself.
  const bool decides = guide_ == nullptr;
  return options_.policy == BufferPolicy::kSample ? make_waiting_sample(options_, partitions_, decides)
                                                  : make_waiting_queues(options_, partitions_, decides);
}

void Decider::seek(StreamPlace place) {
  given_ = std::move(place.decision);
  place.decision.reset();
  place.sampled = false;
  // A state's decision is read again as a whole, since its order depends on all of its records.
  if (given_) place.number = given_->first;
  decided_.begin(std::move(place));
  waiting_ = make_waiting();
  requested_end_ = awaited_end_ = decide_now_end_ = 0;
  end_.reset();
  failure_ = {};
  next_states_beginning_ = log_ended_ = false;
  // Other ranks need to know the beginning before anything is read.
  if (publisher_ && options_.from_now && decided_.base().began_at_log_end) publisher_->begins(decided_.base().after);
  begin_next_decision();
}

Decider::Dropped Decider::drop_records() { return {std::exchange(waiting_, make_waiting()), decided_.drop_records()}; }

Decider::Beginning Decider::resolve_beginning() {
  const StreamPlace& base = decided_.base();
  const bool nowhere = std::ranges::all_of(base.after, [](const std::string& offset) { return offset.empty(); });
  // A run that resumes inside its first decision continues it, even if the log was empty when the
  // run began.
  if (!options_.from_now || base.number != 0 || (given_ && !guide_)) return Beginning::kKnown;
  if (!base.began_at_log_end && nowhere) return guide_ ? Beginning::kFromGuide : Beginning::kEndOfLog;
  // Other ranks may not know the beginning that this rank has from its state.
  publish_beginning();
  return Beginning::kKnown;
}

void Decider::set_beginning(std::vector<std::string> ends) {
  decided_.set_beginning(std::move(ends));
  publish_beginning();
}

void Decider::publish_beginning() {
  next_states_beginning_ = !guide_;
  if (publisher_) publisher_->begins(decided_.base().after);
}

bool Decider::poll_beginning() {
  std::optional<std::vector<std::string>> after;
  const bool given = given_ && given_->missing == 0;
  if (given && !given_->after.empty()) after = given_->after;
  if (!given) after = guide_->beginning();
  if (after) decided_.set_beginning(*std::move(after));
  return given || after || end_ || !failure_.ok();
}

std::vector<size_t> Decider::partitions_to_read(std::span<const size_t> partitions) const {
  std::vector<size_t> wanted;
  for (const size_t partition : partitions) {
    if (waiting_->should_read(partition, decided_.bytes(), awaited_end_ > decided_.end())) wanted.push_back(partition);
  }
  return wanted;
}

uint64_t Decider::free_bytes() const {
  return options_.bytes - std::min(options_.bytes, decided_.bytes() + waiting_->bytes());
}

bool Decider::request(int64_t end) {
  if (decide_up_to(end)) return true;
  requested_end_ = std::max(requested_end_, end);
  return false;
}

bool Decider::decide_now(int64_t end) {
  if (options_.on_underrun == OnUnderrun::kWait) return false;
  decide_now_end_ = std::max(decide_now_end_, end);
  return decide_up_to(end);
}

bool Decider::decide_requested() {
  (void)decide_up_to(requested_end_);
  const bool tell = requested_end_ > 0 && (decided_.end() >= requested_end_ || end_ || !failure_.ok());
  if (tell) requested_end_ = 0;
  return tell;
}

void Decider::fail(Status status) {
  if (failure_.ok()) failure_ = std::move(status);
  // Makes decide_requested() report the failure even if request() has not asked for records.
  requested_end_ = std::max<int64_t>(requested_end_, 1);
  changed_ = true;
}

// Returns whether all records below `end` are decided, or the stream ends before them.
bool Decider::decide_up_to(int64_t end) {
  while (decided_.end() < end && !end_ && failure_.ok() && decide_next()) {
  }
  return decided_.end() >= end || end_;
}

bool Decider::decide_next() {
  Result<std::optional<WaitingRecords::Taken>> taken = next_taken();
  int64_t missing = 0;
  if (!taken.ok()) {
    failure_ = taken.status();
  } else if (*taken) {
    accept(std::move(**taken));
    return true;
  } else if (given_) {
    missing = given_->missing;
  } else if (may_decide()) {
    // This rank decides, and has no record to decide on: the numbers that the trainer needs are
    // missing.
    missing = std::max<int64_t>(decide_now_end_ - decided_.end(), 0);
  }
  if (missing == 0) return false;
  add_decision({decided_.end(), {}, missing}, {}, {});
  return true;
}

// Takes the records of the next decision from the waiting ones. Nothing if it cannot be made now,
// or has no records.
Result<std::optional<WaitingRecords::Taken>> Decider::next_taken() {
  using MaybeTaken = std::optional<WaitingRecords::Taken>;
  // The guide had no answer when the last decision was made, and may have one by now.
  if (follows()) begin_next_decision();
  FOREBAY_RETURN_IF_ERROR(failure_);
  if (given_) return given_->missing > 0 ? MaybeTaken() : waiting_->take(*given_);
  if (!may_decide()) return MaybeTaken();
  std::vector<size_t> counts = waiting_->counts();
  const size_t all = std::accumulate(counts.begin(), counts.end(), size_t{0});
  // A decision may have fewer records if no more will come, or if the trainer would have to wait.
  if (all < options_.decision_records) {
    if (log_ended_ && all == 0) {
      end_ = decided_.end();
      if (publisher_) publisher_->ended(*end_);
    }
    if (all == 0 || !(log_ended_ || decided_.end() < decide_now_end_)) return MaybeTaken();
  }
  // Shares are in proportion to the waiting records, so that no partition lags (decision 51).
  FOREBAY_ASSIGN(WaitingRecords::Taken taken,
                 waiting_->take(share_of_decision(std::min(all, options_.decision_records), counts)));
  return MaybeTaken(std::move(taken));
}

// Makes the next decision from the records that were taken.
void Decider::accept(WaitingRecords::Taken taken) {
  std::vector<size_t> counts;
  for (const auto& records : taken.records) counts.push_back(records.size());
  Decision decision{decided_.end(), std::move(taken.parts), 0};
  if (given_) decision.after = given_->after;  // as first decided: all ranks' states are equal
  // Until the first records are delivered, the base is where the run began.
  if (std::exchange(next_states_beginning_, false)) decision.after = decided_.base().after;
  // The order depends only on seed, number and counts: ranks, journals and states find the same
  // one.
  const auto order = merge_order(options_.seed, decision.first, counts, options_.shuffled);
  add_decision(std::move(decision), std::move(taken.records), order);
}

void Decider::add_decision(Decision decision, std::vector<std::vector<LogRecord>> records,
                           std::span<const MergedRecord> order) {
  for (const auto& observer : {observer_, publisher_}) {
    // The source of a guide's decision knows it already, and journals and other ranks have a
    // state's decision themselves.
    if (observer && !given_) observer->decided(decision);
  }
  decided_.add(std::move(decision), std::move(records), order);
  given_.reset();
  begin_next_decision();
}

void Decider::begin_next_decision() {
  changed_ = true;
  if (follows()) {
    Result<DecisionGuide::Answer> answer = guide_->at(decided_.end());
    if (!answer.ok()) {
      failure_ = answer.status();
      return;
    }
    if (answer->kind == DecisionGuide::Kind::kDecision) given_ = std::move(answer->decision);
    if (answer->kind == DecisionGuide::Kind::kEnd) end_ = decided_.end();
  }
  // Fails if a disk fails: records that the decision drops may have been spilled, and are read
  // before they are dropped.
  if (Status begun = waiting_->begin_decision(decided_.end(), given_); !begun.ok()) failure_ = std::move(begun);
}

int64_t Decider::set_observer(std::shared_ptr<DecisionObserver> observer, int64_t from) {
  observer_ = std::move(observer);
  if (observer_) decided_.report(*observer_, from);
  return decided_.end();
}

StreamPlace Decider::place(int64_t number) const {
  StreamPlace place = decided_.place(number);
  // A decision that a state named may not have been read again yet.
  if (!place.decision && given_ && number > given_->first) place.decision = given_;
  place.sampled = place.decision && place.decision->missing == 0 && options_.policy == BufferPolicy::kSample;
  return place;
}

std::optional<std::string> Decider::awaited() const {
  if (guide_ && !given_) return guide_->awaited();
  if (publisher_ && !publisher_->may_decide()) return publisher_->awaited();
  return std::nullopt;
}

}  // namespace forebay
