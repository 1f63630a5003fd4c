#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cluster/run_terms.h"
#include "stream/ranks/rank_questions.h"
#include "stream/stream.h"

namespace forebay {

/// What rank 0 decides, for the stream of another rank: a thread asks for it, ahead of what is needed.
class FollowedChunks final : public ChunkGuide {
 public:
  /// `patience`: with a rank 0 that is silent, or has gone elsewhere than this rank.
  FollowedChunks(std::shared_ptr<Transport> transport, PeerHost leader, int rank, RunTerms terms, Stream& stream,
                 std::chrono::milliseconds patience = kLongestSilence);
  ~FollowedChunks() override { stop(); }
  void stop();

  /// What was told is of another run.
  void begin_anew(uint64_t seeks);
  Result<Answer> at(int64_t first) override;
  std::optional<std::vector<std::string>> beginning() override;
  std::string awaited() const override;

 private:
  static constexpr std::chrono::seconds kLongestSilence{60};

  bool wants_beginning() const { return asks_beginning_ && !beginning_; }
  bool wants_more() const;
  void ask_on(std::stop_token stop);
  bool has_all() const { return ended_ || !failure_.ok(); }
  bool note_elsewhere(const Result<std::vector<AnsweredKey>>& answer);
  bool note_answer(const Result<std::vector<AnsweredKey>>& answer);
  RankQuestion question() const;
  bool take_run(const Result<std::vector<AnsweredKey>>& answer);
  bool take_beginning(const Result<std::vector<AnsweredKey>>& answer);
  bool take(int64_t first, const Result<std::vector<AnsweredKey>>& answer);

  const std::shared_ptr<Transport> transport_;
  const PeerHost leader_;
  const int rank_;
  const RunTerms terms_;
  const std::chrono::milliseconds patience_;
  Stream& stream_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  uint64_t seeks_ = 0;
  bool same_run_ = false;  // as rank 0 has
  bool asks_beginning_ = false;
  std::optional<std::vector<std::string>> beginning_;
  std::optional<int64_t> next_;                                // what is asked for
  std::deque<std::pair<int64_t, std::optional<Chunk>>> told_;  // and was not needed yet; nothing: the end
  bool ended_ = false;
  Status failure_;
  std::string trouble_;
  std::chrono::steady_clock::time_point heard_;  // when rank 0 last answered
  std::optional<std::chrono::steady_clock::time_point> elsewhere_since_;
  std::jthread thread_;
};

}  // namespace forebay
