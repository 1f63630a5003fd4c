#include "serve/server/server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "runtime/host.h"
#include "serve/server/process_limits.h"
#include "serve/server/server_status.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

// Each client costs a thread and two descriptors to poll.
constexpr size_t kMaxClients = 256;

// Entries in the list for poll(): those of the server, and then those of each client.
constexpr size_t kServerEvents = 2, kClientEvents = 2;

// All events wake poll(). With --linger it also has to notice that time has passed; without, it
// wakes as a precaution only.
constexpr std::chrono::milliseconds kLingerCheck{100}, kIdleWake{1000};

// Tells a client why it cannot connect. Does not wait for a client that does not read.
void refuse(FileDescriptor socket) {
  Channel channel(std::move(socket), 0, Channel::Descriptors::kRefuse);
  const Status why = unavailable(fmt::format(
      "the server has as many clients as it takes ({}); close some, or start another server (--socket)", kMaxClients));
  (void)channel.try_send(MessageType::kFailed, to_message(why));
}

}  // namespace

// A client, its thread, and a descriptor that reports the end of its process. The socket alone does
// not suffice, since a descendant of the client may keep it open.
struct Server::Client {
  Client(FileDescriptor socket, pid_t process, Sharing& sharing, const Server& server)
      : session(std::move(socket), process, sharing), process_end(watch_process(process)), thread([this, &server] {
          session.run();
          server.wake();
        }) {}
  ~Client() {
    session.abort();
    thread.join();
  }

  ClientSession session;
  FileDescriptor process_end;
  bool aborted = false;
  std::thread thread;
};

Server::Server(ServerOptions options)
    : options_(std::move(options)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), begun_(options_.clock->now()),
      idle_since_(begun_) {}

Server::~Server() { clients_.clear(); }

// Creates the listening socket at the path, unless another server listens there.
Result<FileDescriptor> Server::take_socket(const std::string& path) {
  FOREBAY_ASSIGN(const std::optional<FileDescriptor> lock, lock_socket(path, LockMode::kWait));
  const Result<FileDescriptor> other = connect_to(path);
  if (other.ok())
    return unavailable(fmt::format("a server listens here already; stop it with: {}", serve_command(path, "stop")))
        .with_key(path);
  // A server listens here but does not answer.
  if (other.status().code() != Code::kNotFound) return other.status();
  return listen_at(path);
}

Result<std::unique_ptr<Server>> Server::open(ServerOptions options) {
  raise_descriptor_limit();
  if (options.threads) restrict_to_cores(*options.threads);
  FileDescriptor listening = std::move(options.listening);
  if (!listening.valid()) {
    FOREBAY_ASSIGN(listening, take_socket(options.path));
  }
  // A socket from the parent has come through exec. It stops here: a process that a user function
  // starts would keep it open after a kill of the server, and clients would wait there.
  fcntl(listening.get(), F_SETFD, FD_CLOEXEC);
  // A kernel that cannot seal memory is reported here and not with the first batch.
  FOREBAY_RETURN_IF_ERROR(Slab::make(1, 4096).status());
  std::unique_ptr<Server> server(new Server(std::move(options)));
  server->listening_ = std::move(listening);
  server->engine_ = Engine::shared();
  server->prepare_sharing();
  return server;
}

void Server::prepare_sharing() {
  sharing_.batch_memory = sharing_.blocks;
  const uint64_t memory = options_.memory.value_or(usable_memory() / 4);
  if (options_.memory) engine_->memory->set_most(memory);
  sharing_.together = std::make_shared<TogetherRuns>(options_.patience, *options_.clock);
  sharing_.prefixes.set_bytes(memory / 2);
  sharing_.load_code = options_.load_code;
  sharing_.status = [this] { return status(); };
  sharing_.stop = [this] {
    stopping_ = true;
    wake();
  };
}

void Server::wake() const {
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

void Server::accept_all() {
  while (true) {
    FileDescriptor socket(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.valid()) return;
    const std::optional<PeerProcess> peer = peer_process(socket.get());
    // The folder keeps other users out, but a socket from the parent (--listen-at) may be
    // elsewhere.
    if (!peer || peer->user != getuid()) continue;
    // There is no pidfd of a process that has ended, so its end would never be reported.
    if (peer->process > 0 && kill(peer->process, 0) != 0 && errno == ESRCH) continue;
    if (connections() < kMaxClients)
      add_client(std::move(socket), peer->process);
    else
      refuse(std::move(socket));
  }
}

void Server::add_client(FileDescriptor socket, pid_t process) {
  try {
    auto client = std::make_unique<Client>(std::move(socket), process, sharing_, *this);
    const Lock lock(mutex_);
    clients_.push_back(std::move(client));
    ++clients_served_;
  } catch (const std::system_error& error) {
    log_warning(fmt::format("serve: a client is turned away: {}", error.what()));
  }
}

void Server::remove_finished() {
  std::vector<std::unique_ptr<Client>> ended;  // declared before the lock, so joined without it
  const Lock lock(mutex_);
  for (auto& client : clients_) {
    if (client->session.over()) ended.push_back(std::move(client));
  }
  std::erase(clients_, nullptr);
  if (clients_.empty() && !ended.empty()) idle_since_ = options_.clock->now();
}

// Returns what run() waits for: the listening socket, wake_, and two descriptors for each client.
std::vector<pollfd> Server::poll_events() const {
  std::vector<pollfd> events{{listening_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  const Lock lock(mutex_);
  for (const auto& client : clients_) {
    events.push_back({client->aborted ? -1 : client->session.descriptor(), POLLRDHUP, 0});
    events.push_back({client->aborted ? -1 : client->process_end.get(), POLLIN, 0});
  }
  return events;
}

// Aborts clients that have hung up, or that have died while another process keeps their socket
// open. The events are those of poll_events(): only this thread adds and removes clients, and does
// neither in between.
void Server::abort_dead_clients(const std::vector<pollfd>& events) {
  std::vector<Client*> dead;  // aborted without the lock
  {
    const Lock lock(mutex_);
    for (size_t i = 0; i < clients_.size(); ++i) {
      Client& client = *clients_[i];
      const bool hung_up = (events[kServerEvents + kClientEvents * i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
      const bool process_ended = events[kServerEvents + kClientEvents * i + 1].revents != 0;
      if (client.aborted || (!hung_up && !process_ended)) continue;
      client.aborted = true;
      dead.push_back(&client);
    }
  }
  for (Client* const client : dead) client->session.abort();
}

// Stops listening if the server has been idle for the linger time. Returns whether it did. The lock
// ensures that a client that connects meanwhile is either accepted here, or finds no server and
// starts another one.
bool Server::try_exit_when_idle() {
  if (!options_.linger || connections() > 0 || options_.clock->now() - idle_since_ < *options_.linger) return false;
  // Does not wait for the lock: a process that holds it starts a server, and this one then stays.
  const Result<std::optional<FileDescriptor>> lock = lock_socket(options_.path, LockMode::kTry);
  if (!lock.ok() || !lock->has_value()) return false;
  accept_all();
  if (connections() > 0) return false;
  unlink(options_.path.c_str());
  listening_ = FileDescriptor();
  return true;
}

Status Server::run(std::stop_token stop) {
  const std::stop_callback wakes(stop, [this] { wake(); });
  while (!stop.stop_requested() && !stopping_) {
    std::vector<pollfd> events = poll_events();
    const std::chrono::milliseconds limit = options_.linger ? kLingerCheck : kIdleWake;
    if (poll(events.data(), events.size(), static_cast<int>(limit.count())) > 0) {
      abort_dead_clients(events);
      uint64_t count = 0;
      (void)!read(wake_.get(), &count, sizeof count);
    }
    accept_all();
    remove_finished();
    if (try_exit_when_idle()) return {};
  }
  // Another process that holds the lock may have replaced the socket already.
  if (const auto lock = lock_socket(options_.path, LockMode::kTry); lock.ok() && lock->has_value())
    unlink(options_.path.c_str());
  listening_ = FileDescriptor();
  close_clients();
  return {};
}

void Server::close_clients() {
  std::vector<std::unique_ptr<Client>> all;
  {
    const Lock lock(mutex_);
    all.swap(clients_);
  }
  // Aborts all of them before the destructors join them one by one.
  for (const auto& client : all) client->session.abort();
}

size_t Server::connections() const {
  const Lock lock(mutex_);
  return clients_.size();
}

std::string Server::status() const {
  ServerStatus status;
  {
    const Lock lock(mutex_);
    for (const auto& client : clients_) status.clients.push_back(client->session.status());
    status.clients_served = clients_served_;
  }
  std::erase_if(status.clients, [](const ClientStatus& client) { return !client.reads; });
  status.socket = options_.path;
  status.seconds = std::chrono::duration<double>(options_.clock->now() - begun_).count();
  status.threads = engine_->executor->cores();
  status.batch_memory_bytes = sharing_.blocks->bytes();
  status.together = sharing_.together->counts();
  return to_json_text(status);
}

}  // namespace forebay
