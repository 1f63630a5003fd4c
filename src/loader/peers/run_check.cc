#include "loader/peers/run_check.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string_view>
#include <utility>

namespace forebay {

namespace {

constexpr std::chrono::milliseconds kAnswerDeadline{1000};
// Between questions, while rank 0 is not there, or has not gone through its data set yet.
constexpr std::chrono::milliseconds kShortestPause{50}, kLongestPause{5000};
constexpr uint64_t kMostTermsBytes = uint64_t{64} << 10;

// What else than a mistake of a rank's it may be.
std::string advice(std::string_view told) {
  if (told.find("deal=") != std::string_view::npos)
    return "; deal='auto' follows the .cache() of each rank, in memory or on disk: give deal= and hosts= where these "
           "differ";
  if (told.find("data set=") != std::string_view::npos)
    return "; another job, or a loader that ranks open in another order, wants peers of its own";
  return "";
}

}  // namespace

Hash128 run_terms_key() { return hash128(std::string_view("what the run of rank 0 is of")); }

/// What is known so far. Outlives the check where an answer comes late.
struct RunCheck::Answer {
  Answer(int of, RunTerms own) : rank(of), terms(std::move(own)) {}

  const int rank;
  const RunTerms terms;
  std::mutex mutex;
  bool asked = false;  ///< and the answer is on its way
  bool known = false;
  Status same;
  std::chrono::milliseconds pause = kShortestPause;
  std::chrono::steady_clock::time_point asks_again;

  void take(const Result<std::vector<AnsweredKey>>& answers) {
    const std::lock_guard lock(mutex);
    asked = false;
    if (answers.ok() && answers->size() == 1 && answers->front().state == AnsweredKey::State::kHere) {
      const Buffer& body = answers->front().body;
      same = terms.check_same(rank, {reinterpret_cast<const char*>(body.data()), body.size()});
      if (same.code() == Code::kStateMismatch)
        same = Status(Code::kStateMismatch, same.message() + advice(same.message()));
      // Nonsense is a bad peer's, which is nobody's error.
      known = same.ok() || same.code() == Code::kStateMismatch;
    }
    if (!known) same = Status();
    asks_again = std::chrono::steady_clock::now() + pause;
    pause = std::min(2 * pause, kLongestPause);
  }
};

RunCheck::RunCheck(std::shared_ptr<Transport> transport, PeerHost leader, int rank, RunTerms terms)
    : transport_(std::move(transport)), leader_(std::move(leader)),
      answer_(std::make_shared<Answer>(rank, std::move(terms))) {}

Status RunCheck::look() {
  {
    const std::lock_guard lock(answer_->mutex);
    if (answer_->known || answer_->asked) return answer_->same;
    if (std::chrono::steady_clock::now() < answer_->asks_again) return {};
    answer_->asked = true;
  }
  transport_->fetch(leader_, {{run_terms_key(), kMostTermsBytes}}, kAnswerDeadline, stop_.get_token(),
                    [answer = answer_](const Result<std::vector<AnsweredKey>>& answers) { answer->take(answers); });
  return {};
}

}  // namespace forebay
