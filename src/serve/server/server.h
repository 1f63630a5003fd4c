#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "serve/server/guest.h"
#include "serve/server/sharing.h"
#include "serve/socket_place.h"

namespace forebay {

struct ServerOptions {
  std::string path;                     ///< of the socket
  FileDescriptor listening = {};        ///< made by who started the server; else one is made
  std::optional<uint64_t> memory = {};  ///< bytes for all loaders together; else a quarter of the machine's
  std::optional<int> threads = {};      ///< cores that it may use; else all that the process may
  /// It goes when nobody has been connected for so long; nothing: it stays until it is stopped.
  std::optional<std::chrono::milliseconds> linger = {};
  /// So long a member of a group that is a window behind is waited for.
  std::chrono::milliseconds patience{1000};
};

/// One engine for the processes of a host: it serves loaders to clients of the same user over a Unix socket. Each client has a thread
/// that speaks with it; the batches are made by the threads of the engine, for all of them.
class Server {
 public:
  /// Unavailable where another server listens there already, or nothing can.
  static Result<std::unique_ptr<Server>> open(ServerOptions options);
  ~Server();

  /// Serves until it is stopped, or nobody is left. Clients that are connected then see that it has gone.
  Status run(std::stop_token stop);
  /// JSON: see docs/shared.md. From any thread.
  std::string status() const;

 private:
  struct Connected;
  explicit Server(ServerOptions options);
  void accept_all();
  void look_at(std::vector<pollfd>& watched);
  void remove_gone();
  bool leaves();
  void wake() const;

  const ServerOptions options_;
  FileDescriptor listening_, wake_;
  std::shared_ptr<Engine> engine_;
  Sharing sharing_;
  std::atomic<bool> stopping_ = false;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point alone_since_ = begun_;
  int64_t served_ = 0;
  mutable std::mutex mutex_;  // guards guests_ against status()
  std::vector<std::unique_ptr<Connected>> guests_;
};

}  // namespace forebay
