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
constexpr RunCheck::Time kShortestDelay = 50ms, kLongestDelay = 5s;
// The pause while all is known to be the same, and changes are possible.
constexpr RunCheck::Time kRenewal = 1min;

Buffer run_request() { return MessageFields(kRunRequest).done(); }

}  // namespace

void RunService::set_terms(RunTerms terms) {
  const Lock lock(mutex_);
  terms_ = std::move(terms);
}

void RunService::edit(const std::function<void(RunChanges&)>& change) {
  const Lock lock(mutex_);
  if (terms_) change(terms_->changes);
}

Result<Response> RunService::answer(std::span<const uint8_t> request) {
  FOREBAY_RETURN_IF_ERROR(read_fields(request, kRunRequest).status());
  const Lock lock(mutex_);
  return Response{encode_run(terms_)};
}

struct RunCheck::LeaderTerms {
  LeaderTerms(int of, RunTerms own) : rank(of), terms(std::move(own)) {}

  // Returns whether the answer has the settings of rank 0. If so, `same` is set.
  Result<bool> compare(const Result<Buffer>& answer) {
    FOREBAY_RETURN_IF_ERROR(answer.status());
    FOREBAY_ASSIGN(const std::optional<RunTerms> leader, parse_run(answer->span()));
    if (!leader) return false;
    const Lock lock(mutex);
    const Status status = terms.check_same(rank, *leader);
    if (status.ok() && leader->changes.count() < terms.changes.count()) return true;  // rank 0 makes them later
    same = status;
    return same->ok() ? Result<bool>(true) : *same;
  }
  void ask_soon() FOREBAY_REQUIRES(mutex) {
    delay = kShortestDelay;
    next_request.reset();
  }

  const int rank;
  Mutex mutex;
  RunTerms terms FOREBAY_GUARDED_BY(mutex);
  /// Not set: it is unknown whether rank 0 has the same settings.
  std::optional<Status> same FOREBAY_GUARDED_BY(mutex);
  bool request_in_flight FOREBAY_GUARDED_BY(mutex) = false;  ///< by poll(), whose answer is still in flight
  Time delay FOREBAY_GUARDED_BY(mutex) = kShortestDelay;
  std::optional<Time> next_request FOREBAY_GUARDED_BY(mutex);
};

RunCheck::RunCheck(std::shared_ptr<Transport> transport, PeerHost leader, int rank, RunTerms terms)
    : transport_(std::move(transport)), leader_(std::move(leader)),
      leader_terms_(std::make_shared<LeaderTerms>(rank, std::move(terms))) {}

Status RunCheck::poll(Time now) {
  {
    LeaderTerms& known = *leader_terms_;
    const Lock lock(known.mutex);
    const bool renews = known.same && known.same->ok() && known.terms.changes.possible;
    if (known.same && !renews) return *known.same;
    if (known.request_in_flight || (known.next_request && now < *known.next_request)) return {};
    known.request_in_flight = true;
    known.next_request = now + (renews ? kRenewal : known.delay);
    known.delay = std::min(2 * known.delay, kLongestDelay);
  }
  transport_->call(leader_, kRunServiceName, run_request(), kRunLimits, stop_.get_token(),
                   [terms = leader_terms_](const Result<Buffer>& answer) {
                     // A malformed answer is the fault of a bad peer and no error of this rank.
                     (void)terms->compare(answer);
                     const Lock lock(terms->mutex);
                     terms->request_in_flight = false;
                   });
  return {};
}

Result<bool> RunCheck::ask(const std::stop_token& stop) {
  {
    const Lock lock(leader_terms_->mutex);
    if (leader_terms_->same) return leader_terms_->same->ok() ? Result<bool>(true) : *leader_terms_->same;
  }
  return leader_terms_->compare(call_and_wait(*transport_, leader_, kRunServiceName, run_request(), kRunLimits, stop));
}

void RunCheck::edit(const std::function<void(RunChanges&)>& change) {
  const Lock lock(leader_terms_->mutex);
  const uint64_t before = leader_terms_->terms.changes.count();
  change(leader_terms_->terms.changes);
  if (leader_terms_->terms.changes.count() == before) return;
  if (leader_terms_->same && leader_terms_->same->ok()) leader_terms_->same.reset();
  leader_terms_->ask_soon();
}

void RunCheck::ask_soon() {
  const Lock lock(leader_terms_->mutex);
  leader_terms_->ask_soon();
}

}  // namespace forebay
