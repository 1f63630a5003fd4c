#pragma once

#include <ucp/api/ucp.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "forebay/buffer.h"
#include "ucx/message_heads.h"
#include "ucx/ucx_worker.h"

namespace forebay {

/// The connections of one end: those that it asks over, and those that others ask over. Made, sent over, and closed when they fail. For the thread of the worker
/// alone.
///
/// Numbers name them, for as long as they are there: UCX's handles come again for others.
class Connections {
 public:
  using Clock = std::chrono::steady_clock;
  /// A connection is gone, for that reason. Not from within send() and connect().
  using OnGone = std::function<void(uint64_t connection, const Status& why)>;
  /// Who asks: an end, and the number that it gave its connection.
  using Asker = std::pair<uint64_t, uint64_t>;

  /// `patience`: for each MiB of a message to leave. `idle`: after which a connection that was made here is closed; others after three times as long.
  Connections(UcxWorker& worker, std::chrono::milliseconds patience, std::chrono::milliseconds idle, OnGone on_gone)
      : worker_(worker), patience_(patience), idle_(idle), on_gone_(std::move(on_gone)) {}
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  /// The one to that address of a worker, made where there is none.
  Result<uint64_t> connect(const std::string& address);
  /// The one back to whoever asks, made where there is none and fewer than `most` of its kind.
  Result<uint64_t> connect_back(Asker asker, const std::string& address, size_t most);

  /// Sends these one behind the other, and keeps them until they have left. A connection that is gone, or fails, takes them with it.
  void send(uint64_t connection, unsigned message, const MessageHead& head, std::vector<Buffer> pieces, unsigned flags);
  /// Until release(), as often as it was called: it is not idle.
  void hold(uint64_t connection);
  void release(uint64_t connection);
  /// Something came over it.
  void hear(uint64_t connection);
  bool is_heard_since(uint64_t connection, Clock::time_point when) const;
  /// Not before settle().
  void fail(uint64_t connection, Status why);

  /// Closes what has failed; now and then also what has been idle for long, and who does not take what is sent. True where anything was: it ends in the next
  /// rounds of the worker.
  bool settle(Clock::time_point now);
  /// What is under way ends with errors in the next rounds of the worker, and nobody is told.
  void close_all();
  bool is_anything_sent() const { return !sendings_.empty(); }
  /// How long settle() may be put off where nothing happens.
  std::chrono::milliseconds until_next_look() const;

 private:
  struct Connection {
    uint64_t number = 0;
    ucp_ep_h handle = nullptr;
    std::string address;  ///< empty: it leads back to an asker
    Asker asker;          ///< where it does
    Clock::time_point heard{}, used{};
    int held = 0;
    bool failing = false;
  };
  struct Sending;

  Result<Connection*> make(const std::string& address);
  void close(const Connection& connection);
  void forget(Sending& sent);
  void look_for_idle(Clock::time_point now);
  void look_for_slow_takers(Clock::time_point now);
  static void on_error(void* all, ucp_ep_h handle, ucs_status_t status);
  static void on_sent(void* request, ucs_status_t status, void* sending);

  UcxWorker& worker_;
  const std::chrono::milliseconds patience_, idle_;
  const OnGone on_gone_;
  uint64_t numbers_ = 0;
  std::unordered_map<uint64_t, std::unique_ptr<Connection>> connections_;
  std::unordered_map<ucp_ep_h, uint64_t> by_handle_;
  std::map<std::string, uint64_t> by_address_;
  std::map<Asker, uint64_t> by_asker_;
  std::list<std::unique_ptr<Sending>> sendings_;
  std::vector<std::pair<uint64_t, Status>> failing_;
  Clock::time_point next_look_{};
};

}  // namespace forebay
