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
  const WaitingOptions options{log_->partitions().size(), options_.chunk, options_.bytes, options_.seed};
  // What was decided elsewhere says what was dropped.
  // Records that a chunk dropped are told by their number alone, so whoever follows must not drop any itself.
  const bool decides = guide_ == nullptr;
  if (options_.policy == BufferPolicy::kSample) return waiting_sampled(options, decides);
  return waiting_in_queues(options, decides && options_.policy == BufferPolicy::kDropOldest, options_.spill);
}

void Stream::seek(StreamPlace place) {
  stop();
  const Lock lock(mutex_);
  given_ = std::move(place.chunk);
  place.chunk.reset();
  place.sampled = false;
  // A state's chunk is read again as a whole: its order follows from all of its records.
  if (given_) place.number = given_->first;
  base_ = std::move(place);
  decided_ = base_.number;
  chunks_.clear();
  chunk_bytes_ = 0;
  waiting_ = make_waiting();
  asked_ = awaited_ = hurried_ = 0;
  ended_ = 0;
  end_.reset();
  failure_ = {};
  heard_ns_.assign(log_->partitions().size(), 0);
  stopped_ = reading_ = tells_after_ = false;
  // Who follows wants to know it before anything is read.
  if (told_ && options_.from_now && base_.begun) told_->begins(base_.after);
  begin_next_chunk();
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
  for (const Decided& decided : chunks_) {
    if (decided.chunk.missing == 0) continue;
    const int64_t end = std::min(to, decided.chunk.first + decided.chunk.missing);
    for (int64_t n = std::max(from, decided.chunk.first); n < end; ++n) numbers.push_back(n);
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

// Whether this rank decides, now, and has nothing that it could decide on. A chunk that a state began comes as it was, however long it takes to read.
bool Stream::may_underrun() const {
  if (guide_ || given_ || end_ || decided_ >= hurried_ || !failure_.ok()) return false;
  return !told_ || told_->may_decide();
}

Result<std::optional<Waiting::Taken>> Stream::next_taken() {
  using Nothing = std::optional<Waiting::Taken>;
  // It had nothing to say when the last chunk was done, and may have by now.
  if (guide_ && !given_ && !end_) begin_next_chunk();
  FOREBAY_RETURN_IF_ERROR(failure_);
  if (given_) return given_->missing > 0 ? Nothing() : waiting_->take(*given_);
  if (guide_ || end_ || (told_ && !told_->may_decide())) return Nothing();
  std::vector<size_t> counts = waiting_->counts();
  const size_t all = std::accumulate(counts.begin(), counts.end(), size_t{0});
  // Fewer do where no more will come, or where the trainer would have to wait.
  if (all < options_.chunk) {
    const bool over = reading_ && ended_ == readers_;
    if (over && all == 0) end_here();
    if (all == 0 || !(over || decided_ < hurried_)) return Nothing();
  }
  // In proportion to what waits, so that no partition falls behind (decision 51).
  FOREBAY_ASSIGN(Waiting::Taken taken, waiting_->take(share_of_chunk(std::min(all, options_.chunk), counts)));
  return Nothing(std::move(taken));
}

// The records that were taken become the next chunk.
void Stream::accept(Waiting::Taken taken) {
  std::vector<size_t> counts;
  for (const auto& records : taken.records) counts.push_back(records.size());
  Decided decided;
  decided.chunk = {decided_, std::move(taken.parts), 0};
  if (given_) decided.chunk.after = given_->after;  // as it was decided, so that states of all ranks say the same
  // Until the first records are behind, `base_` is where the run began.
  if (std::exchange(tells_after_, false)) decided.chunk.after = base_.after;
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
  decided.chunk = {decided_, {}, numbers};
  decided.records.resize(static_cast<size_t>(numbers));
  missing_records_ += numbers;
  add(std::move(decided));
}

void Stream::add(Decided decided) {
  decided_ += decided.chunk.size();
  chunk_bytes_ += decided.bytes;
  for (const auto& witness : {witness_, told_}) {
    // What was given is known where it comes from; of a state's chunk journals and ranks have their own.
    if (witness && !given_) witness->decided(decided.chunk);
  }
  chunks_.push_back(std::move(decided));
  given_.reset();
  begin_next_chunk();
  room_.notify_all();
}

void Stream::end_here() {
  end_ = decided_;
  if (told_) told_->ended(decided_);
}

void Stream::begin_next_chunk() {
  if (guide_ && !given_ && !end_) {
    Result<ChunkGuide::Answer> answer = guide_->at(decided_);
    if (!answer.ok()) {
      failure_ = answer.status();
      return;
    }
    if (answer->says == ChunkGuide::Says::kThis) given_ = std::move(answer->chunk);
    if (answer->says == ChunkGuide::Says::kEnd) end_ = decided_;
  }
  // Fails where a disk does: what the chunk drops may have been spilled, and is read to be dropped.
  if (Status begun = waiting_->begin_chunk(decided_, given_ ? &*given_ : nullptr); !begun.ok())
    failure_ = std::move(begun);
  room_.notify_all();
}

int64_t Stream::set_witness(std::shared_ptr<ChunkWitness> witness, int64_t from) {
  const Lock lock(mutex_);
  witness_ = std::move(witness);
  if (!witness_) return decided_;
  // Under one lock with setting it, so that no chunk is missed or told twice.
  for (const Decided& decided : chunks_) {
    if (decided.chunk.first >= from) witness_->decided(decided.chunk);
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
  const auto after = std::upper_bound(chunks_.begin(), chunks_.end(), number, [](int64_t sought, const Decided& chunk) {
    return sought < chunk.chunk.first + static_cast<int64_t>(chunk.records.size());
  });
  if (after == chunks_.end() || number < after->chunk.first) return std::nullopt;
  return std::pair(static_cast<size_t>(after - chunks_.begin()), static_cast<size_t>(number - after->chunk.first));
}

std::shared_ptr<const LogRecord> Stream::record(int64_t number) const {
  const Lock lock(mutex_);
  const auto place = find(number);
  return place ? chunks_[place->first].records[place->second] : nullptr;
}

void Stream::fill(int64_t number, LogRecord whole) {
  auto record = std::make_shared<const LogRecord>(std::move(whole));
  const Lock lock(mutex_);
  const auto place = find(number);
  if (!place) return;
  Decided& decided = chunks_[place->first];
  std::shared_ptr<const LogRecord>& was = decided.records[place->second];
  if (!was || !was->away) return;
  const uint64_t more = record->bytes() - was->bytes();
  decided.bytes += more;
  chunk_bytes_ += more;
  was = std::move(record);
  kept_->set(bytes());
}

std::string Stream::before(int64_t number) const {
  const Lock lock(mutex_);
  StreamPlace place = base_;
  for (const Decided& decided : chunks_) {
    const auto at = static_cast<size_t>(number - decided.chunk.first);
    if (at >= decided.records.size()) {
      move_on(place, decided.chunk);
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

void Stream::move_on(StreamPlace& place, const Chunk& chunk) {
  for (const ChunkPart& part : chunk.parts) {
    if (!part.last.empty()) place.after[part.partition] = part.last;
    place.dropped[part.partition] += part.dropped;
  }
  place.number = chunk.first + chunk.size();
}

void Stream::behind(int64_t number) {
  std::vector<Decided> gone;  // taken apart without the lock
  // These, too: what a record's end sets off (a program's own object) must not come under the lock.
  std::vector<std::shared_ptr<const LogRecord>> records;
  Lock lock(mutex_);
  while (!chunks_.empty() && chunks_.front().chunk.first + chunks_.front().chunk.size() <= number) {
    move_on(base_, chunks_.front().chunk);
    chunk_bytes_ -= chunks_.front().bytes;
    gone.push_back(std::move(chunks_.front()));
    chunks_.pop_front();
  }
  if (!chunks_.empty()) {  // a long one, as of a shuffled window
    Decided& front = chunks_.front();
    // Backwards to one that went before, so that each record is met once however often this is called.
    for (int64_t i = number - front.chunk.first - 1; i >= 0 && front.records[static_cast<size_t>(i)]; --i) {
      const uint64_t bytes = front.records[static_cast<size_t>(i)]->bytes();
      front.bytes -= bytes;
      chunk_bytes_ -= bytes;
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
  return chunk_bytes_ + waiting_->bytes() + std::accumulate(held_.begin(), held_.end(), uint64_t{0});
}

StreamPlace Stream::place(int64_t number) const {
  const Lock lock(mutex_);
  StreamPlace place = base_;
  for (const Decided& decided : chunks_) {
    if (number < decided.chunk.first + decided.chunk.size()) {
      if (number > decided.chunk.first) place.chunk = decided.chunk;
      break;
    }
    move_on(place, decided.chunk);
  }
  // A chunk that a state named may not have been read again yet.
  if (!place.chunk && given_ && number > given_->first) place.chunk = given_;
  place.number = number;
  place.begun = place.begun && number == 0;
  place.sampled = place.chunk && place.chunk->missing == 0 && options_.policy == BufferPolicy::kSample;
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
  for (const Decided& decided : chunks_) {
    for (const ChunkPart& part : decided.chunk.parts) stats.dropped[part.partition] += part.dropped;
  }
  stats.waiting = waiting_->counts();
  return stats;
}

}  // namespace forebay
