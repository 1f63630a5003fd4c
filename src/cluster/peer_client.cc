#include "cluster/peer_client.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "telemetry/log.h"

namespace forebay {

namespace {

PeerHealth::Time now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace

thread_local const PeerClient::AnswerFrame* PeerClient::AnswerFrame::innermost_ = nullptr;

size_t PeerClient::AnswerFrame::count(const PeerClient& client) {
  size_t count = 0;
  for (const AnswerFrame* frame = innermost_; frame != nullptr; frame = frame->outer_)
    count += &frame->client_ == &client ? 1 : 0;
  return count;
}

PeerClient::PeerClient(Transport& transport, PeerHost host, PeerStoreOptions options)
    : host_(std::move(host)), options_(options), patience_(options.patience), transport_(transport), queue_(options) {}

bool PeerClient::may_ask() const { return health_.may_ask(now()); }

void PeerClient::read(PeerRead read) {
  {
    const Lock lock(mutex_);
    queue_.push(std::move(read));
  }
  send_waiting();
}

void PeerClient::report_failure(const std::string& why, PeerHealth::Contact contact) {
  if (health_.failed(now(), contact))
    log_warning(
        fmt::format("peer {} is backed off for a while ({}); its entries are read from storage", host_.address, why));
  std::deque<PeerRead> waiting;
  std::vector<Announced> announced;
  {
    const Lock lock(mutex_);
    queue_.failed(now());
    waiting = queue_.take_all();
    announced.swap(announced_);
  }
  for (const PeerRead& read : waiting) answer_empty(read);
  for (const Announced& each : announced) answer_empty(each.read);
}

void PeerClient::close() {
  timer_.close();
  // Close before the requests are stopped, so that all reads get Cancelled rather than an empty
  // buffer.
  calls.close();
  stop_.request_stop();
  const size_t own = AnswerFrame::count(*this);
  Lock lock(mutex_);
  // Every transport answers soon after a stop, so this wait ends.
  call_ended_.wait(lock, [&]() FOREBAY_REQUIRES(mutex_) { return open_calls_ <= own; });
}

void PeerClient::send_waiting() {
  while (true) {
    PeerCall call;
    std::deque<PeerRead> refused;
    {
      const Lock lock(mutex_);
      const PeerReadQueue::Next next = queue_.next(patience_);
      if (next == PeerReadQueue::Next::kWait) return;
      if (next == PeerReadQueue::Next::kGather) {
        if (queue_.begin_gathering())
          (void)timer_.at(timer_.now() + options_.gathering, [weak = weak_from_this()] {
            if (const auto self = weak.lock()) self->end_gathering();
          });
        return;
      }
      if (!stop_.stop_requested() && health_.try_begin(now())) {
        call = queue_.take_call(now());
        ++open_calls_;
      } else {
        refused = queue_.take_all();
      }
    }
    for (const PeerRead& read : refused) answer_empty(read);
    if (call.reads.empty()) return;
    send(std::move(call));
  }
}

void PeerClient::end_gathering() {
  {
    const Lock lock(mutex_);
    queue_.end_gathering();
  }
  send_waiting();
}

CallLimits PeerClient::limits(const std::vector<EntryRequest>& requests) const {
  uint64_t bytes = 0;
  for (const EntryRequest& each : requests) bytes += each.most_bytes;
  const auto times = static_cast<int64_t>(std::max<uint64_t>(1, bytes / options_.bytes));
  return {max_entry_response_bytes(requests), 2 * times * options_.deadline, options_.deadline};
}

void PeerClient::send(PeerCall call) {
  std::vector<EntryRequest> requests;
  for (PeerRead& read : call.reads) {
    ++read.attempts;
    requests.push_back(read.request);
  }
  const CallLimits within = limits(requests);
  Buffer encoded = encode_entry_request(requests);
  transport_.call(host_, kEntryServiceName, std::move(encoded), within, stop_.get_token(),
                  [self = shared_from_this(), call = std::move(call),
                   requests = std::move(requests)](const Result<Buffer>& response) mutable {
                    {
                      const AnswerFrame frame(*self);
                      self->on_response(std::move(call), response.ok() ? parse_entry_response(requests, *response)
                                                                       : Items(response.status()));
                    }
                    const Lock lock(self->mutex_);
                    --self->open_calls_;
                    self->call_ended_.notify_all();
                  });
}

void PeerClient::on_response(PeerCall call, Items items) {
  uint64_t bytes = 0;
  if (items.ok()) {
    for (const ResponseItem& each : *items) bytes += each.body.size();
  }
  {
    const Lock lock(mutex_);
    queue_.answered(call, now(), bytes);
  }
  update_health(items);  // before the answers, so that a caller that retries uses another source
  for (size_t i = 0; i < call.reads.size(); ++i) {
    if (!items.ok()) {
      answer_empty(call.reads[i]);
    } else if ((*items)[i].state == ResponseItem::State::kComing) {
      retry_later(std::move(call.reads[i]), (*items)[i].bytes);
    } else {
      patience_.decided(call.reads[i].wait, now());
      answer(call.reads[i], std::move((*items)[i]));
    }
  }
  {
    // Only after all reads are answered: each caller sends its next read at once, and these travel
    // together.
    const Lock lock(mutex_);
    queue_.finished(call);
  }
  send_waiting();
}

void PeerClient::update_health(const Items& items) {
  if (!items.ok()) {
    // A stop says nothing about the peer.
    const Code code = items.status().code();
    if (code == Code::kCancelled) return;
    report_failure(items.status().message(),
                   code == Code::kUnavailable ? PeerHealth::Contact::kUnreached : PeerHealth::Contact::kReached);
  } else if (std::ranges::any_of(
                 *items, [](const ResponseItem& item) { return item.state == ResponseItem::State::kDamaged; })) {
    report_failure("it sent damaged bytes", PeerHealth::Contact::kReached);
  } else {
    health_.answered();
  }
}

void PeerClient::answer(const PeerRead& read, ResponseItem item) {
  if (item.state == ResponseItem::State::kTooLarge && read.reports_size) {
    read.call->answer(out_of_budget("an entry of a peer is larger than what was set aside", item.bytes));
  } else {
    read.call->answer(item.state == ResponseItem::State::kHere ? std::move(item.body) : Buffer());
  }
}

void PeerClient::answer_empty(const PeerRead& read) {
  patience_.abandoned(read.wait);
  read.call->answer(Buffer());
}

void PeerClient::retry_later(PeerRead read, uint64_t work_left) {
  if (!patience_.announced(read.wait, work_left, now())) return answer_empty(read);
  const Timer::Time due = timer_.now() + retry_delay(read.attempts);
  const Lock lock(mutex_);
  announced_.push_back({due, std::move(read)});
  // One timer serves all announced entries: the earliest.
  if (due < wakes_at_) wake_at(due);
}

void PeerClient::wake_at(Timer::Time time) {
  wakes_at_ = time;
  (void)timer_.at(time, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->retry_due();
  });
}

void PeerClient::retry_due() {
  {
    const Lock lock(mutex_);
    const Timer::Time at = timer_.now();
    const auto due = std::stable_partition(announced_.begin(), announced_.end(),
                                           [&](const Announced& each) { return each.due > at; });
    for (auto each = due; each != announced_.end(); ++each) queue_.push(std::move(each->read));
    announced_.erase(due, announced_.end());
    Timer::Time earliest = Timer::Time::max();
    for (const Announced& each : announced_) earliest = std::min(earliest, each.due);
    wakes_at_ = earliest;
    if (!announced_.empty()) wake_at(earliest);
  }
  send_waiting();
}

}  // namespace forebay
