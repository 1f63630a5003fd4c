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

/// Decides which transfers may open a connection, so that an HTTP/2 server gets no more connections
/// than it needs.
///
/// libcurl opens a connection for every transfer that finds none with a free stream, even while
/// connections are being opened that would have one. So one transfer opens a connection, and
/// transfers that come meanwhile wait until that connection accepts requests. Once it is known how
/// many streams a connection has, as many connections are opened at once as the waiting transfers
/// need. Nothing waits if the server answers in HTTP/1.1.
///
/// A connection accepts requests when its first answer begins, or when as much time has passed
/// since it was connected as connecting took: by then the server has sent its limit of streams.
/// Used by one thread.
class ConnectionOpenings {
 public:
  using Clock = std::chrono::steady_clock;
  using Transfer = std::unique_ptr<CurlTransfer>;
  /// Host and port, and the options with which connections to it are made.
  using Server = std::pair<std::string, const void*>;
  /// Load of a server's connections.
  struct Load {
    size_t connections = 0;
    size_t most = 0;  ///< requests on the fullest connection
  };

  /// Records that `transfer` opens a connection, and returns true, unless it should wait for one
  /// that is being opened. Always true for a transfer that is opening one. `load` is that of the
  /// server's connections, if no other transfer is opening one.
  bool try_open(const Server& server, const CurlTransfer* transfer, const Load& load, Clock::time_point now);
  bool has_no_opener(const Server& server) const;
  /// Stores a transfer until the connections that are being opened accept requests.
  void wait(const Server& server, Transfer transfer);

  /// The transfer's connection is established.
  void connected(const Server& server, const CurlTransfer* transfer, Clock::time_point now);
  // The next three functions return the transfers that may continue, in the order in which they
  // came.

  /// The transfer's answer begins, over any connection.
  std::vector<Transfer> answered(const Server& server, const CurlTransfer* transfer, int major_version);
  /// The transfer ended, with or without an answer.
  std::vector<Transfer> ended(const Server& server, const CurlTransfer* transfer);
  /// Connections accept requests because enough time has passed.
  std::vector<Transfer> due(Clock::time_point now);
  std::optional<Clock::time_point> next_due() const;

  /// Removes waiting transfers for which `gone` is true.
  template <typename Gone>
  void erase_waiting_if(const Gone& gone) {
    for (auto& [server, state] : servers_) std::erase_if(state.waiting, gone);
  }
  bool has_waiting() const;
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
    bool http1 = false, http2 = false;  ///< protocol of the latest answer
    /// Known least number of requests that a connection takes; 0 if not known.
    size_t takes = 0;
    int failures = 0;  ///< in a row
    bool idle() const { return openers.empty() && waiting.empty(); }
  };

  static void learn(State& state, const Load& load);
  std::vector<Transfer> resume(State& state, size_t openers);
  void forget_idle();

  std::map<Server, State> servers_;
};

}  // namespace forebay
