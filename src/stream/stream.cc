#include "stream/stream.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "plan/merging.h"

namespace forebay {

Stream::Stream(std::shared_ptr<const RecordLog> log, StreamOptions options)
    : log_(std::move(log)), options_(options), kept_(std::make_shared<StreamBytes>()) {
  // All members as after a seek. It gives nothing before the next one, by which guide and witness are set.
  seek(beginning());
  stopped_ = true;
}

Stream::~Stream() { stop(); }

StreamPlace Stream::beginning() const {
  const size_t partitions = log_->partitions().size();
  return {0, std::vector<std::string>(partitions), std::vector<int64_t>(partitions), std::nullopt};
}

std::unique_ptr<Waiting> Stream::make_waiting() const {
  const WaitingOptions options{log_->partitions().size(), options_.decision_records, options_.bytes, options_.seed};
  // What was decided elsewhere says what was dropped.
  // Records that a decision dropped are told by their number alone, so whoever follows must not drop any itself.
  const bool decides = guide_ == nullptr;
  if (options_.policy == BufferPolicy::kSample) return waiting_sampled(options, decides);
  return waiting_in_queues(options, decides && options_.policy == BufferPolicy::kDropOldest, options_.spill);
}

void Stream::seek(StreamPlace place) {
  stop();
  const Lock lock(mutex_);
  given_ = std::move(place.decision);
  place.decision.reset();
  place.sampled = false;
  // A state's decision is read again as a whole: its order follows from all of its records.
  if (given_) place.number = given_->first;
  base_ = std::move(place);
  decided_ = base_.number;
  decisions_.clear();
  decision_bytes_ = 0;
  waiting_ = make_waiting();
  asked_ = awaited_ = hurried_ = 0;
  ended_ = 0;
  end_.reset();
  failure_ = {};
  heard_ns_.assign(log_->partitions().size(), 0);
  stopped_ = reading_ = tells_after_ = false;
  // Who follows wants to know it before anything is read.
  if (told_ && options_.from_now && base_.begun) told_->begins(base_.after);
  begin_next_decision();
}

bool Stream::known(int64_t end) {
  const Lock lock(mutex_);
  if (stopped_ || !failure_.ok()) return false;
  if (!reading_) start_reading();
  while (decided_ < end && !end_ && decide()) {
  }
  if (decided_ >= end || end_) return true;
  asked_ = std::max(asked_, end);
  return false;
}

int64_t Stream::decided() const {
  const Lock lock(mutex_);
  return decided_;
}

void Stream::awaits(int64_t end) {
  const Lock lock(mutex_);
  if (std::exchange(awaited_, std::max(awaited_, end)) < end) room_.notify_all();
}

bool Stream::hurry(int64_t end) {
  const Lock lock(mutex_);
  if (options_.on_underrun == OnUnderrun::kWait || stopped_ || !failure_.ok()) return false;
  hurried_ = std::max(hurried_, end);
  while (decided_ < end && !end_ && decide()) {
  }
  return decided_ >= end || end_;
}

std::vector<int64_t> Stream::missing(int64_t from, int64_t to) const {
  const Lock lock(mutex_);
  std::vector<int64_t> numbers;
  for (const Decided& decided : decisions_) {
    if (decided.decision.missing == 0) continue;
    const int64_t end = std::min(to, decided.decision.first + decided.decision.missing);
    for (int64_t n = std::max(from, decided.decision.first); n < end; ++n) numbers.push_back(n);
  }
  return numbers;
}

bool Stream::decide() {
  Result<std::optional<Waiting::Taken>> taken = next_taken();
  if (!taken.ok()) {
    failure_ = taken.status();
    return false;
  }
  if (*taken) {
    accept(std::move(**taken));
  } else if (given_ && given_->missing > 0) {
    accept_missing(given_->missing);
  } else if (may_underrun()) {
    accept_missing(hurried_ - decided_);
  } else {
    return false;
  }
  return true;
}

// Whether this rank decides, now, and has nothing that it could decide on. A decision that a state began comes as it was, however long it takes to read.
bool Stream::may_underrun() const {
  if (guide_ || given_ || end_ || decided_ >= hurried_ || !failure_.ok()) return false;
  return !told_ || told_->may_decide();
}

Result<std::optional<Waiting::Taken>> Stream::next_taken() {
  using Nothing = std::optional<Waiting::Taken>;
  // It had nothing to say when the last decision was done, and may have by now.
  if (guide_ && !given_ && !end_) begin_next_decision();
  FOREBAY_RETURN_IF_ERROR(failure_);
  if (given_) return given_->missing > 0 ? Nothing() : waiting_->take(*given_);
  if (guide_ || end_ || (told_ && !told_->may_decide())) return Nothing();
  std::vector<size_t> counts = waiting_->counts();
  const size_t all = std::accumulate(counts.begin(), counts.end(), size_t{0});
  // Fewer do where no more will come, or where the trainer would have to wait.
  if (all < options_.decision_records) {
    const bool over = reading_ && ended_ == readers_;
    if (over && all == 0) end_here();
    if (all == 0 || !(over || decided_ < hurried_)) return Nothing();
  }
  // In proportion to what waits, so that no partition falls behind (decision 51).
  FOREBAY_ASSIGN(Waiting::Taken taken,
                 waiting_->take(share_of_decision(std::min(all, options_.decision_records), counts)));
  return Nothing(std::move(taken));
}

// The records that were taken become the next decision.
void Stream::accept(Waiting::Taken taken) {
  std::vector<size_t> counts;
  for (const auto& records : taken.records) counts.push_back(records.size());
  Decided decided;
  decided.decision = {decided_, std::move(taken.parts), 0};
  if (given_) decided.decision.after = given_->after;  // as it was decided, so that states of all ranks say the same
  // Until the first records are behind, `base_` is where the run began.
  if (std::exchange(tells_after_, false)) decided.decision.after = base_.after;
  // From seed, number and counts alone: ranks, journals and states find the same order.
  for (const size_t count : counts) decided.in_log.emplace_back(count);
  for (const MergedRecord& at : merge_order(options_.seed, decided_, counts, options_.shuffled)) {
    LogRecord& record = taken.records[at.partition][at.index];
    decided.in_log[at.partition][at.index] = static_cast<uint32_t>(decided.records.size());
    decided.place_in_log.push_back(at.index);
    decided.bytes += record.bytes();
    decided.records.push_back(std::make_shared<const LogRecord>(std::move(record)));
  }
  add(std::move(decided));
}

void Stream::accept_missing(int64_t numbers) {
  Decided decided;
  decided.decision = {decided_, {}, numbers};
  decided.records.resize(static_cast<size_t>(numbers));
  missing_records_ += numbers;
  add(std::move(decided));
}

void Stream::add(Decided decided) {
  decided_ += decided.decision.size();
  decision_bytes_ += decided.bytes;
  for (const auto& witness : {witness_, told_}) {
    // What was given is known where it comes from; of a state's decision journals and ranks have their own.
    if (witness && !given_) witness->decided(decided.decision);
  }
  decisions_.push_back(std::move(decided));
  given_.reset();
  begin_next_decision();
  room_.notify_all();
}

void Stream::end_here() {
  end_ = decided_;
  if (told_) told_->ended(decided_);
}

void Stream::begin_next_decision() {
  if (guide_ && !given_ && !end_) {
    Result<DecisionGuide::Answer> answer = guide_->at(decided_);
    if (!answer.ok()) {
      failure_ = answer.status();
      return;
    }
    if (answer->says == DecisionGuide::Says::kThis) given_ = std::move(answer->decision);
    if (answer->says == DecisionGuide::Says::kEnd) end_ = decided_;
  }
  // Fails where a disk does: what the decision drops may have been spilled, and is read to be dropped.
  if (Status begun = waiting_->begin_decision(decided_, given_ ? &*given_ : nullptr); !begun.ok())
    failure_ = std::move(begun);
  room_.notify_all();
}

int64_t Stream::set_witness(std::shared_ptr<DecisionWitness> witness, int64_t from) {
  const Lock lock(mutex_);
  witness_ = std::move(witness);
  if (!witness_) return decided_;
  // Under one lock with setting it, so that no decision is missed or told twice.
  for (const Decided& decided : decisions_) {
    if (decided.decision.first >= from) witness_->decided(decided.decision);
  }
  return decided_;
}

std::optional<int64_t> Stream::end() const {
  const Lock lock(mutex_);
  return end_;
}

Status Stream::failure() const {
  const Lock lock(mutex_);
  return failure_;
}

// Nothing where it is behind, or not decided.
std::optional<std::pair<size_t, size_t>> Stream::find(int64_t number) const {
  const auto after =
      std::upper_bound(decisions_.begin(), decisions_.end(), number, [](int64_t sought, const Decided& decision) {
        return sought < decision.decision.first + static_cast<int64_t>(decision.records.size());
      });
  if (after == decisions_.end() || number < after->decision.first) return std::nullopt;
  return std::pair(static_cast<size_t>(after - decisions_.begin()),
                   static_cast<size_t>(number - after->decision.first));
}

std::shared_ptr<const LogRecord> Stream::record(int64_t number) const {
  const Lock lock(mutex_);
  const auto place = find(number);
  return place ? decisions_[place->first].records[place->second] : nullptr;
}

void Stream::fill(int64_t number, LogRecord whole) {
  auto record = std::make_shared<const LogRecord>(std::move(whole));
  const Lock lock(mutex_);
  const auto place = find(number);
  if (!place) return;
  Decided& decided = decisions_[place->first];
  std::shared_ptr<const LogRecord>& was = decided.records[place->second];
  if (!was || !was->away) return;
  const uint64_t more = record->bytes() - was->bytes();
  decided.bytes += more;
  decision_bytes_ += more;
  was = std::move(record);
  kept_->set(bytes());
}

std::string Stream::before(int64_t number) const {
  const Lock lock(mutex_);
  StreamPlace place = base_;
  for (const Decided& decided : decisions_) {
    const auto at = static_cast<size_t>(number - decided.decision.first);
    if (at >= decided.records.size()) {
      move_on(place, decided.decision);
      continue;
    }
    // Not null: its step is being planned, and only delivered steps move records behind.
    const LogRecord& record = *decided.records[at];
    const uint32_t in_log = decided.place_in_log[at];
    if (in_log == 0) return place.after[record.partition];
    const uint32_t last = decided.in_log[record.partition][in_log - 1];
    return decided.records[last] ? decided.records[last]->offset : decided.offsets[last];
  }
  return {};
}

void Stream::move_on(StreamPlace& place, const Decision& decision) {
  for (const DecisionPart& part : decision.parts) {
    if (!part.last.empty()) place.after[part.partition] = part.last;
    place.dropped[part.partition] += part.dropped;
  }
  place.number = decision.first + decision.size();
}

void Stream::behind(int64_t number) {
  std::vector<Decided> gone;  // taken apart without the lock
  // These, too: what a record's end sets off (a program's own object) must not come under the lock.
  std::vector<std::shared_ptr<const LogRecord>> records;
  Lock lock(mutex_);
  while (!decisions_.empty() && decisions_.front().decision.first + decisions_.front().decision.size() <= number) {
    move_on(base_, decisions_.front().decision);
    decision_bytes_ -= decisions_.front().bytes;
    gone.push_back(std::move(decisions_.front()));
    decisions_.pop_front();
  }
  if (!decisions_.empty()) {  // a long one, as of a shuffled window
    Decided& front = decisions_.front();
    // Backwards to one that went before, so that each record is met once however often this is called.
    for (int64_t i = number - front.decision.first - 1; i >= 0 && front.records[static_cast<size_t>(i)]; --i) {
      const uint64_t bytes = front.records[static_cast<size_t>(i)]->bytes();
      front.bytes -= bytes;
      decision_bytes_ -= bytes;
      if (front.offsets.empty()) front.offsets.resize(front.records.size());
      front.offsets[static_cast<size_t>(i)] = front.records[static_cast<size_t>(i)]->offset;
      records.push_back(std::move(front.records[static_cast<size_t>(i)]));
    }
  }
  kept_->set(bytes());
  room_.notify_all();
  lock.unlock();
  if (!let_go_) return;
  for (const Decided& decided : gone) records.insert(records.end(), decided.records.begin(), decided.records.end());
  for (const auto& record : records)
    if (record) let_go_(*record);
}

uint64_t Stream::bytes() const {
  return decision_bytes_ + waiting_->bytes() + std::accumulate(held_.begin(), held_.end(), uint64_t{0});
}

StreamPlace Stream::place(int64_t number) const {
  const Lock lock(mutex_);
  StreamPlace place = base_;
  for (const Decided& decided : decisions_) {
    if (number < decided.decision.first + decided.decision.size()) {
      if (number > decided.decision.first) place.decision = decided.decision;
      break;
    }
    move_on(place, decided.decision);
  }
  // A decision that a state named may not have been read again yet.
  if (!place.decision && given_ && number > given_->first) place.decision = given_;
  place.number = number;
  place.begun = place.begun && number == 0;
  place.sampled = place.decision && place.decision->missing == 0 && options_.policy == BufferPolicy::kSample;
  return place;
}

Stream::Stats Stream::stats() const {
  const Lock lock(mutex_);
  Stats stats;
  stats.arrived = arrived_records_;
  stats.decided = decided_ - base_.number;
  stats.reconnects = reconnects_;
  stats.trimmed = trimmed_;
  stats.missing = missing_records_;
  stats.bytes = bytes();
  stats.dropped = base_.dropped;
  for (const Decided& decided : decisions_) {
    for (const DecisionPart& part : decided.decision.parts) stats.dropped[part.partition] += part.dropped;
  }
  stats.waiting = waiting_->counts();
  return stats;
}

}  // namespace forebay
