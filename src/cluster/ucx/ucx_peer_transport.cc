#include "cluster/ucx/ucx_peer_transport.h"

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
    return {ours.questions + theirs.questions - cards.questions, ours.keys + theirs.keys - cards.keys,
            ours.found + theirs.found - cards.found, ours.bytes + theirs.bytes - cards.bytes,
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

class UcxPeers final : public Transport {
 public:
  UcxPeers(const ActiveMessageModule& module, UcxPeerOptions options)
      : module_(module), options_(std::move(options)),
        meeting_(options_.meeting ? options_.meeting : http_peer_transport()) {}
  ~UcxPeers() override {
    calls_.close();
    meeting_.reset();  // answers what is under way, which may make an end
    end_.reset();
  }

  Result<std::unique_ptr<Listening>> listen(const std::string& address, const JobPass& pass,
                                            std::shared_ptr<KeySource> keys) override {
    FOREBAY_ASSIGN(const HostPort at, parse_host_port(address));
    const std::string devices = network_devices(at.host);
    auto server = std::make_unique<UcxServer>(keys, options_.server);
    FOREBAY_RETURN_IF_ERROR(server->open(module_, devices));
    auto both = std::make_shared<KeysAndCard>(std::move(keys), server->card());
    FOREBAY_ASSIGN(std::unique_ptr<Listening> meeting, meeting_->listen(address, pass, both));
    const std::lock_guard lock(mutex_);
    if (devices_.empty()) devices_ = devices;
    return std::unique_ptr<Listening>(
        std::make_unique<UcxListening>(std::move(server), std::move(both), std::move(meeting)));
  }

  void fetch(const PeerHost& host, std::vector<WantedKey> wanted, AnswerLimits limits, std::stop_token stop,
             Done done) override {
    auto question = std::make_shared<UcxQuestion>(UcxQuestion{host, std::move(wanted), limits, stop, nullptr});
    question->call = calls_.begin<Answers>("peer " + host.address, std::move(stop), std::move(done));
    if (question->call->answered()) return;
    std::optional<std::string> card;
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = cards_.find(host.address); known != cards_.end()) card = known->second;
    }
    if (card) return ask(question, *card);
    meeting_->fetch(host, {{card_key(), kMostUcxCardBytes}}, limits, question->stop,
                    [this, question](Result<Answers> answers) { on_card(question, std::move(answers)); });
  }

 private:
  using Question = std::shared_ptr<UcxQuestion>;

  void on_card(const Question& question, Result<Answers> answers) {
    if (!answers.ok()) return void(question->call->answer(answers.status()));
    const AnsweredKey& answer = answers->front();
    if (answer.state == AnsweredKey::State::kDamaged)
      return void(
          question->call->answer(unavailable("its card came damaged").with_key("peer " + question->host.address)));
    const Buffer& body = answer.body;
    // Empty: it speaks no UCX.
    std::string card(reinterpret_cast<const char*>(body.data()), body.size());
    {
      const std::lock_guard lock(mutex_);
      const bool is_new = cards_.insert_or_assign(question->host.address, card).second;
      if (is_new && card.empty())
        log_warning(fmt::format("peer {} speaks no UCX, and is asked over HTTP: FOREBAY_CLUSTER_TRANSPORT differs",
                                question->host.address));
    }
    ask(question, card);
  }

  void ask(const Question& question, const std::string& card) {
    if (card.empty())
      return meeting_->fetch(question->host, question->wanted, question->left(), question->stop,
                             [question](Result<Answers> answers) { question->call->answer(std::move(answers)); });
    const AnswerLimits limits = question->left();
    const Result<ActiveMessages*> end = own_end();
    if (!end.ok()) return void(question->call->answer(end.status()));
    (*end)->ask({.card = card,
                 .question = encode_question(question->wanted),
                 .most_bytes = most_answer_bytes(question->wanted),
                 .limit = limits.in_all,
                 .silence = limits.silence},
                [this, question, card](Result<ActiveMessages::Answer> answer) {
                  if (answer.status().code() == Code::kUnavailable) forget(question->host.address, card);
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
  Result<ActiveMessages*> own_end() {
    const std::lock_guard lock(mutex_);
    if (!end_) {
      ActiveMessageOptions options;
      options.devices = devices_;
      options.patience = options_.server.patience;
      FOREBAY_ASSIGN(end_, module_.open(std::move(options)));
    }
    return end_.get();
  }

  const ActiveMessageModule& module_;
  const UcxPeerOptions options_;
  std::mutex mutex_;
  std::string devices_;
  std::map<std::string, std::string> cards_;  ///< by address; empty ones of those that speak no UCX
  CallTable calls_;
  std::shared_ptr<Transport> meeting_;
  std::unique_ptr<ActiveMessages> end_;
};

}  // namespace

Result<std::shared_ptr<Transport>> ucx_peer_transport(UcxPeerOptions options) {
  FOREBAY_ASSIGN(const ActiveMessageModule* const module, load_active_messages());
  return std::shared_ptr<Transport>(std::make_shared<UcxPeers>(*module, std::move(options)));
}

}  // namespace forebay
