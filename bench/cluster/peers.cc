// What a peer costs: objects of 100 kB between two processes on one core each, 64 wanted at a time, by a peer's store and by the transport alone.
//
//   bench_peers [--seconds 3] [--bytes 100000] [--same-core] [--only peers]    the last: for profilers
//
// "bare": libcurl's loop asks a server that does nothing but send the same bytes again and again, as many an answer as our answers have
// on average; nobody looks at what comes. "peers": PeerStore, questions and answers, checksums, a server that looks up keys; over TLS
// where FOREBAY_CLUSTER_CERTIFICATE_FILE and its like are set. CPU seconds are those of both processes, in user and kernel, over a GB (10^9 bytes) of objects.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "cluster/entry_service.h"
#include "cluster/http/http_peer_transport.h"
#include "cluster/job_tls.h"
#include "cluster/peer_store.h"
#include "store/http/curl_transport.h"

using namespace forebay;

namespace {

constexpr size_t kInFlight = 64, kObjects = 256;
const JobPass kPass{"0123456789abcdef0123456789abcdef", 0};

struct Settings {
  double seconds = 3;
  uint64_t bytes = 100'000;
  int client_core = 0, server_core = 1;
  bool only_peers = false;
};

struct Measured {
  double objects_s = 0, client_cpu_s_gb = 0, server_cpu_s_gb = 0, objects_a_request = 1;
};

void pin_to(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (::sched_setaffinity(0, sizeof cores, &cores) != 0) std::perror("sched_setaffinity");
}

double cpu_s(int who) {
  rusage used{};
  ::getrusage(who, &used);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

Buffer object_of(uint64_t bytes, uint64_t seed) {
  Buffer made = Buffer::allocate(bytes);
  for (uint64_t i = 0; i < bytes; ++i) made.data()[i] = static_cast<uint8_t>((i * 2654435761u + seed) >> 7);
  return made;
}

class Objects : public EntrySource {
 public:
  explicit Objects(uint64_t bytes) {
    for (size_t i = 0; i < kObjects; ++i) objects_.push_back(object_of(bytes, i));
  }
  std::optional<Buffer> entry(const Hash128& key) override { return objects_[key.low % kObjects]; }

 private:
  std::vector<Buffer> objects_;
};

/// Sends the same answer to whatever comes, a thread for each connection.
class BareServer {
 public:
  explicit BareServer(uint64_t body_bytes) : body_(body_bytes, 'b') {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(listener_, 64) != 0) std::abort();
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
    std::thread([this] { accept_all(); }).detach();
  }
  int port() const { return port_; }

 private:
  void accept_all() const {
    while (true) {
      const int fd = ::accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      std::thread([this, fd] { serve(fd); }).detach();
    }
  }
  // Questions come one by one and fit a segment.
  void serve(int fd) const {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::string answer =
        "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body_.size()) + "\r\n\r\n" + body_;
    char question[1 << 16];
    while (::recv(fd, question, sizeof question, 0) > 0) {
      for (size_t sent = 0; sent < answer.size();) {
        const ssize_t now = ::send(fd, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
        if (now <= 0) return;
        sent += static_cast<size_t>(now);
      }
    }
  }

  const std::string body_;
  int listener_ = -1, port_ = 0;
};

/// A server in a process of its own; ends with this.
class ServerProcess {
 public:
  template <typename Serve>  // gives the port
  ServerProcess(int core, Serve serve) {
    int pipe[2];
    if (::pipe(pipe) != 0) std::abort();
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      pin_to(core);
      const auto server = serve();
      const int port = server.second;
      if (::write(pipe[1], &port, sizeof port) != sizeof port) std::abort();
      while (true) ::pause();
    }
    if (::read(pipe[0], &port_, sizeof port_) != sizeof port_) std::abort();
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
  ~ServerProcess() { (void)end(); }
  int port() const { return port_; }
  /// The CPU time that it took.
  double end() {
    if (child_ <= 0) return 0;
    const double before = cpu_s(RUSAGE_CHILDREN);
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
    return cpu_s(RUSAGE_CHILDREN) - before;
  }

 private:
  pid_t child_ = 0;
  int port_ = 0;
};

/// What is under way, and who waits for it to be less.
struct Flying {
  std::mutex mutex;
  std::condition_variable landed;
  size_t count = 0;
  bool waits = false;
  std::atomic<uint64_t> objects{0};

  void wait_below(size_t most, size_t more) {
    std::unique_lock lock(mutex);
    landed.wait(lock, [&] { return !(waits = count >= most); });
    count += more;
  }
  // Wakes nobody who is awake, and nobody who would wait for this lock then: that would be a switch of threads for each object.
  void land() {
    bool waited = false;
    {
      const std::lock_guard lock(mutex);
      --count;
      waited = std::exchange(waits, false);
    }
    if (waited) landed.notify_one();
  }
};

/// Keeps so many asked for until the time is over; `ask` calls back with how many objects came.
template <typename Ask>
Measured run(const Settings& settings, size_t in_flight, ServerProcess& server, Ask ask) {
  const auto flying = std::make_shared<Flying>();
  const auto begun = std::chrono::steady_clock::now();
  const double cpu = cpu_s(RUSAGE_SELF);
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(); };
  const auto done = [flying](uint64_t came) {
    const auto kept = flying;  // the last one to land ends the run, and this function with it
    kept->objects += came;
    kept->land();
  };
  for (uint64_t n = 0; elapsed() < settings.seconds; ++n) {
    flying->wait_below(in_flight, 1);
    ask(n, done);
  }
  flying->wait_below(1, 0);
  const double took = elapsed(), client = cpu_s(RUSAGE_SELF) - cpu;
  const auto objects = static_cast<double>(flying->objects.load());
  const double gb = objects * static_cast<double>(settings.bytes) * 1e-9;
  return {objects / took, client / gb, server.end() / gb};
}

/// Over TLS where the environment names certificates.
std::shared_ptr<Transport> transport_of_peers() {
  auto tls = job_tls_from_environment();
  if (tls.ok()) return http_peer_transport({.tls = std::move(*tls)});
  std::fprintf(stderr, "%s\n", tls.status().to_string().c_str());
  std::exit(2);
}

Measured peers(const Settings& settings) {
  ServerProcess server(settings.server_core, [&] {
    const auto transport = new std::shared_ptr<Transport>(transport_of_peers());
    auto listening = (*transport)
                         ->listen("127.0.0.1:0", kPass,
                                  {{std::string(kEntryServiceName),
                                    std::make_shared<EntryService>(std::make_shared<Objects>(settings.bytes))}});
    if (!listening.ok()) std::abort();
    const std::string address = (*listening)->address();
    return std::pair(listening->release(), std::atoi(address.substr(address.rfind(':') + 1).c_str()));
  });
  PeerStoreOptions options;
  options.bytes = 1 << 20;
  const auto transport = transport_of_peers();
  const auto store = peer_store(transport, {"127.0.0.1:" + std::to_string(server.port()), kPass}, options);
  return run(settings, kInFlight, server, [&](uint64_t n, const auto& done) {
    ReadRequest request;
    request.key = entry_key({n, n * 7919});
    request.set_aside_bytes = settings.bytes + settings.bytes / 8;
    store->read(request, {}, [&settings, &done](Result<Buffer> bytes) {
      if (!bytes.ok() || bytes->size() != settings.bytes) {
        std::fprintf(stderr, "an object did not come: %s\n", bytes.status().to_string().c_str());
        std::abort();
      }
      done(1);
    });
  });
}

Measured bare(const Settings& settings, uint64_t objects_an_answer) {
  ServerProcess server(settings.server_core, [&] {
    auto* bare_server = new BareServer(settings.bytes * objects_an_answer);
    return std::pair(bare_server, bare_server->port());
  });
  const auto transport = curl_transport();
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port()) + "/";
  const auto connection = std::make_shared<HttpConnectionOptions>();
  connection->direct = true;
  return run(settings, 8, server, [&](uint64_t, const auto& done) {
    HttpRequest request;
    request.method = "POST";
    request.url = url;
    request.connection = connection;
    request.body = Buffer::allocate(16);
    std::memset(request.body.data(), 0, 16);
    transport->send(std::move(request), {}, [&done, objects_an_answer](Result<HttpResponse> response) {
      if (!response.ok()) std::abort();
      done(objects_an_answer);
    });
  });
}

void print(const char* name, const Settings& settings, const Measured& m) {
  std::printf("%-28s %9.0f objects/s %8.1f MB/s   CPU s a GB: %.3f client + %.3f server = %.3f\n", name, m.objects_s,
              m.objects_s * static_cast<double>(settings.bytes) * 1e-6, m.client_cpu_s_gb, m.server_cpu_s_gb,
              m.client_cpu_s_gb + m.server_cpu_s_gb);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--same-core") settings.server_core = settings.client_core;
    if (flag == "--only") settings.only_peers = true;
    if (flag == "--seconds" && i + 1 < argc) settings.seconds = std::atof(argv[++i]);
    if (flag == "--bytes" && i + 1 < argc) settings.bytes = std::strtoull(argv[++i], nullptr, 10);
  }
  pin_to(settings.client_core);
  const uint64_t together =
      std::max<uint64_t>(1, std::min<uint64_t>(32, (1 << 20) / (settings.bytes + settings.bytes / 8)));
  const Measured of_peers = peers(settings);
  print("peers", settings, of_peers);
  if (settings.only_peers) return 0;
  const Measured alone = bare(settings, together), single = bare(settings, 1);
  print("bare, as many an answer", settings, alone);
  print("bare, one an answer", settings, single);
  std::printf("peers / bare: %.2f (as many an answer), %.2f (one an answer)\n", of_peers.objects_s / alone.objects_s,
              of_peers.objects_s / single.objects_s);
  return 0;
}
