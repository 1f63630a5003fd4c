#include "stream/ranks/followed_decisions.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "stream/ranks/request_pauses.h"

namespace forebay {

namespace {

constexpr size_t kMaxReceived = 1024;  // decisions that were received ahead of need
// Interval at which a rank that needs nothing reports to rank 0 that it is alive.
constexpr std::chrono::seconds kSignOfLife{10};

bool are_offsets_of(const RecordLog& log, const std::vector<std::string>& offsets) {
  return std::ranges::all_of(offsets,
                             [&](const std::string& one) { return one.empty() || log.check_offset(one).ok(); });
}

}  // namespace

FollowedDecisions::FollowedDecisions(std::shared_ptr<Job> job, Stream& stream, std::string service,
                                     const StreamClock& clock)
    : job_(std::move(job)), service_(std::move(service)), clock_(clock), stream_(stream),
      thread_([this](std::stop_token stop) { request_decisions(std::move(stop)); }) {}

void FollowedDecisions::stop() {
  thread_.request_stop();
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void FollowedDecisions::begin_run(uint64_t run) {
  const Lock lock(mutex_);
  run_ = run;
  asks_beginning_ = false;
  beginning_.reset();
  next_.reset();
  received_.clear();
  ended_ = false;
  failure_ = {};
  trouble_.clear();
  other_run_since_.reset();
}

Result<DecisionGuide::Answer> FollowedDecisions::at(int64_t first) {
  const Lock lock(mutex_);
  FOREBAY_RETURN_IF_ERROR(failure_);
  while (!received_.empty() && received_.front().first < first) received_.pop_front();
  changed_.notify_all();
  if (!received_.empty() && received_.front().first == first) {
    const auto& [number, decision] = received_.front();
    return decision ? Answer{Kind::kDecision, *decision} : Answer{Kind::kEnd, {}};
  }
  // This happens after begin_run(), and if a state's own decision ends past the requested record.
  if (next_ != first) {
    received_.clear();
    ended_ = false;
    next_ = first;
  }
  return Answer{Kind::kNotYet, {}};
}

std::optional<std::vector<std::string>> FollowedDecisions::beginning() {
  const Lock lock(mutex_);
  if (!std::exchange(asks_beginning_, true)) changed_.notify_all();
  return beginning_;
}

std::string FollowedDecisions::awaited() const {
  const Lock lock(mutex_);
  return trouble_.empty() ? "rank 0, which decides what comes next" : "rank 0: " + trouble_;
}

bool FollowedDecisions::wants_more() const {
  if (!failure_.ok()) return false;
  return wants_beginning() || (next_ && !ended_ && received_.size() < kMaxReceived);
}

// Decisions are requested ahead of need, so that the stream does not wait for an answer, or for a
// rank 0 that has finished and left.
void FollowedDecisions::request_decisions(std::stop_token stop) {
  Lock lock(mutex_);
  auto pause = kShortestPause;
  while (!stop.stop_requested()) {
    const bool wants =
        changed_.wait_for(lock, stop, kSignOfLife, [&]() FOREBAY_REQUIRES(mutex_) { return wants_more(); });
    if (stop.stop_requested() || (!wants && needs_nothing())) continue;
    const Exchanged result = exchange_once(lock, wants, stop);
    if (stop.stop_requested()) return;
    if (result == Exchanged::kNews) {
      pause = kShortestPause;
      lock.unlock();
      // look_again() calls at(), which takes this lock while the stream holds its own.
      stream_.look_again();
      lock.lock();
    } else if (result == Exchanged::kNoNews) {
      changed_.wait_for(lock, stop, pause, [] { return false; });
      pause = std::min(2 * pause, kLongestPause);
    }
  }
}

// Sends one request and applies its answer: the check that rank 0 has the same settings, until it
// has confirmed that, then requests for decisions. Unless this rank `wants` something, sends a sign
// of life. Releases the lock during the call.
FollowedDecisions::Exchanged FollowedDecisions::exchange_once(Lock& lock, bool wants, const std::stop_token& stop) {
  const bool checks = wants && !same_run_;
  const RankRequest asked = wants ? request() : RankRequest{Asks::kSignOfLife, job_->rank(), run_};
  Result<bool> same = true;
  Result<Buffer> response = Buffer();
  {
    const Unlock unlocked(lock, mutex_);
    if (checks) {
      same = job_->ask_run(stop);
    } else {
      response = ask(asked, stop);
    }
  }
  // After a sign of life rank 0 may be silent. If begin_run() or at() was called in the meantime,
  // the answer is for another run or record.
  if (stop.stop_requested() || !wants || !is_current(asked)) return Exchanged::kNothing;
  const bool news = checks ? check_run(same) : apply_response(asked, response);
  return news ? Exchanged::kNews : Exchanged::kNoNews;
}

// The beginning comes first: rank 0 reads and decides nothing before it is known.
RankRequest FollowedDecisions::request() const {
  if (wants_beginning()) return {Asks::kBeginning, job_->rank(), run_};
  return {Asks::kDecision, job_->rank(), run_, {{0, static_cast<uint64_t>(*next_)}}};
}

bool FollowedDecisions::is_current(const RankRequest& asked) const {
  return asked.run == run_ && (asked.kind != Asks::kDecision || next_ == asked.first());
}

// A response that was damaged in transfer counts as a failed call.
Result<Buffer> FollowedDecisions::ask(const RankRequest& request, const std::stop_token& stop) const {
  FOREBAY_ASSIGN(Buffer response,
                 job_->ask(0, service_, encode_rank_request(request), {kMaxLeaderBytes, kRankDeadline}, stop));
  if (request.kind != Asks::kSignOfLife) FOREBAY_RETURN_IF_ERROR(check_leader_response(response.span()));
  return response;
}

// Records whether rank 0 has answered. Returns true, and fails, if it has been silent for too long.
bool FollowedDecisions::is_silent_too_long(const Status& answered) {
  const auto now = clock_.now();
  // The silence begins with the first failed call: with many decisions in store there may have been
  // no call for long.
  if (answered.ok() || trouble_.empty()) heard_ = now;
  trouble_ = answered.message();
  if (now - heard_ <= kLongestSilence) return false;
  failure_ = unavailable(fmt::format("rank 0, which decides what comes next, has not answered for {} s: {}",
                                     kLongestSilence.count(), trouble_));
  return true;
}

// Rank 0 is in another run of the loader. Ranks may load a state one after the other, so this is an
// error only if it lasts.
void FollowedDecisions::note_other_run(uint64_t run) {
  // Every rank counts the run that begins when its loader opens, before any state is loaded.
  const auto loads = [](uint64_t count) { return fmt::format("{} time(s)", count - std::min<uint64_t>(count, 1)); };
  trouble_ = fmt::format(
      "it has loaded a state {}, and rank {} {}: load the same states on all ranks, and start all "
      "again where one is",
      loads(run), job_->rank(), loads(run_));
  const auto now = clock_.now();
  if (!other_run_since_) other_run_since_ = now;
  if (now - *other_run_since_ > kLongestSilence)
    failure_ = Status(Code::kStateMismatch, "rank 0, which decides what comes next, is elsewhere: " + trouble_);
}

bool FollowedDecisions::check_run(const Result<bool>& same) {
  // Later runs check again, and rank 0 refuses again.
  if (same.status().code() == Code::kStateMismatch) failure_ = same.status();
  if (!failure_.ok() || is_silent_too_long(same.status())) return true;
  same_run_ = same.ok() && *same;
  return same_run_;
}

// Returns whether the answer changes what the stream knows: the next decision, the end, or a
// failure.
bool FollowedDecisions::apply_response(const RankRequest& request, const Result<Buffer>& answer) {
  if (is_silent_too_long(answer.status())) return true;
  if (!answer.ok()) return false;
  Result<LeaderResponse> response = parse_leader_response(answer->span(), stream_.log().partitions().size());
  if (!response.ok()) {
    failure_ =
        Status(Code::kCorrupt, "rank 0 gave something else than what comes next: " + response.status().message());
    return true;
  }
  if (response->kind == Leader::kInAnotherRun) {
    note_other_run(response->run);
    return !failure_.ok();
  }
  other_run_since_.reset();
  // Waiting for a decision has no limit: a stream may be quiet for days.
  if (response->kind == Leader::kNotYet) return false;
  if (request.kind == Asks::kDecision) return add_decision(request.first(), *std::move(response));
  if (response->kind == Leader::kBeginning && are_offsets_of(stream_.log(), response->after)) {
    beginning_ = std::move(response->after);
  } else {
    failure_ = Status(Code::kCorrupt, "rank 0 gave something else than where the stream begins");
  }
  return true;
}

// Stores the answer to a request for the decision that begins with record `first`: the decision, or
// the end of the stream. An answer that is neither is a failure. Returns true, as apply_response().
bool FollowedDecisions::add_decision(int64_t first, LeaderResponse response) {
  if (response.kind == Leader::kNoSuchDecision) {
    failure_ =
        Status(Code::kStateMismatch,
               fmt::format("rank 0 has no batch (or window) that begins with record {}, of which rank {} would go "
                           "on, any more: start all ranks again, from one state",
                           first, job_->rank()));
    return true;
  }
  if (response.kind == Leader::kEnd) {
    received_.push_back({first, std::nullopt});
    ended_ = true;
    return true;
  }
  Decision& decision = response.decision;
  if (response.kind != Leader::kDecision || decision.first != first) {
    failure_ = Status(Code::kCorrupt, "rank 0 gave something else than the next decision of the stream");
    return true;
  }
  next_ = decision.end();
  received_.push_back({first, std::move(decision)});
  return true;
}

}  // namespace forebay
