#include "stream/ranks/stream_group.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <future>
#include <utility>

#include "stream/stream_clock.h"

namespace forebay {

namespace {

constexpr std::chrono::milliseconds kGoodbyeDeadline{200};
constexpr std::chrono::seconds kLivenessCheckInterval{1};  // between checks for a silent rank

}  // namespace

StreamGroup::StreamGroup(std::shared_ptr<Job> job, std::shared_ptr<StreamService> service, std::string name)
    : job_(std::move(job)), service_(std::move(service)), name_(std::move(name)) {
  service_->set_rank(rank(), ranks());
}

StreamGroup::~StreamGroup() { close(); }

void StreamGroup::lead_or_follow(Stream& stream) {
  if (rank() == 0) {
    service_->set_leader(&stream);
    stream.set_publisher(service_);
    if (ranks() > 1)
      watching_ = std::jthread([this, &stream](const std::stop_token& stop) { watch_others(stream, stop); });
  } else {
    followed_ = std::make_shared<FollowedDecisions>(job_, stream, name_);
    stream.set_guide(followed_);
  }
}

// If nothing can be decided any more, all ranks wait and no other call would find the silent rank.
void StreamGroup::watch_others(Stream& stream, const std::stop_token& stop) const {
  while (StreamClock::real().wait_for(kLivenessCheckInterval, stop)) {
    if (Status heard = service_->check_liveness(); !heard.ok()) stream.fail(std::move(heard));
  }
}

void StreamGroup::serve_shelf(std::shared_ptr<RecordShelf> shelf, size_t partitions) {
  service_->serve_shelf(std::move(shelf));
  readers_ = std::min(ranks(), static_cast<int>(std::min<size_t>(partitions, INT_MAX)));
}

Result<std::vector<ResponseItem>> StreamGroup::ask(RankRequest::Kind kind, int rank, std::vector<RankItem> items,
                                                   const std::stop_token& stop) const {
  const size_t count = items.size();
  const RankRequest request{kind, this->rank(), run_, std::move(items)};
  FOREBAY_ASSIGN(const Buffer response, job_->ask(rank, name_, encode_rank_request(request),
                                                  {max_rank_items_bytes(kind, count), kRankDeadline}, stop));
  return parse_rank_items(kind, count, response);
}

void StreamGroup::begin_run() {
  // All ranks have the same count, so a request of one run never gets an answer of another.
  ++run_;
  service_->begin_run(run_);
  if (followed_) followed_->begin_run(run_);
}

void StreamGroup::leave() {
  if (std::exchange(has_left_, true)) return;
  if (followed_) followed_->stop();
  watching_.request_stop();
  if (watching_.joinable()) watching_.join();
  say_goodbye();
  left_at_ = StreamClock::real().now();
}

void StreamGroup::close() {
  if (std::exchange(closed_, true)) return;
  leave();
  // Other ranks may not have requested the last decisions yet. Once they have all of them, they no
  // longer need this rank.
  service_->linger(left_at_);
  service_->set_leader(nullptr);
}

// Ranks that hold records for this rank need not wait for it any longer.
void StreamGroup::say_goodbye() {
  std::vector<std::future<void>> heard;
  for (int to = 0; to < readers_; ++to) {
    if (to == rank()) continue;
    const auto done = std::make_shared<std::promise<void>>();
    heard.push_back(done->get_future());
    job_->call(to, name_, encode_rank_request({RankRequest::Kind::kGoodbye, rank(), run_}), {0, kGoodbyeDeadline}, {},
               [done](const Result<Buffer>&) { done->set_value(); });
  }
  for (const std::future<void>& one : heard) one.wait();
}

}  // namespace forebay
