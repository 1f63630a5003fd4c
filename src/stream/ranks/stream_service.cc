#include "stream/ranks/stream_service.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "stream/ranks/request_pauses.h"

namespace forebay {

namespace {

constexpr size_t kMaxAhead = 1024;  // decisions that not all ranks have requested
// The time after which linger() no longer waits for ranks that have not requested the last decisions
// yet.
constexpr std::chrono::seconds kLinger{5};
// The time that linger() then waits for ranks that have not fetched the records read for them.
constexpr std::chrono::seconds kLingerForRecords{2};

}  // namespace

void StreamService::set_rank(int rank, int ranks) {
  const Lock lock(mutex_);
  rank_ = rank;
  last_requested_.assign(static_cast<size_t>(ranks), kNothing);
  heard_.assign(static_cast<size_t>(ranks), clock_.now());
}

void StreamService::set_leader(Stream* stream) {
  Lock lock(mutex_);
  stream_ = stream;
  call_ended_.wait(lock, [&]() FOREBAY_REQUIRES(mutex_) { return calls_ == 0; });
}

void StreamService::serve_replay(std::shared_ptr<const ReplayRecords> replay) {
  const Lock lock(mutex_);
  replay_ = std::move(replay);
}

void StreamService::serve_shelf(std::shared_ptr<RecordShelf> shelf) {
  const Lock lock(mutex_);
  shelf_ = std::move(shelf);
}

void StreamService::begin_run(uint64_t run) {
  const Lock lock(mutex_);
  run_ = run;
  beginning_.reset();
  decisions_.clear();
  std::fill(last_requested_.begin(), last_requested_.end(), kNothing);
  if (shelf_) shelf_->begin_run(run);
}

void StreamService::decided(const Decision& decision) {
  const Lock lock(mutex_);
  decisions_.push_back({decision.first, encode_leader_response({.kind = Kind::kDecision, .decision = decision})});
}

void StreamService::begins(const std::vector<std::string>& after) {
  const Lock lock(mutex_);
  beginning_ = after;
}

void StreamService::ended(int64_t first) {
  const Lock lock(mutex_);
  decisions_.push_back({first, encode_leader_response({Kind::kEnd})});
}

void StreamService::linger(StreamClock::Time since) {
  const StreamClock::Time decided_by = since + kLinger;
  Lock lock(mutex_);
  request_arrived_.wait_until(lock, decided_by, [&]() FOREBAY_REQUIRES(mutex_) { return all_have_last_decision(); });
  if (!shelf_) return;
  const StreamClock::Time fetched_by = std::min(decided_by, StreamClock::real().now()) + kLingerForRecords;
  request_arrived_.wait_until(
      lock, fetched_by, [&]() FOREBAY_REQUIRES(mutex_) { return !shelf_->has_late_records() || all_have_left(); });
}

bool StreamService::all_have_last_decision() const {
  if (decisions_.empty() && !beginning_) return true;
  const int64_t last = decisions_.empty() ? kBeginning : decisions_.back().first;
  return std::all_of(last_requested_.begin() + 1, last_requested_.end(), [&](int64_t asked) { return asked >= last; });
}

bool StreamService::all_have_left() const {
  for (size_t rank = 0; rank < last_requested_.size(); ++rank)
    if (rank != static_cast<size_t>(rank_) && last_requested_[rank] != kLeft) return false;
  return true;
}

bool StreamService::may_decide() {
  const Lock lock(mutex_);
  return decisions_.size() < kMaxAhead;
}

std::string StreamService::awaited() const {
  const Lock lock(mutex_);
  return fmt::format("rank {}, which is {} decisions behind", slowest(), decisions_.size());
}

Status StreamService::check_liveness() const {
  const StreamClock::Time now = clock_.now();
  const Lock lock(mutex_);
  if (decisions_.size() < kMaxAhead || last_requested_.size() < 2) return {};
  const int rank = slowest();
  if (now - heard_[static_cast<size_t>(rank)] <= kLongestSilence) return {};
  return unavailable(
      fmt::format("rank {}, which is {} batches (or windows) behind, has asked rank 0 for nothing for {} s: it is "
                  "gone, or does not reach rank "
                  "0; start all ranks again, from a state",
                  rank, decisions_.size(), kLongestSilence.count()));
}

Result<Response> StreamService::answer(std::span<const uint8_t> bytes) {
  FOREBAY_ASSIGN(const RankRequest request, parse_rank_request(bytes));
  // The rank is alive, even if its request is of another run.
  note_heard(request.rank);
  switch (request.kind) {
    case RankRequest::Kind::kDecision: return Response{find_decision(request)};
    case RankRequest::Kind::kBeginning: return Response{encode_leader_response(find_beginning(request))};
    case RankRequest::Kind::kReplayRecords: return encode_rank_items(request.kind, find_replay_records(request));
    case RankRequest::Kind::kNotes: return encode_rank_items(request.kind, find_notes(request));
    case RankRequest::Kind::kLogRecords: return encode_rank_items(request.kind, find_log_records(request));
    case RankRequest::Kind::kGoodbye: note_goodbye(request); break;
    case RankRequest::Kind::kSignOfLife: break;
  }
  return Response();
}

// Done without the lock: ReplayRecords::retain() reads the stream under its own lock, and the
// stream calls decided() under its own.
std::vector<FoundItem> StreamService::find_replay_records(const RankRequest& request) const {
  const std::shared_ptr<const ReplayRecords> replay = under_lock(&StreamService::replay_);
  const bool same_run = request.run == under_lock(&StreamService::run_);
  std::vector<FoundItem> found(request.items.size());
  for (size_t i = 0; replay && i < found.size(); ++i) {
    const auto number = static_cast<int64_t>(request.items[i].number);
    if (replay->may_still_add(number)) found[i].coming = 1;
    if (same_run) found[i].body = replay->bytes_of(number);
  }
  return found;
}

// The shelf compares the run itself, under the lock with which it drops the notes of a run.
std::vector<FoundItem> StreamService::find_notes(const RankRequest& request) const {
  const std::shared_ptr<RecordShelf> shelf = under_lock(&StreamService::shelf_);
  std::vector<FoundItem> found;
  for (const RankItem& from : request.items) {
    std::optional<Buffer> notes;
    if (shelf) notes = shelf->notes_from(request.run, request.rank, from.partition, from.number);
    if (!notes) {
      found.push_back({.coming = 1});
    } else {
      found.push_back(notes->empty() ? FoundItem{} : FoundItem{std::move(notes)});
    }
  }
  return found;
}

std::vector<FoundItem> StreamService::find_log_records(const RankRequest& request) {
  const std::shared_ptr<RecordShelf> shelf = under_lock(&StreamService::shelf_);
  std::vector<FoundItem> found;
  for (const RankItem& item : request.items)
    found.push_back({shelf ? shelf->take_record(request.run, item.partition, item.number) : std::nullopt});
  // With the lock held, since linger() could otherwise miss this between its check and its wait.
  const Lock lock(mutex_);
  request_arrived_.notify_all();
  return found;
}

Buffer StreamService::find_decision(const RankRequest& request) {
  const int64_t first = request.first();
  Buffer response;
  bool may_decide_again = false;
  {
    const Lock lock(mutex_);
    if (std::optional<LeaderResponse> other = other_run_response(request)) return encode_leader_response(*other);
    if (!is_other_rank(request.rank)) return encode_leader_response({Kind::kNotYet});
    const auto decision = std::lower_bound(decisions_.begin(), decisions_.end(), first,
                                           [](const auto& one, int64_t sought) { return one.first < sought; });
    if (decision == decisions_.end()) return encode_leader_response({Kind::kNotYet});
    // A later decision exists, so none will ever begin at `first`.
    if (decision->first != first) return encode_leader_response({Kind::kNoSuchDecision});
    response = decision->second;
    may_decide_again = note_request(request.rank, first);
  }
  if (may_decide_again) let_decide();
  return response;
}

LeaderResponse StreamService::find_beginning(const RankRequest& request) {
  const Lock lock(mutex_);
  if (std::optional<LeaderResponse> other = other_run_response(request)) return *other;
  if (!beginning_ || !is_other_rank(request.rank)) return {Kind::kNotYet};
  (void)note_request(request.rank, kBeginning);
  return {.kind = Kind::kBeginning, .after = *beginning_};
}

void StreamService::note_goodbye(const RankRequest& request) {
  {
    const Lock lock(mutex_);
    if (request.run != run_ || !is_other_rank(request.rank) || !note_request(request.rank, kLeft)) return;
  }
  let_decide();
}

// Lets the stream look for what it may decide now. Calls it without the lock, which the stream takes
// while it holds its own.
void StreamService::let_decide() {
  Stream* stream = nullptr;
  {
    const Lock lock(mutex_);
    if (stream_ == nullptr) return;
    stream = stream_;
    ++calls_;
  }
  stream->look_again();
  const Lock lock(mutex_);
  --calls_;
  call_ended_.notify_all();
}

void StreamService::note_heard(int rank) {
  const Lock lock(mutex_);
  if (is_other_rank(rank)) heard_[static_cast<size_t>(rank)] = clock_.now();
}

// The response to a request of another run; nothing if the request is of this run. Before rank 0
// has begun its first run, the response is kNotYet.
std::optional<LeaderResponse> StreamService::other_run_response(const RankRequest& request) const {
  if (request.run == run_) return std::nullopt;
  return run_ > 0 ? LeaderResponse{Kind::kInAnotherRun, run_} : LeaderResponse{Kind::kNotYet};
}

int StreamService::slowest() const {
  return static_cast<int>(std::min_element(last_requested_.begin() + 1, last_requested_.end()) -
                          last_requested_.begin());
}

bool StreamService::is_other_rank(int rank) const {
  return rank != rank_ && static_cast<size_t>(rank) < last_requested_.size();
}

// Records a request of a rank. Returns whether the stream may decide again now and could not before:
// the caller then calls let_decide().
bool StreamService::note_request(int rank, int64_t first) {
  int64_t& asked = last_requested_[static_cast<size_t>(rank)];
  asked = std::max(asked, first);
  request_arrived_.notify_all();
  return drop_acknowledged();
}

// Drops the decisions that all ranks have: a rank that requests a decision has all earlier ones.
// Returns true if more may be decided now and could not be before.
bool StreamService::drop_acknowledged() {
  // Until all ranks have sent a request the minimum is kNothing, and nothing is dropped.
  const int64_t least = *std::min_element(last_requested_.begin() + 1, last_requested_.end());
  const bool full = decisions_.size() >= kMaxAhead;
  while (!decisions_.empty() && decisions_.front().first < least) decisions_.pop_front();
  return full && decisions_.size() < kMaxAhead;
}

}  // namespace forebay
