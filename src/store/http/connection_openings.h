#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace forebay {

class CurlTransfer;

/// Which transfers may open a connection, so that a server of HTTP/2 gets no more of them than it needs.
///
/// libcurl opens one for every transfer that finds none with room, also while others are being opened that would have room for it. So
/// one transfer opens, and those that come meanwhile wait until its connection takes requests. Once it is known how many a connection
/// takes, as many are opened at once as those who wait need. Where a server answers in HTTP/1.1, nobody waits.
///
/// A connection takes requests when its first answer begins, or when as much time has passed since it was there as it took to make:
/// by then the server has said how many it takes. One thread uses this.
class ConnectionOpenings {
 public:
  using Clock = std::chrono::steady_clock;
  using Transfer = std::unique_ptr<CurlTransfer>;
  /// Host and port, and the options that its connections are made with.
  using Server = std::pair<std::string, const void*>;
  /// What is under way to a server.
  struct Load {
    size_t connections = 0;
    size_t most = 0;  ///< requests on the connection that has most
  };

  /// Whether `transfer` may open one now; true again where it is the one that opens. `load`: where nobody was opening any, what made
  /// this one necessary.
  bool may_open(const Server& server, const CurlTransfer* transfer, const Load& load, Clock::time_point now);
  bool nobody_opens(const Server& server) const;
  /// Keeps one that may not.
  void wait(const Server& server, Transfer transfer);

  /// Its connection is there.
  void connected(const Server& server, const CurlTransfer* transfer, Clock::time_point now);
  /// Its answer begins, over whichever connection. These give those who go on, in the order they came.
  std::vector<Transfer> answered(const Server& server, const CurlTransfer* transfer, int major_version);
  /// It ended, with or without an answer.
  std::vector<Transfer> ended(const Server& server, const CurlTransfer* transfer);
  std::vector<Transfer> due(Clock::time_point now);
  std::optional<Clock::time_point> next_due() const;

  /// Takes out those who wait and for whom `gone` is true.
  template <typename Gone>
  void erase_waiting_if(const Gone& gone) {
    for (auto& [server, state] : servers_) std::erase_if(state.waiting, gone);
  }
  bool anybody_waits() const;
  void clear() { servers_.clear(); }

 private:
  struct Opener {
    const CurlTransfer* transfer;
    Clock::time_point began;
    std::optional<Clock::time_point> ready_at = {};
  };
  struct State {
    std::vector<Opener> openers;
    std::vector<Transfer> waiting;
    bool http1 = false, http2 = false;  ///< as its latest answer was
    size_t takes = 0;                   ///< requests on a connection, at least; 0: not known
    int failures = 0;                   ///< in a row
    bool idle() const { return openers.empty() && waiting.empty(); }
  };

  static void learn(State& state, const Load& load);
  std::vector<Transfer> go_on(State& state, size_t openers);
  void forget_idle();

  std::map<Server, State> servers_;
};

}  // namespace forebay
