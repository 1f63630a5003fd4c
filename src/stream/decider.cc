#include "stream/decider.h"

#include <algorithm>
#include <numeric>

namespace forebay {

std::unique_ptr<Waiting> Decider::make_waiting() const {
  // A stream with a guide learns only how many records were dropped, and must not drop any itself.
  const bool decides = guide_ == nullptr;
  return options_.policy == BufferPolicy::kSample ? waiting_sampled(options_, partitions_, decides)
                                                  : waiting_in_queues(options_, partitions_, decides);
}

void Decider::seek(StreamPlace place) {
  given_ = std::move(place.decision);
  place.decision.reset();
  place.sampled = false;
  // A state's decision is read again as a whole, since its order depends on all of its records.
  if (given_) place.number = given_->first;
  decided_.begin(std::move(place));
  waiting_ = make_waiting();
  asked_ = awaited_ = hurried_ = 0;
  end_.reset();
  failure_ = {};
  states_beginning_ = over_ = false;
  // Other ranks need to know the beginning before anything is read.
  if (publisher_ && options_.from_now && decided_.base().begun) publisher_->begins(decided_.base().after);
  begin_next_decision();
}

Decider::Dropped Decider::drop_records() { return {std::exchange(waiting_, make_waiting()), decided_.drop_records()}; }

Decider::Beginning Decider::beginning() {
  const StreamPlace& base = decided_.base();
  const bool nowhere = std::ranges::all_of(base.after, [](const std::string& offset) { return offset.empty(); });
  // A run that resumes inside its first decision continues it, even if the log was empty when the
  // run began.
  if (!options_.from_now || base.number != 0 || (given_ && !guide_)) return Beginning::kKnown;
  if (!base.begun && nowhere) return guide_ ? Beginning::kSaidByGuide : Beginning::kEndOfLog;
  // Other ranks may not know the beginning that this rank has from its state.
  publish_beginning();
  return Beginning::kKnown;
}

void Decider::begin_after(std::vector<std::string> ends) {
  decided_.begin_after(std::move(ends));
  publish_beginning();
}

void Decider::publish_beginning() {
  states_beginning_ = !guide_;
  if (publisher_) publisher_->begins(decided_.base().after);
}

bool Decider::ask_beginning() {
  std::optional<std::vector<std::string>> after;
  const bool given = given_ && given_->missing == 0;
  if (given && !given_->after.empty()) after = given_->after;
  if (!given) after = guide_->beginning();
  if (after) decided_.begin_after(*std::move(after));
  return given || after || end_ || !failure_.ok();
}

std::vector<size_t> Decider::wanted(std::span<const size_t> partitions) const {
  std::vector<size_t> wanted;
  for (const size_t partition : partitions) {
    if (waiting_->should_read(partition, decided_.bytes(), awaited_ > decided_.end())) wanted.push_back(partition);
  }
  return wanted;
}

uint64_t Decider::free_bytes() const {
  return options_.bytes - std::min(options_.bytes, decided_.bytes() + waiting_->bytes());
}

bool Decider::known(int64_t end) {
  if (decide_to(end)) return true;
  asked_ = std::max(asked_, end);
  return false;
}

bool Decider::hurry(int64_t end) {
  if (options_.on_underrun == OnUnderrun::kWait) return false;
  hurried_ = std::max(hurried_, end);
  return decide_to(end);
}

bool Decider::settle() {
  (void)decide_to(asked_);
  const bool tell = asked_ > 0 && (decided_.end() >= asked_ || end_ || !failure_.ok());
  if (tell) asked_ = 0;
  return tell;
}

void Decider::fail(Status status) {
  if (failure_.ok()) failure_ = std::move(status);
  // Makes settle() report the failure even if known() has not asked for records.
  asked_ = std::max<int64_t>(asked_, 1);
  changed_ = true;
}

// Returns whether all records below `end` are decided, or the stream ends before them.
bool Decider::decide_to(int64_t end) {
  while (decided_.end() < end && !end_ && failure_.ok() && decide()) {
  }
  return decided_.end() >= end || end_;
}

bool Decider::decide() {
  Result<std::optional<Waiting::Taken>> taken = next_taken();
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
    missing = std::max<int64_t>(hurried_ - decided_.end(), 0);
  }
  if (missing == 0) return false;
  add_decision({decided_.end(), {}, missing}, {}, {});
  return true;
}

Result<std::optional<Waiting::Taken>> Decider::next_taken() {
  using Nothing = std::optional<Waiting::Taken>;
  // The guide had no answer when the last decision was made, and may have one by now.
  if (follows()) begin_next_decision();
  FOREBAY_RETURN_IF_ERROR(failure_);
  if (given_) return given_->missing > 0 ? Nothing() : waiting_->take(*given_);
  if (!may_decide()) return Nothing();
  std::vector<size_t> counts = waiting_->counts();
  const size_t all = std::accumulate(counts.begin(), counts.end(), size_t{0});
  // A decision may have fewer records if no more will come, or if the trainer would have to wait.
  if (all < options_.decision_records) {
    if (over_ && all == 0) {
      end_ = decided_.end();
      if (publisher_) publisher_->ended(*end_);
    }
    if (all == 0 || !(over_ || decided_.end() < hurried_)) return Nothing();
  }
  // Shares are in proportion to the waiting records, so that no partition lags (decision 51).
  FOREBAY_ASSIGN(Waiting::Taken taken,
                 waiting_->take(share_of_decision(std::min(all, options_.decision_records), counts)));
  return Nothing(std::move(taken));
}

// Makes the next decision from the records that were taken.
void Decider::accept(Waiting::Taken taken) {
  std::vector<size_t> counts;
  for (const auto& records : taken.records) counts.push_back(records.size());
  Decision decision{decided_.end(), std::move(taken.parts), 0};
  if (given_) decision.after = given_->after;  // as first decided: all ranks' states are equal
  // Until the first records are delivered, the base is where the run began.
  if (std::exchange(states_beginning_, false)) decision.after = decided_.base().after;
  // The order depends only on seed, number and counts: ranks, journals and states find the same
  // one.
  const auto order = merge_order(options_.seed, decision.first, counts, options_.shuffled);
  add_decision(std::move(decision), std::move(taken.records), order);
}

void Decider::add_decision(Decision decision, std::vector<std::vector<LogRecord>> records,
                           std::span<const MergedRecord> order) {
  for (const auto& witness : {witness_, publisher_}) {
    // The source of a guide's decision knows it already, and journals and other ranks have a
    // state's decision themselves.
    if (witness && !given_) witness->decided(decision);
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
    if (answer->says == DecisionGuide::Says::kThis) given_ = std::move(answer->decision);
    if (answer->says == DecisionGuide::Says::kEnd) end_ = decided_.end();
  }
  // Fails if a disk fails: records that the decision drops may have been spilled, and are read
  // before they are dropped.
  if (Status begun = waiting_->begin_decision(decided_.end(), given_); !begun.ok()) failure_ = std::move(begun);
}

int64_t Decider::set_witness(std::shared_ptr<DecisionWitness> witness, int64_t from) {
  witness_ = std::move(witness);
  if (witness_) decided_.report(*witness_, from);
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
