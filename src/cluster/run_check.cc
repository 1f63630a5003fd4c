#include "cluster/run_check.h"

#include <algorithm>
#include <utility>

#include "cluster/message.h"

namespace forebay {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view kRunRequest = "fbrunrq1";
const CallLimits kRunLimits(uint64_t{1} << 20, 1000ms);
// Pauses between questions while rank 0 is unavailable or has not set its settings yet.
constexpr RunCheck::Time kShortestPause = 50ms, kLongestPause = 5s;

Buffer run_request() { return MessageFields(kRunRequest).done(); }

}  // namespace

void RunService::set_terms(RunTerms terms) {
  const Lock lock(mutex_);
  terms_ = std::move(terms);
}

Result<Response> RunService::answer(std::span<const uint8_t> request) {
  FOREBAY_RETURN_IF_ERROR(read_fields(request, kRunRequest).status());
  const Lock lock(mutex_);
  return Response{encode_run(terms_)};
}

struct RunCheck::Known {
  Known(int of, RunTerms own) : rank(of), terms(std::move(own)) {}

  // Returns whether the answer has the settings of rank 0. If so, `same` is set.
  Result<bool> take(const Result<Buffer>& answer) {
    FOREBAY_RETURN_IF_ERROR(answer.status());
    FOREBAY_ASSIGN(const std::optional<RunTerms> leader, parse_run(answer->span()));
    if (!leader) return false;
    const Lock lock(mutex);
    same = terms.check_same(rank, *leader);
    return same->ok() ? Result<bool>(true) : *same;
  }

  const int rank;
  const RunTerms terms;
  Mutex mutex;
  std::optional<Status> same FOREBAY_GUARDED_BY(mutex);  ///< not set: the settings of rank 0 are unknown
  bool asked FOREBAY_GUARDED_BY(mutex) = false;          ///< by look(), whose answer is still in flight
  Time pause FOREBAY_GUARDED_BY(mutex) = kShortestPause;
  std::optional<Time> asks_again FOREBAY_GUARDED_BY(mutex);
};

RunCheck::RunCheck(std::shared_ptr<Transport> transport, PeerHost leader, int rank, RunTerms terms)
    : transport_(std::move(transport)), leader_(std::move(leader)),
      known_(std::make_shared<Known>(rank, std::move(terms))) {}

Status RunCheck::look(Time now) {
  {
    const Lock lock(known_->mutex);
    if (known_->same) return *known_->same;
    if (known_->asked || (known_->asks_again && now < *known_->asks_again)) return {};
    known_->asked = true;
    known_->asks_again = now + known_->pause;
    known_->pause = std::min(2 * known_->pause, kLongestPause);
  }
  transport_->call(leader_, kRunServiceName, run_request(), kRunLimits, stop_.get_token(),
                   [known = known_](const Result<Buffer>& answer) {
                     // A malformed answer is the fault of a bad peer and no error of this rank.
                     (void)known->take(answer);
                     const Lock lock(known->mutex);
                     known->asked = false;
                   });
  return {};
}

Result<bool> RunCheck::ask(const std::stop_token& stop) {
  {
    const Lock lock(known_->mutex);
    if (known_->same) return known_->same->ok() ? Result<bool>(true) : *known_->same;
  }
  return known_->take(call_and_wait(*transport_, leader_, kRunServiceName, run_request(), kRunLimits, stop));
}

}  // namespace forebay
