#include "cluster/simulated/simulated_network.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "base/mutex.h"
#include "cluster/address.h"
#include "cluster/message.h"
#include "store/calls.h"
#include "store/timer.h"

namespace forebay {

namespace {

/// A listening host.
struct SimulatedHost {
  JobPass pass;
  Services services;
  /// Held while a service is called, so that remove() waits for the call.
  Mutex serving;
  bool gone FOREBAY_GUARDED_BY(serving) = false;
  Listening::Stats stats FOREBAY_GUARDED_BY(serving);
};

/// A call in flight. `comes` is set once bytes of its response arrive. All responses share one
/// link, so they count as arriving at the same time.
struct Calling {
  PeerHost to;
  std::string service;
  Buffer request;
  uint64_t most_bytes = 0;
  std::shared_ptr<Call<Buffer>> call;
  const std::shared_ptr<std::atomic<bool>> comes = std::make_shared<std::atomic<bool>>(false);

  void answer(Result<Buffer> response) const {
    call->answer(response.ok() ? std::move(response) : response.status().with_key("peer " + to.address));
  }
};

class Network final : public SimulatedNetwork, public std::enable_shared_from_this<Network> {
 public:
  Network(SimulatedLink link, bool manual) : link_(link), random_(link.seed), limits_(manual), timer_(manual) {}

  std::shared_ptr<Transport> transport() override;
  void set_link(SimulatedLink link) override {
    const Lock lock(mutex_);
    link_ = link;
    random_.seed(link.seed);
  }
  void set_health(const std::string& address, HostHealth health) override {
    const Lock lock(mutex_);
    health_[address] = health;
  }
  void advance(std::chrono::nanoseconds by) override {
    timer_.advance(by);
    limits_.advance(by);
  }

  Result<std::string> add(const std::string& address, const std::shared_ptr<SimulatedHost>& host) {
    FOREBAY_ASSIGN(HostPort at, parse_host_port(address));
    if (is_any_address(at.host)) return invalid_argument(fmt::format("'{}' names no host", address));
    const Lock lock(mutex_);
    if (at.port == 0) at.port = next_port_++;
    if (!hosts_.emplace(at.to_string(), host).second)
      return unavailable(fmt::format("cannot listen at {}: the port is taken", address));
    return at.to_string();
  }
  void remove(const std::string& address, SimulatedHost& host) {
    {
      const Lock lock(mutex_);
      hosts_.erase(address);
    }
    const Lock served(host.serving);
    host.gone = true;
  }

  /// Sends a request. The call is answered later, unless the request is lost.
  void send(std::shared_ptr<Calling> calling) {
    const Lock lock(mutex_);
    // The draw is made under the lock, in the order of requests: that order is what a seed
    // reproduces.
    const double draw = std::uniform_real_distribution<double>(0, 1)(random_);
    if (draw < link_.loss) return;
    timer_.at(timer_.now() + link_.latency, [self = weak_from_this(), calling = std::move(calling)]() mutable {
      if (const auto network = self.lock()) network->arrive(std::move(calling));
    });
  }
  /// Calls `function` after `time`, even while a service hangs.
  void after(std::chrono::nanoseconds time, std::function<void()> function) {
    limits_.at(limits_.now() + time, std::move(function));
  }

 private:
  void arrive(std::shared_ptr<Calling> calling) {
    std::shared_ptr<SimulatedHost> host;
    {
      const Lock lock(mutex_);
      const auto at = hosts_.find(calling->to.address);
      const auto health = health_.find(calling->to.address);
      const HostHealth is = health == health_.end() ? HostHealth::kWell : health->second;
      if (is == HostHealth::kFrozen) return;
      if (is == HostHealth::kWell && at != hosts_.end()) host = at->second;
    }
    if (!host) return answer_later(std::move(calling), unavailable("nobody listens there"));
    // Called without the network's lock, because a service may take long.
    Result<Buffer> response = served(*host, *calling);
    if (response.ok()) flip(*response);
    answer_later(std::move(calling), std::move(response));
  }

  static Result<Buffer> served(SimulatedHost& host, const Calling& calling) {
    const Lock lock(host.serving);
    const JobPass& pass = calling.to.pass;
    const bool ours = same_secret(pass.token, host.pass.token) && pass.generation == host.pass.generation;
    if (host.gone) return unavailable("nobody listens there");
    const auto service = host.services.find(calling.service);
    const bool understood = ours && service != host.services.end() && calling.request.size() <= kMaxRequestBytes;
    const Result<Response> response =
        understood ? service->second->answer(calling.request.span()) : Result<Response>(invalid_argument("refused"));
    if (!response.ok()) {
      ++host.stats.refused;
      return invalid_argument("refused");
    }
    ++host.stats.calls;
    host.stats.bytes += response_bytes(*response);
    if (response_bytes(*response) > calling.most_bytes)
      return corrupt(fmt::format("the answer is too long: {} bytes, and {} are allowed", response_bytes(*response),
                                 calling.most_bytes));
    return joined(*response);
  }

  void flip(Buffer& bytes) {
    const Lock lock(mutex_);
    if (std::uniform_real_distribution<double>(0, 1)(random_) >= link_.flips || bytes.empty()) return;
    const uint64_t bit = std::uniform_int_distribution<uint64_t>(0, bytes.size() * 8 - 1)(random_);
    bytes.data()[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
  }

  void answer_later(std::shared_ptr<Calling> calling, Result<Buffer> response) {
    *calling->comes = true;
    const Lock lock(mutex_);
    const double bytes = response.ok() ? static_cast<double>(response->size()) : 0;
    const auto sending =
        std::chrono::nanoseconds(static_cast<int64_t>(bytes / std::max(link_.bytes_per_second, 1.0) * 1e9));
    busy_until_ = std::max(busy_until_, timer_.now()) + sending;
    timer_.at(busy_until_ + link_.latency, [calling = std::move(calling), response = std::move(response)]() mutable {
      calling->answer(std::move(response));
    });
  }

  Mutex mutex_;
  SimulatedLink link_ FOREBAY_GUARDED_BY(mutex_);
  std::mt19937_64 random_ FOREBAY_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<SimulatedHost>> hosts_ FOREBAY_GUARDED_BY(mutex_);
  std::map<std::string, HostHealth> health_ FOREBAY_GUARDED_BY(mutex_);
  Timer::Time busy_until_ FOREBAY_GUARDED_BY(mutex_){0};
  uint16_t next_port_ FOREBAY_GUARDED_BY(mutex_) = 1;
  // Timer for the time limits of calls. It is separate from timer_, whose thread may be inside a
  // service that hangs.
  Timer limits_;
  Timer timer_;  // last: its thread uses the other members
};

class SimulatedListening final : public Listening {
 public:
  SimulatedListening(std::shared_ptr<Network> network, std::shared_ptr<SimulatedHost> host, std::string address)
      : network_(std::move(network)), host_(std::move(host)), address_(std::move(address)) {}
  ~SimulatedListening() override { network_->remove(address_, *host_); }
  const std::string& address() const override { return address_; }
  Stats stats() const override {
    const Lock lock(host_->serving);
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
  ~SimulatedTransport() override { calls_.close(); }

  Result<std::unique_ptr<Listening>> listen(const std::string& address, const JobPass& pass,
                                            Services services) override {
    FOREBAY_RETURN_IF_ERROR(check_token(pass.token));
    auto host = std::make_shared<SimulatedHost>();
    host->pass = pass;
    host->services = std::move(services);
    FOREBAY_ASSIGN(std::string at, network_->add(address, host));
    return std::unique_ptr<Listening>(std::make_unique<SimulatedListening>(network_, std::move(host), std::move(at)));
  }

  void call(const PeerHost& host, std::string_view service, Buffer request, const CallLimits& limits,
            std::stop_token stop, Done done) override {
    const auto calling = std::make_shared<Calling>();
    calling->call = calls_.begin<Buffer>("peer " + host.address, std::move(stop), std::move(done));
    if (calling->call->answered()) return;
    calling->to = host;
    calling->service = service;
    calling->request = std::move(request);
    calling->most_bytes = limits.most_bytes;
    // These end calls that a lost request or a frozen host would leave unanswered. They do not keep
    // an answered call alive.
    const auto give_up = [weak = std::weak_ptr(calling->call), host = host.address] {
      if (const auto waiting = weak.lock()) waiting->answer(unavailable("no answer in time").with_key("peer " + host));
    };
    network_->after(limits.in_all, give_up);
    network_->after(limits.silence, [give_up, comes = calling->comes] {
      if (!*comes) give_up();
    });
    network_->send(calling);
  }

 private:
  const std::shared_ptr<Network> network_;
  CallTable calls_;
};

std::shared_ptr<Transport> Network::transport() { return std::make_shared<SimulatedTransport>(shared_from_this()); }

}  // namespace

std::shared_ptr<SimulatedNetwork> SimulatedNetwork::make(SimulatedLink link, bool manual) {
  return std::make_shared<Network>(link, manual);
}

}  // namespace forebay
