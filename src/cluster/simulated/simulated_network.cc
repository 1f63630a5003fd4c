#include "cluster/simulated/simulated_network.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "cluster/address.h"
#include "cluster/deadlines.h"
#include "store/calls.h"
#include "store/timer.h"

namespace forebay {

namespace {

/// A host as long as it listens.
struct SimulatedHost {
  JobPass pass;
  std::shared_ptr<KeySource> keys;
  std::mutex serving;  ///< held while `keys` is asked, so that the end waits for it
  bool gone = false;
  Listening::Stats stats;
};

using Answers = std::vector<AnsweredKey>;

/// A question on its way, and whether bytes of its answer come: links are shared, so that all answers on one come at the same time.
struct Questioning {
  std::shared_ptr<Call<Answers>> call;
  std::atomic<bool> comes{false};
};

class Network final : public SimulatedNetwork, public std::enable_shared_from_this<Network> {
 public:
  Network(SimulatedLink link, bool manual) : link_(link), random_(link.seed), timer_(manual) {}

  std::shared_ptr<Transport> transport() override;
  void set_link(SimulatedLink link) override {
    const std::lock_guard lock(mutex_);
    link_ = link;
    random_.seed(link.seed);
  }
  void set_health(const std::string& address, HostHealth health) override {
    const std::lock_guard lock(mutex_);
    health_[address] = health;
  }
  void advance(std::chrono::nanoseconds by) override { timer_.advance(by); }

  Result<std::string> add(const std::string& address, const std::shared_ptr<SimulatedHost>& host) {
    FOREBAY_ASSIGN(HostPort at, parse_host_port(address));
    if (is_any_address(at.host)) return invalid_argument(fmt::format("'{}' names no host", address));
    const std::lock_guard lock(mutex_);
    if (at.port == 0) at.port = next_port_++;
    if (!hosts_.emplace(at.to_string(), host).second)
      return unavailable(fmt::format("cannot listen at {}: the port is taken", address));
    return at.to_string();
  }
  void remove(const std::string& address, SimulatedHost& host) {
    {
      const std::lock_guard lock(mutex_);
      hosts_.erase(address);
    }
    const std::lock_guard served(host.serving);
    host.gone = true;
  }

  /// Sends a question; its call hears what comes of it, unless nothing does.
  void send(const PeerHost& to, std::vector<WantedKey> wanted, std::shared_ptr<Questioning> question) {
    const std::lock_guard lock(mutex_);
    // Under the lock, in the order in which questions come: that is what a seed repeats.
    const double draw = std::uniform_real_distribution<double>(0, 1)(random_);
    if (draw < link_.loss) return;
    timer_.at(timer_.now() + link_.latency,
              [self = weak_from_this(), to, wanted = std::move(wanted), question = std::move(question)]() mutable {
                if (const auto network = self.lock()) network->arrive(to, std::move(wanted), std::move(question));
              });
  }
  Timer::Time now() const { return timer_.now(); }

 private:
  void arrive(const PeerHost& to, std::vector<WantedKey> wanted, std::shared_ptr<Questioning> question) {
    std::shared_ptr<SimulatedHost> host;
    {
      const std::lock_guard lock(mutex_);
      const auto at = hosts_.find(to.address);
      const auto health = health_.find(to.address);
      const HostHealth is = health == health_.end() ? HostHealth::kWell : health->second;
      if (is == HostHealth::kFrozen) return;
      if (is == HostHealth::kWell && at != hosts_.end()) host = at->second;
    }
    if (!host)
      return answer_later(std::move(question), unavailable("nobody listens there").with_key("peer " + to.address), 0);
    // Without the network's lock: a key source may take its time, and ask others.
    Result<Buffer> answer = served(*host, to.pass, encode_question(wanted));
    if (!answer.ok()) return answer_later(std::move(question), answer.status().with_key("peer " + to.address), 0);
    flip(*answer);
    const uint64_t bytes = answer->size();
    answer_later(std::move(question), parse_answer(wanted, *answer), bytes);
  }

  static Result<Buffer> served(SimulatedHost& host, const JobPass& pass, const Buffer& question) {
    const std::lock_guard lock(host.serving);
    const bool ours = same_secret(pass.token, host.pass.token) && pass.generation == host.pass.generation;
    if (host.gone || !ours) {
      host.stats.refused += ours ? 0 : 1;
      return ours ? unavailable("nobody listens there") : invalid_argument("refused");
    }
    FOREBAY_ASSIGN(const std::vector<WantedKey> wanted, parse_question(question.span()));
    const AnswerParts parts = encode_answer(wanted, find_all(*host.keys, wanted));
    ++host.stats.questions;
    host.stats.keys += wanted.size();
    host.stats.found += parts.bodies.size();
    for (const Buffer& body : parts.bodies) host.stats.bytes += body.size();
    return joined(parts);
  }

  void flip(Buffer& bytes) {
    const std::lock_guard lock(mutex_);
    if (std::uniform_real_distribution<double>(0, 1)(random_) >= link_.flips) return;
    const uint64_t bit = std::uniform_int_distribution<uint64_t>(0, bytes.size() * 8 - 1)(random_);
    bytes.data()[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
  }

  void answer_later(std::shared_ptr<Questioning> question, Result<Answers> answer, uint64_t bytes) {
    question->comes = true;
    const std::lock_guard lock(mutex_);
    const auto sending = std::chrono::nanoseconds(
        static_cast<int64_t>(static_cast<double>(bytes) / std::max(link_.bytes_per_second, 1.0) * 1e9));
    busy_until_ = std::max(busy_until_, timer_.now()) + sending;
    timer_.at(busy_until_ + link_.latency,
              [call = question->call, answer = std::move(answer)]() mutable { call->answer(std::move(answer)); });
  }

  std::mutex mutex_;
  SimulatedLink link_;
  std::mt19937_64 random_;
  std::map<std::string, std::shared_ptr<SimulatedHost>> hosts_;
  std::map<std::string, HostHealth> health_;
  Timer::Time busy_until_{0};
  uint16_t next_port_ = 1;
  Timer timer_;  // last: its thread uses the rest
};

class SimulatedListening final : public Listening {
 public:
  SimulatedListening(std::shared_ptr<Network> network, std::shared_ptr<SimulatedHost> host, std::string address)
      : network_(std::move(network)), host_(std::move(host)), address_(std::move(address)) {}
  ~SimulatedListening() override { network_->remove(address_, *host_); }
  const std::string& address() const override { return address_; }
  Stats stats() const override {
    const std::lock_guard lock(host_->serving);
    return host_->stats;
  }

 private:
  const std::shared_ptr<Network> network_;
  const std::shared_ptr<SimulatedHost> host_;
  const std::string address_;
};

class SimulatedTransport final : public Transport {
 public:
  explicit SimulatedTransport(std::shared_ptr<Network> network) : network_(std::move(network)) {}
  ~SimulatedTransport() override {
    deadlines_.close();
    calls_.close();
  }

  Result<std::unique_ptr<Listening>> listen(const std::string& address, const JobPass& pass,
                                            std::shared_ptr<KeySource> keys) override {
    FOREBAY_RETURN_IF_ERROR(check_token(pass.token));
    auto host = std::make_shared<SimulatedHost>();
    host->pass = pass;
    host->keys = std::move(keys);
    FOREBAY_ASSIGN(std::string at, network_->add(address, host));
    return std::unique_ptr<Listening>(std::make_unique<SimulatedListening>(network_, std::move(host), std::move(at)));
  }

  void fetch(const PeerHost& host, std::vector<WantedKey> wanted, AnswerLimits limits, std::stop_token stop,
             Done done) override {
    // The limits end what the link or a frozen host never answers.
    auto late = std::make_shared<std::stop_source>(), silent = std::make_shared<std::stop_source>();
    const auto call = calls_.begin<Answers>("peer " + host.address, std::move(stop), std::move(done));
    if (call->answered()) return;
    using OnLate = std::stop_callback<std::function<void()>>;
    const auto question = std::make_shared<Questioning>(call);
    const auto give_up = [weak = std::weak_ptr(call), host = host.address] {
      if (const auto waiting = weak.lock()) waiting->answer(unavailable("no answer in time").with_key("peer " + host));
    };
    auto on_late = std::make_shared<OnLate>(late->get_token(), give_up);
    auto on_silent = std::make_shared<OnLate>(silent->get_token(), [give_up, question] {
      if (!question->comes) give_up();
    });
    deadlines_.add(late, limits.in_all);
    deadlines_.add(silent, limits.silence);
    {
      const std::lock_guard lock(mutex_);
      while (!waits_.empty() && waits_.front().call->answered()) waits_.pop_front();
      waits_.push_back({call, late, silent, std::move(on_late), std::move(on_silent)});
    }
    network_->send(host, std::move(wanted), question);
  }

 private:
  struct Waits {
    std::shared_ptr<Call<Answers>> call;
    std::shared_ptr<std::stop_source> late, silent;
    std::shared_ptr<void> on_late, on_silent;
  };
  const std::shared_ptr<Network> network_;
  std::mutex mutex_;
  CallTable calls_;
  std::deque<Waits> waits_;
  Deadlines deadlines_;
};

std::shared_ptr<Transport> Network::transport() { return std::make_shared<SimulatedTransport>(shared_from_this()); }

}  // namespace

std::shared_ptr<SimulatedNetwork> SimulatedNetwork::make(SimulatedLink link, bool manual) {
  return std::make_shared<Network>(link, manual);
}

}  // namespace forebay
