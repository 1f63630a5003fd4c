#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/engine.h"
#include "serve/server/client_session.h"
#include "serve/server/sharing.h"
#include "serve/server/user_code.h"
#include "serve/socket_path.h"

namespace forebay {

/// Options of a Server.
struct ServerOptions {
  std::string path;               ///< path of the socket
  FileDescriptor listening = {};  ///< listening socket from the parent process, or invalid
  /// Bytes for all loaders together. By default a quarter of the machine's memory.
  std::optional<uint64_t> memory = {};
  std::optional<int> threads = {};  ///< cores that it may use; by default all of the process
  /// The server exits once it has had no client for this long. Without a value it runs until
  /// stopped.
  std::optional<std::chrono::milliseconds> linger = {};
  /// How long a group waits for a client that is a whole window late (TogetherRun).
  std::chrono::milliseconds patience{1000};
  LoadCode load_code = {};  ///< loads user code; empty: pipelines with such code are refused
  /// Measures `linger` and `patience`. It outlives the server.
  WaitClock* clock = &WaitClock::real();
};

/// Serves loaders to the processes of one user on this host, over a Unix socket and with one engine
/// for all of them. Each client has a thread that answers its messages; the threads of the engine
/// compute the batches.
class Server {
 public:
  /// Begins to listen. Unavailable if another server listens there, or the socket cannot be
  /// created.
  static Result<std::unique_ptr<Server>> open(ServerOptions options);
  ~Server();

  /// Serves until it is stopped, or until the linger time is over. Closes the connections of all
  /// clients in the end. One thread calls it, once.
  Status run(std::stop_token stop);
  /// Returns the status as JSON, described in docs/reference/shared.md. Any thread may call it.
  std::string status() const;
  /// Returns the number of connections, those without a loader included. Any thread may call it.
  size_t connections() const;

 private:
  struct Client;
  explicit Server(ServerOptions options);
  static Result<FileDescriptor> take_socket(const std::string& path);
  void prepare_sharing();
  std::vector<pollfd> poll_events() const;
  void accept_all();
  void add_client(FileDescriptor socket, pid_t process);
  void abort_dead_clients(const std::vector<pollfd>& events);
  void remove_finished();
  bool try_exit_when_idle();
  void close_clients();
  void wake() const;

  const ServerOptions options_;
  FileDescriptor listening_, wake_;
  std::shared_ptr<Engine> engine_;
  Sharing sharing_;
  std::atomic<bool> stopping_ = false;
  const WaitClock::TimePoint begun_;
  WaitClock::TimePoint idle_since_;
  mutable Mutex mutex_;
  int64_t clients_served_ FOREBAY_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<Client>> clients_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
