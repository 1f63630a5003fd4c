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
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/host.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

// Each client costs a thread and two descriptors to poll.
constexpr size_t kMostGuests = 256;

// Every large field of a batch has a slab, and so a descriptor, of its own.
void allow_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Restricts the process to its first cores, so that code that counts cores finds only these.
void use_cores(int most) {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return;
  for (int core = 0, kept = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores) && ++kept > most) CPU_CLR(core, &cores);
  }
  sched_setaffinity(0, sizeof cores, &cores);
}

FileDescriptor watch_process(pid_t process) {
  return FileDescriptor(process > 0 ? static_cast<int>(syscall(SYS_pidfd_open, process, 0)) : -1);
}

// Does not wait for a client that does not read.
void turn_away(FileDescriptor socket) {
  Channel channel(std::move(socket), 0, false);
  const Status why = unavailable(fmt::format(
      "the server has as many clients as it takes ({}); close some, or start another server (--socket)", kMostGuests));
  (void)channel.try_send(MessageType::kFailed, to_message(why));
}

nlohmann::json to_json(const GuestLook& look) {
  const double seconds = look.seconds;
  return {{"process", look.process},
          {"program", look.program},
          {"pipeline", look.pipeline},
          {"rank", look.rank},
          {"world_size", look.world_size},
          {"together", look.together},
          {"shares", look.shares},
          {"epoch", look.epoch},
          {"batches", look.batches},
          {"samples", look.samples},
          {"bytes", look.bytes},
          {"samples_per_second", seconds > 0 ? static_cast<double>(look.samples) / seconds : 0.0},
          {"seconds", seconds},
          {"wait_seconds", look.waited},
          {"held_batches", look.held},
          {"held_bytes", look.held_bytes}};
}

}  // namespace

// A client, its thread, and a descriptor that reports the end of its process. The socket alone does
// not suffice, since a descendant of the client may keep it open.
struct Server::Connected {
  Connected(FileDescriptor socket, pid_t process, Sharing& sharing, const Server& server)
      : guest(std::move(socket), process, sharing), ended(watch_process(process)), thread([this, &server] {
          guest.run();
          server.wake();
        }) {}
  ~Connected() {
    guest.abort();
    thread.join();
  }

  Guest guest;
  FileDescriptor ended;
  bool aborted = false;
  std::thread thread;
};

Server::Server(ServerOptions options) : options_(std::move(options)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Server::~Server() {
  guests_.clear();
  if (engine_) engine_->lend_batches_from(BlockSource::own_memory());
}

Result<std::unique_ptr<Server>> Server::open(ServerOptions options) {
  allow_descriptors();
  if (options.threads) use_cores(*options.threads);
  FileDescriptor listening = std::move(options.listening);
  if (!listening.valid()) {
    const std::optional<FileDescriptor> lock = lock_socket(options.path, true);
    if (!lock)
      return unavailable(fmt::format("the lock beside this socket cannot be taken: {}", std::strerror(errno)))
          .with_key(options.path);
    const Result<FileDescriptor> there = connect_to(options.path);
    if (there.ok())
      return unavailable(
                 fmt::format("a server listens here already; stop it with: {}", serve_command(options.path, "stop")))
          .with_key(options.path);
    // A server listens here but does not answer.
    if (there.status().code() != Code::kNotFound) return there.status();
    FOREBAY_ASSIGN(listening, listen_at(options.path));
  }
  // A kernel that cannot seal memory is reported here and not with the first batch.
  FOREBAY_RETURN_IF_ERROR(Slab::make(1, 4096).status());
  std::unique_ptr<Server> server(new Server(std::move(options)));
  server->listening_ = std::move(listening);
  server->engine_ = Engine::shared();
  Sharing& sharing = server->sharing_;
  server->engine_->lend_batches_from(sharing.blocks);
  const uint64_t memory = server->options_.memory.value_or(usable_memory() / 4);
  if (server->options_.memory) server->engine_->memory->set_most(memory);
  sharing.together = std::make_shared<TogetherRuns>(server->options_.patience);
  sharing.prefixes.set_bytes(memory / 2);
  sharing.status = [raw = server.get()] { return raw->status(); };
  sharing.stop = [raw = server.get()] {
    raw->stopping_ = true;
    raw->wake();
  };
  return server;
}

void Server::wake() const {
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

size_t Server::guests() const {
  const Lock lock(mutex_);
  return guests_.size();
}

void Server::accept_all() {
  while (true) {
    FileDescriptor socket(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.valid()) return;
    const std::optional<PeerProcess> peer = peer_process(socket.get());
    // The folder keeps other users out, but a socket from the parent (--listen-at) may be
    // elsewhere.
    if (!peer || peer->user != getuid()) continue;
    if (guests() >= kMostGuests) {
      turn_away(std::move(socket));
      continue;
    }
    try {
      auto guest = std::make_unique<Connected>(std::move(socket), peer->process, sharing_, *this);
      const Lock lock(mutex_);
      guests_.push_back(std::move(guest));
      ++served_;
    } catch (const std::system_error& error) {
      log_warning(fmt::format("serve: a client is turned away: {}", error.what()));
    }
  }
}

void Server::remove_gone() {
  std::vector<std::unique_ptr<Connected>> gone;  // joined without the lock
  const Lock lock(mutex_);
  for (auto& guest : guests_) {
    if (guest->guest.over()) gone.push_back(std::move(guest));
  }
  std::erase(guests_, nullptr);
  if (guests_.empty() && !gone.empty()) alone_since_ = std::chrono::steady_clock::now();
}

// Aborts clients that have hung up, or that have died while another process keeps their socket
// open.
void Server::look_at(std::vector<pollfd>& watched) {
  std::vector<Connected*> gone;  // aborted without the lock; only this thread removes guests
  {
    const Lock lock(mutex_);
    for (size_t i = 0; i < guests_.size(); ++i) {
      Connected& guest = *guests_[i];
      const bool hung_up = (watched[2 + 2 * i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
      if (guest.aborted || (!hung_up && watched[3 + 2 * i].revents == 0)) continue;
      guest.aborted = true;
      gone.push_back(&guest);
    }
  }
  for (Connected* const guest : gone) guest->guest.abort();
}

// Decides whether to exit. The lock ensures that a client that connects meanwhile is either
// accepted here, or finds no server and starts another one.
bool Server::leaves() {
  if (!options_.linger || guests() > 0 || std::chrono::steady_clock::now() - alone_since_ < *options_.linger)
    return false;
  // Does not wait for the lock: a process that holds it starts a server, and this one then stays.
  const std::optional<FileDescriptor> lock = lock_socket(options_.path, false);
  if (!lock) return false;
  accept_all();
  if (guests() > 0) return false;
  unlink(options_.path.c_str());
  listening_ = FileDescriptor();
  return true;
}

void Server::watch_guests(std::vector<pollfd>& watched) const {
  const Lock lock(mutex_);
  for (const auto& guest : guests_) {
    watched.push_back({guest->aborted ? -1 : guest->guest.descriptor(), POLLRDHUP, 0});
    watched.push_back({guest->aborted ? -1 : guest->ended.get(), POLLIN, 0});
  }
}

Status Server::run(std::stop_token stop) {
  const std::stop_callback wakes(stop, [this] { wake(); });
  while (!stop.stop_requested() && !stopping_) {
    std::vector<pollfd> watched{{listening_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    watch_guests(watched);
    // Short enough for --linger. Every other event wakes the poll.
    if (poll(watched.data(), watched.size(), options_.linger ? 100 : 1000) > 0) {
      look_at(watched);
      uint64_t count = 0;
      (void)!read(wake_.get(), &count, sizeof count);
    }
    accept_all();
    remove_gone();
    if (leaves()) return {};
  }
  if (lock_socket(options_.path, false)) unlink(options_.path.c_str());
  listening_ = FileDescriptor();
  std::vector<std::unique_ptr<Connected>> all;
  {
    const Lock guard(mutex_);
    all.swap(guests_);
  }
  // Abort all of them before the destructors join them one by one.
  for (const auto& guest : all) guest->guest.abort();
  return {};
}

std::string Server::status() const {
  std::vector<GuestLook> looks;
  nlohmann::json status;
  {
    const Lock lock(mutex_);
    for (const auto& guest : guests_) looks.push_back(guest->guest.look());
    status["clients_served"] = served_;
  }
  const TogetherCounts together = sharing_.together->counts();
  std::map<std::string, uint64_t> hits;  // clients with a cache at the same place share it
  status["clients"] = nlohmann::json::array();
  for (const GuestLook& look : looks) {
    if (!look.reads) continue;
    status["clients"].push_back(to_json(look));
    for (const auto& [place, count] : look.cache_hits) hits[place] = std::max(hits[place], count);
  }
  status["process"] = getpid();
  status["socket"] = options_.path;
  status["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  status["threads"] = engine_->executor->cores();
  status["batch_memory_bytes"] = sharing_.blocks->bytes();
  status["together"] = {{"batches_made", together.made},
                        {"batches_given", together.given},
                        {"batches_saved", together.given - std::min(together.given, together.made)}};
  uint64_t all_hits = 0;
  for (const auto& [place, count] : hits) all_hits += count;
  status["cache_hits"] = all_hits;
  return status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace forebay
