#include "stream/ranks/followed_chunks.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace forebay {

namespace {

constexpr size_t kMostTold = 1024;  // chunks that were not needed yet
// Between questions, while what comes is not decided yet.
constexpr std::chrono::milliseconds kShortestRest{1}, kLongestRest{20};
constexpr std::chrono::seconds kSignOfLife{
    10};  // who needs nothing asks that often, so that rank 0 knows that it is there
// A chunk is tens of bytes a partition, and a topic may have thousands of these.
constexpr uint64_t kMostChunkBytes = uint64_t{16} << 20;

std::string_view text_of(const Buffer& body) { return {reinterpret_cast<const char*>(body.data()), body.size()}; }

// Nothing where it is no list of offsets of that log.
std::optional<std::vector<std::string>> parse_offsets(std::string_view text, const RecordLog& log) {
  const nlohmann::json offsets = nlohmann::json::parse(text, nullptr, false);
  if (!offsets.is_array() || offsets.size() != log.partitions().size()) return std::nullopt;
  std::vector<std::string> parsed;
  for (const nlohmann::json& offset : offsets) {
    if (!offset.is_string()) return std::nullopt;
    parsed.push_back(offset.get<std::string>());
    if (!parsed.back().empty() && !log.check_offset(parsed.back()).ok()) return std::nullopt;
  }
  return parsed;
}

bool is_here(const Result<std::vector<AnsweredKey>>& answer) {
  return answer.ok() && answer->size() == 1 && answer->front().state == AnsweredKey::State::kHere;
}

}  // namespace

FollowedChunks::FollowedChunks(std::shared_ptr<Transport> transport, PeerHost leader, int rank, RunTerms terms,
                               Stream& stream, std::chrono::milliseconds patience)
    : transport_(std::move(transport)), leader_(std::move(leader)), rank_(rank), terms_(std::move(terms)),
      patience_(patience), stream_(stream), thread_([this](std::stop_token stop) { ask_on(std::move(stop)); }) {}

void FollowedChunks::stop() {
  thread_.request_stop();
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void FollowedChunks::begin_anew(uint64_t seeks) {
  const std::lock_guard lock(mutex_);
  seeks_ = seeks;
  asks_beginning_ = false;
  beginning_.reset();
  next_.reset();
  told_.clear();
  ended_ = false;
  failure_ = {};
  trouble_.clear();
  elsewhere_since_.reset();
}

Result<ChunkGuide::Answer> FollowedChunks::at(int64_t first) {
  const std::lock_guard lock(mutex_);
  FOREBAY_RETURN_IF_ERROR(failure_);
  while (!told_.empty() && told_.front().first < first) told_.pop_front();
  changed_.notify_all();
  if (!told_.empty() && told_.front().first == first) {
    const auto& [number, chunk] = told_.front();
    return chunk ? Answer{Says::kThis, *chunk} : Answer{Says::kEnd, {}};
  }
  // After begin_anew(), or where a state's own chunk led past what was asked for.
  if (next_ != first) {
    told_.clear();
    ended_ = false;
    next_ = first;
  }
  return Answer{Says::kLater, {}};
}

std::optional<std::vector<std::string>> FollowedChunks::beginning() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(asks_beginning_, true)) changed_.notify_all();
  return beginning_;
}

std::string FollowedChunks::awaited() const {
  const std::lock_guard lock(mutex_);
  return trouble_.empty() ? "rank 0, which decides what comes next" : "rank 0: " + trouble_;
}

bool FollowedChunks::wants_more() const {
  if (!failure_.ok()) return false;
  return wants_beginning() || (next_ && !ended_ && told_.size() < kMostTold);
}

// Ahead of what is needed, so that nobody waits for an answer, or for a rank that has come to its end and is gone.
void FollowedChunks::ask_on(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  auto rest = kShortestRest;
  while (!stop.stop_requested()) {
    const bool wants = changed_.wait_for(lock, stop, kSignOfLife, [&] { return wants_more(); });
    if (stop.stop_requested() || (!wants && has_all())) continue;
    const RankQuestion what = wants ? question() : RankQuestion::kRun;
    const int64_t first = what == RankQuestion::kChunk ? *next_ : 0;
    const uint64_t seeks = seeks_;
    lock.unlock();
    const RankKey key{what, rank_, seeks, static_cast<uint64_t>(first)};
    const Result<std::vector<AnsweredKey>> answer =
        ask_rank(*transport_, leader_, {{key.key(), kMostChunkBytes, kComesSoonerOrLater}}, stop);
    lock.lock();
    if (stop.stop_requested()) return;
    if (!wants) continue;  // as long as nothing is needed rank 0 may be silent
    // begin_anew() or at() came meanwhile: the answer is of another run, or of another place of this one.
    if (seeks != seeks_ || (what == RankQuestion::kChunk && next_ != first)) continue;
    const bool news = what == RankQuestion::kRun         ? take_run(answer)
                      : what == RankQuestion::kBeginning ? take_beginning(answer)
                                                         : take(first, answer);
    if (news) {
      rest = kShortestRest;
      lock.unlock();
      // It calls at(), which takes this lock under the stream's.
      stream_.look_again();
      lock.lock();
    } else {
      changed_.wait_for(lock, stop, rest, [] { return false; });
      rest = std::min(2 * rest, kLongestRest);
    }
  }
}

// Nothing is read before the beginning is known, so nothing is decided either; and nothing of another run is wanted.
RankQuestion FollowedChunks::question() const {
  if (!same_run_) return RankQuestion::kRun;
  return wants_beginning() ? RankQuestion::kBeginning : RankQuestion::kChunk;
}

// True where rank 0 has been silent for too long.
bool FollowedChunks::note_answer(const Result<std::vector<AnsweredKey>>& answer) {
  const auto now = std::chrono::steady_clock::now();
  // From the first question that failed on: with enough told there may have been none for long.
  if (answer.ok() || trouble_.empty()) heard_ = now;
  trouble_ = answer.ok() ? "" : answer.status().message();
  if (now - heard_ <= patience_) return false;
  failure_ = unavailable(fmt::format("rank 0, which decides what comes next, has not answered for {} s: {}",
                                     std::chrono::ceil<std::chrono::seconds>(patience_).count(), trouble_));
  return true;
}

// Whether rank 0 says that it is of another run of the loader. All may be about to load a state, one after the other; for ever they are not.
bool FollowedChunks::note_elsewhere(const Result<std::vector<AnsweredKey>>& answer) {
  const std::optional<uint64_t> seeks =
      is_here(answer) ? ElsewhereAnswer::from(text_of(answer->front().body)) : std::nullopt;
  if (!seeks) {
    if (answer.ok()) elsewhere_since_.reset();
    return false;
  }
  // All begin with one, when they open.
  const auto loads = [](uint64_t count) { return fmt::format("{} time(s)", count - std::min<uint64_t>(count, 1)); };
  trouble_ = fmt::format(
      "it has loaded a state {}, and rank {} {}: load the same states on all ranks, and start all "
      "again where one is",
      loads(*seeks), rank_, loads(seeks_));
  const auto now = std::chrono::steady_clock::now();
  if (!elsewhere_since_) elsewhere_since_ = now;
  if (now - *elsewhere_since_ > patience_)
    failure_ = Status(Code::kStateMismatch, "rank 0, which decides what comes next, is elsewhere: " + trouble_);
  return true;
}

bool FollowedChunks::take_run(const Result<std::vector<AnsweredKey>>& answer) {
  if (note_answer(answer)) return true;
  if (!is_here(answer)) return false;
  failure_ = terms_.check_same(rank_, text_of(answer->front().body));
  // Otherwise it is asked again, and refused again, wherever this loader goes.
  same_run_ = failure_.ok();
  return true;
}

bool FollowedChunks::take_beginning(const Result<std::vector<AnsweredKey>>& answer) {
  if (note_answer(answer)) return true;
  if (note_elsewhere(answer)) return !failure_.ok();
  if (!is_here(answer)) return false;
  beginning_ = parse_offsets(text_of(answer->front().body), stream_.log());
  if (!beginning_) failure_ = Status(Code::kCorrupt, "rank 0 gave something else than where the stream begins");
  return true;
}

// Whether it is known now what comes, or that nothing will.
bool FollowedChunks::take(int64_t first, const Result<std::vector<AnsweredKey>>& answer) {
  if (note_answer(answer)) return true;
  if (note_elsewhere(answer)) return !failure_.ok();
  // Mostly kComing: it is not decided yet, for which there is no limit. A stream may be quiet for days.
  if (!is_here(answer)) return false;
  const std::string_view text = text_of(answer->front().body);
  if (text == kNoSuchChunk) {
    failure_ =
        Status(Code::kStateMismatch,
               fmt::format("rank 0 has no batch (or window) that begins with record {}, of which rank {} would go "
                           "on, any more: start all ranks again, from one state",
                           first, rank_));
    return true;
  }
  if (text == "end") {
    told_.push_back({first, std::nullopt});
    return ended_ = true;
  }
  Result<Chunk> chunk = Chunk::from_json(text, stream_.log().partitions().size());
  if (!chunk.ok() || chunk->first != first) {
    failure_ = Status(Code::kCorrupt, "rank 0 gave something else than the next chunk of the stream");
    return true;
  }
  next_ = first + chunk->size();
  told_.push_back({first, std::move(*chunk)});
  return true;
}

}  // namespace forebay
