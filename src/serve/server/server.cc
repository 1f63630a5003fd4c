#include "serve/server/server.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/host.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

// Each client costs a thread and two descriptors to poll.
constexpr size_t kMaxClients = 256;

// Every large field of a batch has a slab, and so a descriptor, of its own.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Restricts the process to its first cores, so that code that counts cores finds only these.
void restrict_to_cores(int most) {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return;
  for (int core = 0, taken = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores) && ++taken > most) CPU_CLR(core, &cores);
  }
  sched_setaffinity(0, sizeof cores, &cores);
}

FileDescriptor watch_process(pid_t process) {
  return FileDescriptor(process > 0 ? static_cast<int>(syscall(SYS_pidfd_open, process, 0)) : -1);
}

// Tells a client why it cannot connect. Does not wait for a client that does not read.
void refuse(FileDescriptor socket) {
  Channel channel(std::move(socket), 0, Channel::Descriptors::kRefuse);
  const Status why = unavailable(fmt::format(
      "the server has as many clients as it takes ({}); close some, or start another server (--socket)", kMaxClients));
  (void)channel.try_send(MessageType::kFailed, to_message(why));
}

nlohmann::json to_json(const ClientStatus& client) {
  const double seconds = client.seconds;
  return {{"process", client.process},
          {"program", client.program},
          {"pipeline", client.pipeline},
          {"rank", client.rank},
          {"world_size", client.world_size},
          {"together", client.together},
          {"shares", client.shares},
          {"epoch", client.epoch},
          {"batches", client.batches},
          {"samples", client.samples},
          {"bytes", client.bytes},
          {"samples_per_second", seconds > 0 ? static_cast<double>(client.samples) / seconds : 0.0},
          {"seconds", seconds},
          {"wait_seconds", client.waited},
          {"held_batches", client.held},
          {"held_bytes", client.held_bytes}};
}

nlohmann::json to_json(const TogetherCounts& together) {
  return {{"batches_made", together.computed},
          {"batches_given", together.delivered},
          {"batches_saved", together.delivered - std::min(together.delivered, together.computed)}};
}

// Clients with a cache at the same place share it, so its hits count once.
uint64_t cache_hits_of(const std::vector<ClientStatus>& clients) {
  std::map<std::string, uint64_t> hits;
  for (const ClientStatus& client : clients) {
    for (const auto& [place, count] : client.cache_hits) hits[place] = std::max(hits[place], count);
  }
  uint64_t sum = 0;
  for (const auto& [place, count] : hits) sum += count;
  return sum;
}

}  // namespace

// A client, its thread, and a descriptor that reports the end of its process. The socket alone does
// not suffice, since a descendant of the client may keep it open.
struct Server::Client {
  Client(FileDescriptor socket, pid_t process, Sharing& sharing, const Server& server)
      : session(std::move(socket), process, sharing), ended(watch_process(process)), thread([this, &server] {
          session.run();
          server.wake();
        }) {}
  ~Client() {
    session.abort();
    thread.join();
  }

  ClientSession session;
  FileDescriptor ended;
  bool aborted = false;
  std::thread thread;
};

Server::Server(ServerOptions options)
    : options_(std::move(options)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), begun_(options_.clock->now()),
      idle_since_(begun_) {}

Server::~Server() {
  clients_.clear();
  if (engine_) engine_->set_batch_memory(BlockSource::own_memory());
}

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
  // A kernel that cannot seal memory is reported here and not with the first batch.
  FOREBAY_RETURN_IF_ERROR(Slab::make(1, 4096).status());
  std::unique_ptr<Server> server(new Server(std::move(options)));
  server->listening_ = std::move(listening);
  server->engine_ = Engine::shared();
  server->prepare_sharing();
  return server;
}

void Server::prepare_sharing() {
  engine_->set_batch_memory(sharing_.blocks);
  const uint64_t memory = options_.memory.value_or(usable_memory() / 4);
  if (options_.memory) engine_->memory->set_most(memory);
  sharing_.together = std::make_shared<TogetherRuns>(options_.patience, *options_.clock);
  sharing_.prefixes.set_bytes(memory / 2);
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
    // The end of a process that has ended already would never be reported.
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

void Server::remove_ended() {
  std::vector<std::unique_ptr<Client>> ended;  // joined without the lock
  const Lock lock(mutex_);
  for (auto& client : clients_) {
    if (client->session.over()) ended.push_back(std::move(client));
  }
  std::erase(clients_, nullptr);
  if (clients_.empty() && !ended.empty()) idle_since_ = options_.clock->now();
}

// Returns what run() waits for: the listening socket, wake_, and two descriptors for each client.
std::vector<pollfd> Server::watched() const {
  std::vector<pollfd> watched{{listening_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  const Lock lock(mutex_);
  for (const auto& client : clients_) {
    watched.push_back({client->aborted ? -1 : client->session.descriptor(), POLLRDHUP, 0});
    watched.push_back({client->aborted ? -1 : client->ended.get(), POLLIN, 0});
  }
  return watched;
}

// Aborts clients that have hung up, or that have died while another process keeps their socket
// open.
void Server::abort_dead_clients(const std::vector<pollfd>& watched) {
  std::vector<Client*> dead;  // aborted without the lock; only this thread removes clients
  {
    const Lock lock(mutex_);
    for (size_t i = 0; i < clients_.size(); ++i) {
      Client& client = *clients_[i];
      const bool hung_up = (watched[2 + 2 * i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
      if (client.aborted || (!hung_up && watched[3 + 2 * i].revents == 0)) continue;
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
    std::vector<pollfd> events = watched();
    // Short enough for --linger. Every other event wakes the poll.
    if (poll(events.data(), events.size(), options_.linger ? 100 : 1000) > 0) {
      abort_dead_clients(events);
      uint64_t count = 0;
      (void)!read(wake_.get(), &count, sizeof count);
    }
    accept_all();
    remove_ended();
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
    const Lock guard(mutex_);
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
  std::vector<ClientStatus> readers;  // clients with a loader
  nlohmann::json status;
  {
    const Lock lock(mutex_);
    for (const auto& client : clients_) readers.push_back(client->session.status());
    status["clients_served"] = clients_served_;
  }
  std::erase_if(readers, [](const ClientStatus& client) { return !client.reads; });
  status["clients"] = nlohmann::json::array();
  for (const ClientStatus& client : readers) status["clients"].push_back(to_json(client));
  status["process"] = getpid();
  status["socket"] = options_.path;
  status["seconds"] = std::chrono::duration<double>(options_.clock->now() - begun_).count();
  status["threads"] = engine_->executor->cores();
  status["batch_memory_bytes"] = sharing_.blocks->bytes();
  status["together"] = to_json(sharing_.together->counts());
  status["cache_hits"] = cache_hits_of(readers);
  return status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace forebay
