#include "cluster/peer_store.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "base/cond_var.h"
#include "base/mutex.h"
#include "cluster/entry_service.h"
#include "cluster/peer_health.h"
#include "cluster/peer_pace.h"
#include "store/calls.h"
#include "store/timer.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

/// Limit for entries whose size is not known.
constexpr uint64_t kMostBytes = uint64_t{64} << 20;
constexpr size_t kManyKeys = 16;  // so many are worth a call of their own

PeerHealth::Time now() { return std::chrono::steady_clock::now().time_since_epoch(); }

using Items = Result<std::vector<ResponseItem>>;

/// One read in progress.
struct PeerRead {
  WantedEntry wanted;
  bool tells_size = false;  ///< an entry that is too large is OutOfBudget
  std::shared_ptr<Call<Buffer>> call;
  int times_asked = 0;
  Patience::Wait wait = {};
};

/// Reads that share a call.
struct Question {
  std::vector<PeerRead> reads;
  uint64_t bytes = 0;  ///< counted against the peer's allowance
  bool all = false;    ///< with this call, at least half of the allowance is in flight
  PeerHealth::Time asked{0};
};

/// The state that outlives the store if an answer is late. It does not own the transport, which
/// must not be destroyed inside one of its own answers.
class Peer : public std::enable_shared_from_this<Peer> {
 public:
  Peer(Transport& transport, PeerHost host, PeerStoreOptions options)
      : host_(std::move(host)), options_(options), patience_(options.patience),
        pace_(options.bytes / 16, options.bytes / 4, options.bytes * options.requests), transport_(transport) {}

  bool may_ask() const { return health_.may_ask(now()); }

  void ask(PeerRead read) {
    {
      const Lock lock(mutex_);
      waiting_.push_back(std::move(read));
    }
    send_waiting();
  }

  void failed(const std::string& why, bool there) {
    if (health_.failed(now(), there))
      log_warning(
          fmt::format("peer {} is left out for a while ({}); what it has is read from storage", host_.address, why));
    std::deque<PeerRead> waiting;
    std::vector<Held> held;
    {
      const Lock lock(mutex_);
      pace_.failed(now());
      waiting.swap(waiting_);
      held.swap(held_);
    }
    for (const PeerRead& read : waiting) give_nothing(read);
    for (const Held& each : held) give_nothing(each.read);
  }

  /// Answers all reads. After it returns, the transport is not used any more, except by answers
  /// that this thread is inside of.
  void close() {
    timer_.close();
    // Close before the requests are stopped, so that all reads get Cancelled rather than an empty
    // buffer.
    calls.close();
    stop_.request_stop();
    size_t own = 0;
    for (const Frame* frame = innermost_frame; frame != nullptr; frame = frame->outer)
      own += frame->peer == this ? 1 : 0;
    Lock lock(mutex_);
    // Every transport answers soon after a stop, so this wait ends.
    answered_.wait(lock, [&]() FOREBAY_REQUIRES(mutex_) { return fetches_ <= own; });
  }

  CallTable calls;

 private:
  /// A read of an entry that the peer has announced, until it is requested again.
  struct Held {
    Timer::Time until;
    PeerRead read;
  };
  /// An answer that is being given on this thread.
  struct Frame {
    const Peer* peer;
    const Frame* outer;
  };
  static thread_local const Frame* innermost_frame;

  void send_waiting() {
    while (true) {
      Question question;
      std::deque<PeerRead> in_vain;
      {
        const Lock lock(mutex_);
        // The answer to any call in flight comes back here, so no read is forgotten.
        if (in_flight_ >= options_.requests) return;
        while (!waiting_.empty() && waiting_.front().call->answered()) {
          patience_.abandoned(waiting_.front().wait);
          waiting_.pop_front();
        }
        if (waiting_.empty()) return;
        if (gathers()) return look_again_later();
        if (in_flight_ > 0 && asked_bytes_ + counted(waiting_.front()) > pace_.allowed()) return;
        if (!stop_.stop_requested() && health_.begin(now())) {
          question = take_together();
          ++in_flight_;
          ++fetches_;
        } else {
          in_vain.swap(waiting_);
        }
      }
      for (const PeerRead& read : in_vain) give_nothing(read);
      if (question.reads.empty()) return;
      send(std::move(question));
    }
  }

  // A call costs more than a small entry. While a call is in flight, reads are therefore gathered
  // and sent together when its answer arrives, unless they are large or have waited long.
  bool gathers() const FOREBAY_REQUIRES(mutex_) {
    return in_flight_ > 0 && !hurries_ && waiting_.size() < kManyKeys && bytes_waiting() < most_together();
  }
  uint64_t bytes_waiting() const FOREBAY_REQUIRES(mutex_) {
    uint64_t bytes = 0;
    for (const PeerRead& read : waiting_) bytes += counted(read);
    return bytes;
  }
  // Ends gathering after a while if the answer is slow. There is one wake-up at a time, not one for
  // each call.
  void look_again_later() FOREBAY_REQUIRES(mutex_) {
    if (std::exchange(looks_again_, true)) return;
    taken_before_ = taken_;
    (void)timer_.at(timer_.now() + options_.gathering, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->look_again();
    });
  }
  void look_again() {
    {
      const Lock lock(mutex_);
      looks_again_ = false;
      hurries_ = taken_ == taken_before_;
    }
    send_waiting();
  }
  // The allowance is divided among several calls, so that one is always in flight.
  uint64_t most_together() const FOREBAY_REQUIRES(mutex_) {
    return std::min(options_.bytes, pace_.allowed() / options_.requests);
  }

  // Entries of unknown size may be large but rarely are.
  uint64_t counted(const PeerRead& read) const { return std::min(read.wanted.most_bytes, options_.bytes); }

  Question take_together() FOREBAY_REQUIRES(mutex_) {
    Question question;
    const uint64_t most = most_together();
    while (!waiting_.empty() && question.reads.size() < options_.keys) {
      const uint64_t bytes = question.bytes + counted(waiting_.front());
      // The first read always goes, or a single large entry would never be read.
      if (!question.reads.empty() && bytes > most) break;
      question.bytes = bytes;
      question.reads.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    taken_ += question.reads.size();
    hurries_ = false;
    asked_bytes_ += question.bytes;
    question.all = asked_bytes_ > pace_.allowed() / 2;
    question.asked = now();
    return question;
  }

  CallLimits limits(const std::vector<WantedEntry>& wanted) const {
    uint64_t bytes = 0;
    for (const WantedEntry& each : wanted) bytes += each.most_bytes;
    const auto times = static_cast<int64_t>(std::max<uint64_t>(1, bytes / options_.bytes));
    return {most_entry_response_bytes(wanted), 2 * times * options_.deadline, options_.deadline};
  }

  void send(Question question) {
    std::vector<WantedEntry> wanted;
    for (PeerRead& read : question.reads) {
      ++read.times_asked;
      wanted.push_back(read.wanted);
    }
    const CallLimits within = limits(wanted);
    Buffer request = encode_entry_request(wanted);
    transport_.call(host_, kEntryServiceName, std::move(request), within, stop_.get_token(),
                    [self = shared_from_this(), asked = std::move(question),
                     wanted = std::move(wanted)](const Result<Buffer>& response) mutable {
                      Frame frame{self.get(), innermost_frame};
                      innermost_frame = &frame;
                      self->on_answer(std::move(asked), response.ok() ? parse_entry_response(wanted, *response)
                                                                      : Items(response.status()));
                      innermost_frame = frame.outer;
                      const Lock lock(self->mutex_);
                      --self->fetches_;
                      self->answered_.notify_all();
                    });
  }

  void on_answer(Question question, Items answers) {
    uint64_t bytes = 0;
    if (answers.ok()) {
      for (const ResponseItem& each : *answers) bytes += each.body.size();
    }
    {
      const Lock lock(mutex_);
      pace_.answered(question.asked, now(), bytes, question.all);
    }
    std::vector<PeerRead>& reads = question.reads;
    judge(answers);  // before the answers, so that a caller that retries uses another source
    for (size_t i = 0; i < reads.size(); ++i) {
      if (!answers.ok()) {
        give_nothing(reads[i]);
      } else if ((*answers)[i].state == ResponseItem::State::kComing) {
        hold(std::move(reads[i]), (*answers)[i].bytes);
      } else {
        patience_.decided(reads[i].wait, now());
        give(reads[i], std::move((*answers)[i]));
      }
    }
    {
      // Only after all reads are answered: each caller sends its next read at once, and these
      // travel together.
      const Lock lock(mutex_);
      --in_flight_;
      asked_bytes_ -= question.bytes;
    }
    send_waiting();
  }

  void hold(PeerRead read, uint64_t left) {
    if (!patience_.coming(read.wait, left, now())) return give_nothing(read);
    const Timer::Time until = timer_.now() + pause_after(read.times_asked);
    const Lock lock(mutex_);
    held_.push_back({until, std::move(read)});
    // One wake-up serves all held reads: the earliest.
    if (until >= wakes_at_) return;
    wakes_at_ = until;
    // After close() every read already has its answer.
    (void)timer_.at(until, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->ask_again();
    });
  }

  void ask_again() {
    {
      const Lock lock(mutex_);
      const Timer::Time at = timer_.now();
      const auto due = std::stable_partition(held_.begin(), held_.end(), [&](const Held& h) { return h.until > at; });
      for (auto each = due; each != held_.end(); ++each) waiting_.push_back(std::move(each->read));
      held_.erase(due, held_.end());
      wakes_at_ = Timer::Time::max();
      for (const Held& each : held_) wakes_at_ = std::min(wakes_at_, each.until);
      if (!held_.empty())
        (void)timer_.at(wakes_at_, [weak = weak_from_this()] {
          if (const auto self = weak.lock()) self->ask_again();
        });
    }
    send_waiting();
  }

  void give_nothing(const PeerRead& read) {
    patience_.abandoned(read.wait);
    read.call->answer(Buffer());
  }

  void judge(const Items& answers) {
    if (!answers.ok()) {
      // A stop says nothing about the peer.
      const Code code = answers.status().code();
      if (code != Code::kCancelled) failed(answers.status().message(), code != Code::kUnavailable);
    } else if (std::ranges::any_of(*answers,
                                   [](const ResponseItem& a) { return a.state == ResponseItem::State::kDamaged; })) {
      failed("it sent damaged bytes", true);
    } else {
      health_.answered();
    }
  }

  static void give(const PeerRead& read, ResponseItem answer) {
    if (answer.state == ResponseItem::State::kTooLarge && read.tells_size) {
      read.call->answer(out_of_budget("an entry of a peer is larger than what was set aside", answer.bytes));
    } else {
      read.call->answer(answer.state == ResponseItem::State::kHere ? std::move(answer.body) : Buffer());
    }
  }

  const PeerHost host_;
  const PeerStoreOptions options_;
  PeerHealth health_;
  Patience patience_;
  Mutex mutex_;
  std::deque<PeerRead> waiting_ FOREBAY_GUARDED_BY(mutex_);
  PeerPace pace_ FOREBAY_GUARDED_BY(mutex_);
  std::vector<Held> held_ FOREBAY_GUARDED_BY(mutex_);
  Timer::Time wakes_at_ FOREBAY_GUARDED_BY(mutex_) = Timer::Time::max();
  CondVar answered_;
  size_t in_flight_ FOREBAY_GUARDED_BY(mutex_) = 0;
  /// Number of reads that left waiting_: now, and when looks_again_ was set.
  uint64_t taken_ FOREBAY_GUARDED_BY(mutex_) = 0;
  uint64_t taken_before_ FOREBAY_GUARDED_BY(mutex_) = 0;
  /// Whether a wake-up is pending, and whether reads have waited long enough.
  bool looks_again_ FOREBAY_GUARDED_BY(mutex_) = false;
  bool hurries_ FOREBAY_GUARDED_BY(mutex_) = false;
  uint64_t asked_bytes_ FOREBAY_GUARDED_BY(mutex_) = 0;  ///< in those calls
  size_t fetches_ FOREBAY_GUARDED_BY(mutex_) = 0;        ///< calls in flight, and answers being given
  std::stop_source stop_;
  Transport& transport_;
  Timer timer_{/*manual=*/false};  // last: its thread uses the other members
};

thread_local const Peer::Frame* Peer::innermost_frame = nullptr;

constexpr std::string_view kVersionPrefix = "version ";

bool parse_entry_key(std::string_view text, WantedEntry* wanted) {
  if (text.starts_with(kVersionPrefix)) {
    wanted->kind = WantedEntry::Kind::kVersion;
    text.remove_prefix(kVersionPrefix.size());
  }
  const size_t at = text.find('@');
  if (!Hash128::parse(text.substr(0, at), &wanted->key)) return false;
  if (at == std::string_view::npos) return wanted->kind == WantedEntry::Kind::kEntry;
  const char* const end = text.data() + text.size();
  return std::from_chars(text.data() + at + 1, end, wanted->element.emplace()).ptr == end;
}

class PeerStoreOf final : public PeerStore {
 public:
  PeerStoreOf(std::shared_ptr<Transport> transport, PeerHost host, PeerStoreOptions options)
      : name_("peer " + host.address), transport_(std::move(transport)),
        peer_(std::make_shared<Peer>(*transport_, std::move(host), options)) {}
  ~PeerStoreOf() override { peer_->close(); }

  bool may_ask() const override { return peer_->may_ask(); }
  void lied() override { peer_->failed("it sent bytes that were not what was asked for", true); }
  bool remote() const override { return true; }

  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override {
    PeerRead read;
    read.call = peer_->calls.begin<Buffer>(display_name(request.key), std::move(stop), std::move(done));
    if (read.call->answered()) return;
    read.tells_size = request.set_aside_bytes && !request.expected_size;
    read.wanted.most_bytes =
        std::min(request.expected_size.value_or(request.set_aside_bytes.value_or(kMostBytes)), kMostBytes);
    if (!parse_entry_key(request.key, &read.wanted)) {
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

std::string entry_key(const Hash128& key, int64_t element) {
  return element < 0 ? key.to_string() : fmt::format("{}@{}", key.to_string(), element);
}
std::string version_key(const Hash128& name, int64_t sample) {
  return fmt::format("{}{}@{}", kVersionPrefix, name.to_string(), sample);
}

std::shared_ptr<PeerStore> peer_store(std::shared_ptr<Transport> transport, PeerHost host, PeerStoreOptions options) {
  return std::make_shared<PeerStoreOf>(std::move(transport), std::move(host), options);
}

}  // namespace forebay
