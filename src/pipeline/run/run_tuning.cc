#include "pipeline/run/run_tuning.h"

#include <utility>

namespace forebay {

void RunTuning::set_threads(int64_t now_ns, int threads, std::string reason) {
  before_ns_ = thread_ns(now_ns);
  since_ns_ = now_ns;
  note({now_ns, "threads", std::exchange(threads_, threads), threads, std::move(reason)});
}

void RunTuning::record_requests(int64_t now_ns, int requests) {
  if (2 * requests < 3 * requests_ && 3 * requests > 2 * requests_) return;
  std::string reason = requests > requests_
                           ? "the store answers more of them at once without taking longer"
                           : "fewer bring as much: the store takes longer, refuses, or has others to serve";
  note({now_ns, "requests", std::exchange(requests_, requests), requests, std::move(reason)});
}

void RunTuning::note(Decision decision) {
  if (decisions_.size() == kMost) decisions_.pop_front();
  decisions_.push_back(std::move(decision));
}

}  // namespace forebay
