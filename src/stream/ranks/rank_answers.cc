#include "stream/ranks/rank_answers.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace forebay {

namespace {

constexpr size_t kMostAhead = 1024;         // chunks that are decided and not asked for by all
constexpr std::chrono::seconds kLinger{5};  // for ranks that have not asked for the last chunks yet
constexpr std::chrono::seconds kLongestUnheard{
    60};                                     // of a rank that the others wait for; one that lives asks for something
constexpr std::chrono::seconds kHoldOut{2};  // and for those that have not come for what was read for them

Buffer buffer_of(std::string_view text) {
  Buffer body = Buffer::allocate(text.size());
  std::copy(text.begin(), text.end(), body.data());
  return body;
}

}  // namespace

void RankAnswers::know(int rank, int ranks) {
  const std::lock_guard lock(mutex_);
  rank_ = rank;
  asked_.assign(static_cast<size_t>(ranks), kNever);
  heard_.assign(static_cast<size_t>(ranks), std::chrono::steady_clock::now());
}

void RankAnswers::lead(Stream* stream) {
  const std::lock_guard lock(mutex_);
  stream_ = stream;
}

void RankAnswers::lend(std::shared_ptr<const KeptRecords> kept) {
  const std::lock_guard lock(mutex_);
  kept_ = std::move(kept);
}

void RankAnswers::share(std::shared_ptr<RecordShelf> shelf) {
  const std::lock_guard lock(mutex_);
  shelf_ = std::move(shelf);
}

void RankAnswers::tell_run(std::string terms) {
  const std::lock_guard lock(mutex_);
  run_ = std::move(terms);
}

void RankAnswers::begin_anew(uint64_t seeks) {
  const std::lock_guard lock(mutex_);
  seeks_ = seeks;
  beginning_.reset();
  chunks_.clear();
  std::fill(asked_.begin(), asked_.end(), kNever);
  if (shelf_) shelf_->begin_anew(seeks);
}

void RankAnswers::decided(const Chunk& chunk) {
  const std::lock_guard lock(mutex_);
  chunks_.push_back({chunk.first, chunk.to_json()});
}

void RankAnswers::begins(const std::vector<std::string>& after) {
  const std::lock_guard lock(mutex_);
  beginning_ = nlohmann::json(after).dump();
}

void RankAnswers::ended(int64_t first) {
  const std::lock_guard lock(mutex_);
  chunks_.push_back({first, "end"});
}

void RankAnswers::linger() {
  std::unique_lock lock(mutex_);
  asked_for_.wait_for(lock, kLinger, [&] { return all_are_told(); });
  if (shelf_) asked_for_.wait_for(lock, kHoldOut, [&] { return !shelf_->is_awaited() || all_have_left(); });
}

bool RankAnswers::all_are_told() const {
  if (chunks_.empty() && !beginning_) return true;
  const int64_t last = chunks_.empty() ? kKnowsBeginning : chunks_.back().first;
  return std::all_of(asked_.begin() + 1, asked_.end(), [&](int64_t asked) { return asked >= last; });
}

bool RankAnswers::all_have_left() const {
  for (size_t rank = 0; rank < asked_.size(); ++rank)
    if (rank != static_cast<size_t>(rank_) && asked_[rank] != kLeft) return false;
  return true;
}

bool RankAnswers::may_decide() {
  const std::lock_guard lock(mutex_);
  return chunks_.size() < kMostAhead;
}

std::string RankAnswers::awaited() const {
  const std::lock_guard lock(mutex_);
  return fmt::format("rank {}, which is {} chunks behind", slowest(), chunks_.size());
}

Status RankAnswers::check_heard(std::chrono::steady_clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  if (chunks_.size() < kMostAhead || asked_.size() < 2) return {};
  const int rank = slowest();
  if (now - heard_[static_cast<size_t>(rank)] <= kLongestUnheard) return {};
  return unavailable(
      fmt::format("rank {}, which is {} batches (or windows) behind, has asked rank 0 for nothing for {} s: it is "
                  "gone, or does not reach rank "
                  "0; start all ranks again, from a state",
                  rank, chunks_.size(), kLongestUnheard.count()));
}

std::optional<Buffer> RankAnswers::find(const Hash128& key) {
  const std::optional<RankKey> asked = RankKey::from(key);
  if (!asked) return std::nullopt;
  // Whatever it asks for, and of which run: it lives. (Of a row the question names a partition.)
  if (asked->what != RankQuestion::kRow) note_heard(asked->rank);
  // A shelf knows its run by itself: what it gives belongs together with what it forgets.
  if (asked->what == RankQuestion::kNotes || asked->what == RankQuestion::kRow) {
    const std::shared_ptr<RecordShelf> shelf = under_lock(shelf_);
    if (!shelf) return std::nullopt;
    if (asked->what == RankQuestion::kRow) {
      std::optional<Buffer> row = shelf->row(asked->seeks, static_cast<size_t>(asked->rank), asked->number);
      // Under the lock, or linger() could look, miss this, and then wait.
      const std::lock_guard lock(mutex_);
      asked_for_.notify_all();
      return row;
    }
    const NotesPlace place = NotesPlace::from_number(asked->number);
    return shelf->notes(asked->seeks, asked->rank, place.partition, place.from);
  }
  if (asked->what == RankQuestion::kRun) return find_run();
  if (asked->seeks != under_lock(seeks_)) return find_elsewhere(asked->what);
  switch (asked->what) {
    case RankQuestion::kKept: {
      const std::shared_ptr<const KeptRecords> kept = under_lock(kept_);
      return kept ? kept->bytes_of(static_cast<int64_t>(asked->number)) : std::nullopt;
    }
    case RankQuestion::kBeginning: return find_beginning(asked->rank);
    case RankQuestion::kGoodbye: return leave(asked->rank);
    default: return find_chunk(*asked);
  }
}

// Whoever decides will, sooner or later.
std::optional<uint64_t> RankAnswers::coming(int64_t element) {
  const std::optional<int64_t> kept_one = kept_number(element);
  if (!kept_one) return element >= kComesSoonerOrLater ? std::optional<uint64_t>(1) : std::nullopt;
  // Without the lock: who keeps records looks at the stream meanwhile, and the stream tells what it decides under its own.
  const std::shared_ptr<const KeptRecords> kept = under_lock(kept_);
  return kept && kept->will_know(*kept_one) ? std::optional<uint64_t>(1) : std::nullopt;
}

std::optional<Buffer> RankAnswers::find_chunk(const RankKey& asked) {
  const auto first = static_cast<int64_t>(asked.number);
  std::string text;
  Stream* to_tell = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!is_other_rank(asked.rank)) return std::nullopt;
    const auto chunk = std::lower_bound(chunks_.begin(), chunks_.end(), first,
                                        [](const auto& one, int64_t sought) { return one.first < sought; });
    if (chunk == chunks_.end()) return std::nullopt;
    // A later one is there, so this one never will be.
    if (chunk->first != first) return buffer_of(kNoSuchChunk);
    text = chunk->second;
    to_tell = note_asked(asked.rank, first);
  }
  // Without the lock, which the stream takes under its own. It is alive: Decisions::close() waits for these calls before the stream goes.
  if (to_tell != nullptr) to_tell->look_again();
  return buffer_of(text);
}

std::optional<Buffer> RankAnswers::find_elsewhere(RankQuestion what) const {
  if (what != RankQuestion::kChunk && what != RankQuestion::kBeginning) return std::nullopt;
  const std::lock_guard lock(mutex_);
  // Before its run has begun this rank is nowhere.
  return seeks_ > 0 ? std::optional(buffer_of(ElsewhereAnswer::text(seeks_))) : std::nullopt;
}

std::optional<Buffer> RankAnswers::find_run() const {
  const std::lock_guard lock(mutex_);
  return run_ ? std::optional(buffer_of(*run_)) : std::nullopt;
}

std::optional<Buffer> RankAnswers::find_beginning(int rank) {
  const std::lock_guard lock(mutex_);
  if (!beginning_ || !is_other_rank(rank)) return std::nullopt;
  (void)note_asked(rank, kKnowsBeginning);
  return buffer_of(*beginning_);
}

void RankAnswers::note_heard(int rank) {
  const std::lock_guard lock(mutex_);
  if (is_other_rank(rank)) heard_[static_cast<size_t>(rank)] = std::chrono::steady_clock::now();
}

// With the lock held, as all below but leave().
int RankAnswers::slowest() const {
  return static_cast<int>(std::min_element(asked_.begin() + 1, asked_.end()) - asked_.begin());
}

bool RankAnswers::is_other_rank(int rank) const { return rank != rank_ && static_cast<size_t>(rank) < asked_.size(); }

std::optional<Buffer> RankAnswers::leave(int rank) {
  Stream* to_tell = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!is_other_rank(rank)) return std::nullopt;
    to_tell = note_asked(rank, kLeft);
  }
  if (to_tell != nullptr) to_tell->look_again();
  return Buffer::allocate(1);
}

// The stream that may decide more now, if that is news.
Stream* RankAnswers::note_asked(int rank, int64_t first) {
  int64_t& asked = asked_[static_cast<size_t>(rank)];
  asked = std::max(asked, first);
  asked_for_.notify_all();
  return forget_what_all_have() ? stream_ : nullptr;
}

// A rank that asks for a chunk has all before it. True where more may be decided now.
bool RankAnswers::forget_what_all_have() {
  // Before all have asked it is kNever, and nothing is forgotten.
  const int64_t least = *std::min_element(asked_.begin() + 1, asked_.end());
  const bool full = chunks_.size() >= kMostAhead;
  while (!chunks_.empty() && chunks_.front().first < least) chunks_.pop_front();
  return full && chunks_.size() < kMostAhead;
}

}  // namespace forebay
