#include "cluster/peer_store.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "cluster/peer_health.h"
#include "store/calls.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

/// What is not known to be smaller may have so much.
constexpr uint64_t kMostBytes = uint64_t{64} << 20;

PeerHealth::Time now() { return std::chrono::steady_clock::now().time_since_epoch(); }

/// One key on its way.
struct PeerRead {
  WantedKey wanted;
  bool tells_size = false;  ///< what is too large is OutOfBudget
  std::shared_ptr<Call<Buffer>> call;
};

/// What outlives the store where an answer ends late. Not so the transport: it may not end inside of an answer of its own.
class Peer : public std::enable_shared_from_this<Peer> {
 public:
  Peer(Transport& transport, PeerHost host, PeerStoreOptions options)
      : host_(std::move(host)), options_(options), transport_(transport) {}

  bool may_ask() const { return health_.may_ask(now()); }

  void ask(PeerRead read) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(read));
    }
    send_waiting();
  }

  void failed(const std::string& why) {
    if (health_.failed(now()))
      log_warning(
          fmt::format("peer {} is left out for a while ({}); what it has is read from storage", host_.address, why));
    std::deque<PeerRead> waiting;
    {
      const std::lock_guard lock(mutex_);
      waiting.swap(waiting_);
    }
    for (const PeerRead& read : waiting) read.call->answer(Buffer());
  }

  /// Answers everybody; when it returns, the transport is not used any more, but for answers that this thread is inside of.
  void close() {
    calls.close();
    stop_.request_stop();
    size_t own = 0;
    for (const Frame* frame = innermost_frame; frame != nullptr; frame = frame->outer)
      own += frame->peer == this ? 1 : 0;
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [&] { return fetches_ <= own; });
  }

  CallTable calls;

 private:
  /// An answer that a thread is giving.
  struct Frame {
    const Peer* peer;
    const Frame* outer;
  };
  static thread_local const Frame* innermost_frame;

  void send_waiting() {
    while (true) {
      std::vector<PeerRead> reads;
      std::deque<PeerRead> in_vain;
      {
        const std::lock_guard lock(mutex_);
        if (in_flight_ >= options_.requests) return;
        while (!waiting_.empty() && waiting_.front().call->answered()) waiting_.pop_front();
        if (waiting_.empty()) return;
        if (!stop_.stop_requested() && health_.begin(now())) {
          reads = take_together();
          ++in_flight_;
          ++fetches_;
        } else {
          in_vain.swap(waiting_);
        }
      }
      for (const PeerRead& read : in_vain) read.call->answer(Buffer());
      if (reads.empty()) return;
      send(std::move(reads));
    }
  }

  std::vector<PeerRead> take_together() {
    std::vector<PeerRead> reads;
    uint64_t bytes = 0;
    while (!waiting_.empty() && reads.size() < options_.keys) {
      bytes += waiting_.front().wanted.most_bytes;
      if (!reads.empty() && bytes > options_.bytes) break;
      reads.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    return reads;
  }

  void send(std::vector<PeerRead> reads) {
    std::vector<WantedKey> wanted;
    for (const PeerRead& read : reads) wanted.push_back(read.wanted);
    transport_.fetch(host_, std::move(wanted), options_.deadline, stop_.get_token(),
                     [self = shared_from_this(), reads = std::move(reads)](Result<std::vector<AnsweredKey>> answers) {
                       Frame frame{self.get(), innermost_frame};
                       innermost_frame = &frame;
                       self->on_answer(reads, std::move(answers));
                       innermost_frame = frame.outer;
                       const std::lock_guard lock(self->mutex_);
                       --self->fetches_;
                       self->answered_.notify_all();
                     });
  }

  void on_answer(const std::vector<PeerRead>& reads, Result<std::vector<AnsweredKey>> answers) {
    {
      const std::lock_guard lock(mutex_);
      --in_flight_;
    }
    judge(answers);  // before anybody hears of it, so that who asks again asks elsewhere
    for (size_t i = 0; i < reads.size(); ++i) give(reads[i], answers.ok() ? std::move((*answers)[i]) : AnsweredKey());
    send_waiting();
  }

  void judge(const Result<std::vector<AnsweredKey>>& answers) {
    if (!answers.ok()) {
      // A stop says nothing of the peer.
      if (answers.status().code() != Code::kCancelled) failed(answers.status().message());
    } else if (std::ranges::any_of(*answers,
                                   [](const AnsweredKey& a) { return a.state == AnsweredKey::State::kDamaged; })) {
      failed("it sent damaged bytes");
    } else {
      health_.answered();
    }
  }

  static void give(const PeerRead& read, AnsweredKey answer) {
    if (answer.state == AnsweredKey::State::kTooLarge && read.tells_size) {
      read.call->answer(out_of_budget("an entry of a peer is larger than what was set aside", answer.bytes));
    } else {
      read.call->answer(answer.state == AnsweredKey::State::kHere ? std::move(answer.body) : Buffer());
    }
  }

  const PeerHost host_;
  const PeerStoreOptions options_;
  PeerHealth health_;
  std::mutex mutex_;
  std::deque<PeerRead> waiting_;
  std::condition_variable answered_;
  size_t in_flight_ = 0;
  size_t fetches_ = 0;  ///< the same, and answers that are being given
  std::stop_source stop_;
  Transport& transport_;
};

thread_local const Peer::Frame* Peer::innermost_frame = nullptr;

class PeerStoreOf final : public PeerStore {
 public:
  PeerStoreOf(std::shared_ptr<Transport> transport, PeerHost host, PeerStoreOptions options)
      : name_("peer " + host.address), transport_(std::move(transport)),
        peer_(std::make_shared<Peer>(*transport_, std::move(host), options)) {}
  ~PeerStoreOf() override { peer_->close(); }

  bool may_ask() const override { return peer_->may_ask(); }
  void lied() override { peer_->failed("it sent bytes that were not what was asked for"); }
  bool remote() const override { return true; }

  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override {
    PeerRead read;
    read.call = peer_->calls.begin<Buffer>(display_name(request.key), std::move(stop), std::move(done));
    if (read.call->answered()) return;
    read.tells_size = request.set_aside_bytes && !request.expected_size;
    read.wanted.most_bytes =
        std::min(request.expected_size.value_or(request.set_aside_bytes.value_or(kMostBytes)), kMostBytes);
    if (!Hash128::parse(request.key, &read.wanted.key)) {
      read.call->answer(Buffer());
      return;
    }
    peer_->ask(std::move(read));
  }
  void list(const ListRequest&, std::stop_token, ListDone done) override {
    done(unsupported("peers cannot be listed").with_key(name_));
  }
  void stat(const std::string& key, std::stop_token, StatDone done) override {
    done(unsupported("peers tell no sizes").with_key(display_name(key)));
  }
  std::string display_name(const std::string& key) const override { return name_ + "/" + key; }
  StoreStats stats() const override { return peer_->calls.stats(); }

 private:
  const std::string name_;
  const std::shared_ptr<Transport> transport_;
  const std::shared_ptr<Peer> peer_;
};

}  // namespace

std::shared_ptr<PeerStore> peer_store(std::shared_ptr<Transport> transport, PeerHost host, PeerStoreOptions options) {
  return std::make_shared<PeerStoreOf>(std::move(transport), std::move(host), options);
}

}  // namespace forebay
