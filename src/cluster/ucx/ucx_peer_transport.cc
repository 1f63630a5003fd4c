#include "cluster/ucx/ucx_peer_transport.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/active_messages.h"
#include "base/hash.h"
#include "cluster/address.h"
#include "cluster/http/http_peer_transport.h"
#include "cluster/network_device.h"
#include "cluster/ucx/load_active_messages.h"
#include "runtime/fork_guard.h"
#include "store/calls.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

using Answers = std::vector<AnsweredKey>;

// Cards are answered as if they were kept under this key. They are some hundred bytes; more with many devices.
Hash128 card_key() { return hash128(std::string_view("forebay: how UCX reaches this host")); }
constexpr uint64_t kMostUcxCardBytes = 64 << 10;

/// What a host keeps, and its card.
class KeysAndCard final : public KeySource {
 public:
  KeysAndCard(std::shared_ptr<KeySource> keys, const std::string& card)
      : keys_(std::move(keys)), card_(Buffer::allocate(card.size())) {
    std::copy(card.begin(), card.end(), card_.data());
  }
  std::optional<Buffer> find(const Hash128& key) override {
    if (key != card_key()) return keys_->find(key);
    cards_.fetch_add(1, std::memory_order_relaxed);
    return card_;
  }
  std::optional<uint64_t> coming(int64_t element) override { return keys_->coming(element); }

  /// Of those that were given out: what a listening counts them as.
  Listening::Stats of_cards() const {
    const uint64_t cards = cards_.load(std::memory_order_relaxed);
    return {.questions = cards, .keys = cards, .found = cards, .bytes = cards * card_.size()};
  }

 private:
  const std::shared_ptr<KeySource> keys_;
  Buffer card_;
  std::atomic<uint64_t> cards_{0};
};

/// Serves over UCX, and whoever comes for its card.
class UcxListening final : public Listening {
 public:
  UcxListening(std::unique_ptr<UcxServer> server, std::shared_ptr<KeysAndCard> keys, std::unique_ptr<Listening> meeting)
      : server_(std::move(server)), keys_(std::move(keys)), meeting_(std::move(meeting)) {
    server_->set_address(meeting_->address());
  }
  const std::string& address() const override { return meeting_->address(); }
  Stats stats() const override {
    const Stats ours = server_->stats(), theirs = meeting_->stats(), cards = keys_->of_cards();
    // A card that is being given out is not counted there yet.
    const auto without = [](uint64_t all, uint64_t some) { return all - std::min(all, some); };
    return {ours.questions + without(theirs.questions, cards.questions), ours.keys + without(theirs.keys, cards.keys),
            ours.found + without(theirs.found, cards.found), ours.bytes + without(theirs.bytes, cards.bytes),
            ours.refused + theirs.refused};
  }

 private:
  const std::unique_ptr<UcxServer> server_;
  const std::shared_ptr<KeysAndCard> keys_;
  const std::unique_ptr<Listening> meeting_;  // first to end: it gives out the card
};

/// One question and who waits for it, until it is answered.
struct UcxQuestion {
  PeerHost host;
  std::vector<WantedKey> wanted;
  AnswerLimits limits;
  std::stop_token stop;
  std::shared_ptr<Call<Answers>> call;
  const std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();

  AnswerLimits left() const {
    using std::chrono::milliseconds;
    const auto gone = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun);
    return {std::max(limits.in_all - gone, milliseconds(1)), limits.silence};
  }
};

/// What a transport is made of. Outlives it where an answer ends late.
class UcxPeersCore : public std::enable_shared_from_this<UcxPeersCore> {
 public:
  UcxPeersCore(const ActiveMessageModule& module, const UcxPeerOptions& options)
      : module_(module), server_(options.server), meeting_(options.meeting ? options.meeting : http_peer_transport()) {}

  /// Everybody hears Cancelled. May be called from inside of an answer.
  void close() {
    calls_.close();
    std::shared_ptr<Transport> meeting;
    std::shared_ptr<ActiveMessages> end;
    {
      const std::lock_guard lock(mutex_);
      meeting.swap(meeting_);
      end.swap(end_);
    }
    // They end without the lock: both answer what is under way.
  }

  Result<std::unique_ptr<Listening>> listen(const std::string& address, const JobPass& pass,
                                            std::shared_ptr<KeySource> keys) {
    FOREBAY_ASSIGN(const HostPort at, parse_host_port(address));
    const std::string devices = network_devices(at.host);
    auto server = std::make_unique<UcxServer>(keys, server_);
    FOREBAY_RETURN_IF_ERROR(server->open(module_, devices));
    auto both = std::make_shared<KeysAndCard>(std::move(keys), server->card());
    FOREBAY_ASSIGN(std::unique_ptr<Listening> meeting, meeting_->listen(address, pass, both));
    const std::lock_guard lock(mutex_);
    if (devices_.empty()) devices_ = devices;
    return std::unique_ptr<Listening>(
        std::make_unique<UcxListening>(std::move(server), std::move(both), std::move(meeting)));
  }

  void fetch(const PeerHost& host, std::vector<WantedKey> wanted, AnswerLimits limits, std::stop_token stop,
             Transport::Done done) {
    auto question = std::make_shared<UcxQuestion>(UcxQuestion{host, std::move(wanted), limits, stop, nullptr});
    question->call = calls_.begin<Answers>("peer " + host.address, std::move(stop), std::move(done));
    if (question->call->answered()) return;
    std::optional<std::string> card;
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = cards_.find(host.address); known != cards_.end()) card = known->second;
    }
    if (card) return ask(question, *card);
    meet(question, {{card_key(), kMostUcxCardBytes}}, [self = shared_from_this(), question](Result<Answers> answers) {
      self->on_card(question, std::move(answers));
    });
  }

 private:
  using Question = std::shared_ptr<UcxQuestion>;

  void meet(const Question& question, std::vector<WantedKey> wanted, Transport::Done done) {
    std::shared_ptr<Transport> meeting;
    {
      const std::lock_guard lock(mutex_);
      meeting = meeting_;
    }
    // Null: closed meanwhile, and everybody has an answer.
    if (meeting) meeting->fetch(question->host, std::move(wanted), question->left(), question->stop, std::move(done));
  }

  void on_card(const Question& question, Result<Answers> answers) {
    if (!answers.ok()) return void(question->call->answer(answers.status()));
    const AnsweredKey& answer = answers->front();
    const std::string& host = question->host.address;
    using State = AnsweredKey::State;
    if (answer.state != State::kHere && answer.state != State::kAbsent)
      return void(question->call->answer(unavailable("its card is no card").with_key("peer " + host)));
    // Empty: it speaks no UCX.
    const std::string card(reinterpret_cast<const char*>(answer.body.data()), answer.body.size());
    bool is_new = false;
    {
      const std::lock_guard lock(mutex_);
      is_new = cards_.insert_or_assign(host, card).second;
    }
    if (is_new && card.empty())
      log_warning(
          fmt::format("peer {} speaks no UCX, and is asked over HTTP: FOREBAY_CLUSTER_TRANSPORT differs", host));
    ask(question, card);
  }

  void ask(const Question& question, const std::string& card) {
    if (card.empty())
      return meet(question, question->wanted,
                  [question](Result<Answers> answers) { question->call->answer(std::move(answers)); });
    const AnswerLimits limits = question->left();
    const Result<std::shared_ptr<ActiveMessages>> end = own_end();
    if (!end.ok()) return void(question->call->answer(end.status()));
    (*end)->ask({.card = card,
                 .question = encode_question(question->wanted),
                 .most_bytes = most_answer_bytes(question->wanted),
                 .limit = limits.in_all,
                 .silence = limits.silence},
                [self = shared_from_this(), question, card](Result<ActiveMessages::Answer> answer) {
                  if (answer.status().code() == Code::kUnavailable) self->forget(question->host.address, card);
                  question->call->answer(judge(*question, std::move(answer)));
                });
  }

  static Result<Answers> judge(const UcxQuestion& question, Result<ActiveMessages::Answer> answer) {
    const std::string key = "peer " + question.host.address;
    if (!answer.ok()) return answer.status().with_key(key);
    if (answer->code != UcxServer::kAnswer) return invalid_argument("refused as malformed").with_key(key);
    Result<Answers> answers = parse_answer(question.wanted, answer->bytes);
    if (!answers.ok()) return answers.status().with_key(key);
    return answers;
  }

  // It may have been started anew, with another card.
  void forget(const std::string& host, const std::string& card) {
    const std::lock_guard lock(mutex_);
    const auto known = cards_.find(host);
    if (known != cards_.end() && known->second == card) cards_.erase(known);
  }

  // Made with the first question: then it is known where this host listens.
  Result<std::shared_ptr<ActiveMessages>> own_end() {
    const std::lock_guard lock(mutex_);
    if (!meeting_) return cancelled("it is being closed");
    if (!end_) {
      ActiveMessageOptions options;
      options.devices = devices_;
      options.patience = server_.patience;
      FOREBAY_ASSIGN(end_, module_.open(std::move(options)));
    }
    return end_;
  }

  const ActiveMessageModule& module_;
  const UcxServer::Options server_;
  std::mutex mutex_;
  std::string devices_;
  std::map<std::string, std::string> cards_;  ///< by address; empty ones of those that speak no UCX
  CallTable calls_;
  std::shared_ptr<Transport> meeting_;  ///< null: closed
  std::shared_ptr<ActiveMessages> end_;
};

class UcxPeers final : public Transport {
 public:
  UcxPeers(const ActiveMessageModule& module, const UcxPeerOptions& options)
      : core_(std::make_shared<UcxPeersCore>(module, options)) {}
  ~UcxPeers() override {
    if (process_generation() == generation_)
      core_->close();
    else  // a fork: the threads are not here, their locks may be held for ever
      new std::shared_ptr<UcxPeersCore>(std::move(core_));
  }

  Result<std::unique_ptr<Listening>> listen(const std::string& address, const JobPass& pass,
                                            std::shared_ptr<KeySource> keys) override {
    return core_->listen(address, pass, std::move(keys));
  }
  void fetch(const PeerHost& host, std::vector<WantedKey> wanted, AnswerLimits limits, std::stop_token stop,
             Done done) override {
    if (process_generation() != generation_)
      return done(invalid_argument("this connection was made before a fork; open the data again in the new process"));
    core_->fetch(host, std::move(wanted), limits, std::move(stop), std::move(done));
  }

 private:
  const uint64_t generation_ = process_generation();
  std::shared_ptr<UcxPeersCore> core_;
};

}  // namespace

Result<std::shared_ptr<Transport>> ucx_peer_transport(const UcxPeerOptions& options) {
  FOREBAY_ASSIGN(const ActiveMessageModule* const module, load_active_messages());
  return std::shared_ptr<Transport>(std::make_shared<UcxPeers>(*module, options));
}

}  // namespace forebay
