#include "serve/server/server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <latch>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "serve/client/connection.h"
#include "serve/client/server_calls.h"
#include "serve/server/serve_test_support.h"
#include "serve/socket_path.h"
#include "serve/wait_clock_test_support.h"

namespace forebay {
namespace {

using serve_test::Data;
using serve_test::digest_of;
using serve_test::epoch_of;
using serve_test::Running;
using serve_test::RuntimeFolder;
using serve_test::shared;

std::unique_ptr<Loader> own(const Pipeline& pipeline, LoaderOptions options = {}) {
  return std::move(*Loader::open(pipeline, std::move(options)));
}

nlohmann::json status_of(Running& server) { return nlohmann::json::parse((*server).status()); }

TEST(Server, gives_the_batches_that_a_loader_gives) {
  const Data data;
  const auto here = own(data.pipeline(), {.seed = 7});
  Running server(data.socket());
  const auto there = shared(data, data.pipeline(), {.seed = 7});
  EXPECT_EQ(there->fingerprint(), here->fingerprint());
  EXPECT_EQ(there->size(), 100);
  for (int epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(there->epoch(), epoch);
    EXPECT_EQ(there->batches_per_epoch(), here->batches_per_epoch());
    EXPECT_EQ(digest_of(epoch_of(*there)), digest_of(epoch_of(*here)));
    EXPECT_EQ(there->state(), here->state());
  }
}

TEST(Server, a_state_goes_both_ways_in_the_middle_of_an_epoch) {
  const Data data;
  Running server(data.socket());
  const auto here = own(data.pipeline()), whole = own(data.pipeline());
  const auto there = shared(data, data.pipeline());
  std::vector<Batch> first;
  for (int i = 0; i < 4; ++i) first.push_back(std::move(**there->next()));
  ASSERT_TRUE(here->load_state(there->state()).ok());
  std::vector<Batch> rest = epoch_of(*here);
  EXPECT_EQ(digest_of(rest), digest_of(epoch_of(*there)));
  ASSERT_TRUE(there->set_epoch(0).ok());
  EXPECT_EQ(digest_of(epoch_of(*there)), digest_of(epoch_of(*whole)));
}

// The server is a batch ahead of its client.
TEST(Server, positions_are_those_of_the_client) {
  const Data data;
  Running server(data.socket());
  const auto here = own(data.pipeline(), {.epochs = 2}), there = own(data.pipeline(), {.epochs = 2});
  const auto client = shared(data, data.pipeline(), {.epochs = 2});
  const auto step = [&] {
    const auto a = here->next(), b = client->next();
    ASSERT_TRUE(a.ok() && b.ok());
    ASSERT_EQ(a->has_value(), b->has_value());
    EXPECT_TRUE(!a->has_value() || (*a)->ids == (*b)->ids);
    EXPECT_EQ(here->state(), client->state());
    EXPECT_EQ(here->epoch(), client->epoch());
    EXPECT_EQ(here->finished(), client->finished());
  };
  for (int i = 0; i < 15; ++i) step();
  EXPECT_EQ(client->epoch(), 1);
  // The loop was left at its last batch, so the epoch's end is not reported.
  here->begin_iteration();
  client->begin_iteration();
  for (int i = 0; i < 3; ++i) step();
  ASSERT_TRUE(here->set_epoch(1).ok() && client->set_epoch(1).ok());
  for (int i = 0; i < 20; ++i) step();
  EXPECT_TRUE(client->finished());
}

TEST(Server, ranks_divide_an_epoch) {
  const Data data;
  const auto whole = own(data.pipeline(3));
  Running server(data.socket());
  const auto a = shared(data, data.pipeline(3), {.job = {.rank = 0, .world_size = 2}});
  const auto b = shared(data, data.pipeline(3), {.job = {.rank = 1, .world_size = 2}});
  const std::vector<Batch> of_a = epoch_of(*a), of_b = epoch_of(*b);
  ASSERT_EQ(of_a.size(), of_b.size());
  EpochDigest digest;
  for (size_t i = 0; i < of_a.size(); ++i) {
    const Batch* step[] = {&of_a[i], &of_b[i]};
    digest.add(step);
  }
  EXPECT_EQ(digest.to_string(), digest_of(epoch_of(*whole)));
}

TEST(Server, batches_outlive_their_loader_and_nothing_else_comes_in_their_place) {
  const Data data(2000, 50);
  Running server(data.socket());
  std::vector<Batch> kept;
  std::string digest;
  {
    const auto client = shared(data, data.pipeline(50));
    kept = epoch_of(*client);
    digest = digest_of(kept);
  }
  for (uint64_t seed = 1; seed < 4; ++seed) (void)epoch_of(*shared(data, data.pipeline(50), {.seed = seed}));
  EXPECT_EQ(digest_of(kept), digest);
}

TEST(Server, what_a_client_let_go_of_is_free) {
  const Data data;
  Running server(data.socket());
  const auto client = shared(data, data.pipeline());
  {
    const std::vector<Batch> held = epoch_of(*client);
    EXPECT_GE(status_of(server)["clients"][0]["held_batches"], 15);
  }
  EXPECT_TRUE(eventually([&] { return status_of(server)["clients"][0]["held_batches"] <= 1; }));
}

TEST(Server, a_client_that_is_gone_leaves_nothing) {
  const Data data;
  Running server(data.socket());
  for (int i = 0; i < 20; ++i) {
    const auto client = shared(data, data.pipeline());
    for (int k = 0; k < i % 4; ++k) ASSERT_TRUE(client->next().ok());
  }
  EXPECT_TRUE(eventually([&] {
    const nlohmann::json now = status_of(server);
    return now["clients"].empty() && now["batch_memory_bytes"] == 0;
  }));
}

TEST(Server, a_client_is_told_that_its_server_has_gone) {
  const Data data;
  auto server = std::make_unique<Running>(data.socket());
  const auto client = shared(data, data.pipeline());
  ASSERT_TRUE(client->next().ok());
  server.reset();
  Status status;
  for (int i = 0; i < 3 && status.ok(); ++i) status = client->next().status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.key(), data.socket());
  client->close();
  EXPECT_EQ(client->next().status().code(), Code::kInvalidArgument);
}

TEST(Server, errors_reach_the_client_as_they_are) {
  const Data data;
  Running server(data.socket());
  const auto missing =
      SharedLoader::open(arrays({{"x", Array{{}, "/nowhere/x.npy"}}}).batch(2), {}, {data.socket(), 0, {}});
  EXPECT_EQ(missing.status().to_string(),
            Loader::open(arrays({{"x", Array{{}, "/nowhere/x.npy"}}}).batch(2)).status().to_string());
  const auto client = shared(data, data.pipeline());
  EXPECT_EQ(client->load_state("{}").code(), own(data.pipeline())->load_state("{}").code());
  EXPECT_TRUE(client->next().ok());
}

TEST(Server, what_a_server_cannot_have_is_refused) {
  const Data data;
  Running server(data.socket());
  const Pipeline with_function = arrays({{"x", Array{{}, data.npy()}}}).map([](Sample&) { return Status(); }).batch(2);
  EXPECT_EQ(SharedLoader::open(with_function, {}, {data.socket(), 0, {}}).status().code(), Code::kInvalidArgument);
  const Pipeline in_memory = arrays({{"x", Array{Tensor::allocate(DType::kUint8, {4}), ""}}}).batch(2);
  EXPECT_EQ(SharedLoader::open(in_memory, {}, {data.socket(), 0, {}}).status().code(), Code::kInvalidArgument);
}

TEST(Server, a_second_one_at_the_same_place_is_refused) {
  const Data data;
  Running server(data.socket());
  ServerOptions options;
  options.path = data.socket();
  const Status status = Server::open(std::move(options)).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("forebay serve stop --socket " + data.socket()), std::string::npos)
      << status.message();
}

TEST(Server, closing_ends_a_wait_on_another_thread) {
  const Data data;
  Running server(data.socket());
  const auto first = shared(data, data.pipeline(), {.seed = 1}, 2);  // waits for a second one
  std::atomic<bool> asked = false;
  std::thread closer([&] {
    while (!asked) std::this_thread::yield();
    first->close();
  });
  bool timed_out = false;
  asked = true;
  Status status;
  while (status.ok()) status = first->next_for(std::chrono::milliseconds(50), &timed_out).status();
  closer.join();
  EXPECT_TRUE(status.code() == Code::kCancelled || status.code() == Code::kInvalidArgument) << status.to_string();
}

// ---- clients that violate the protocol

struct Raw {
  explicit Raw(const std::string& path) : socket(std::move(*connect_to(path))) {}
  void say(MessageType type, const std::string& body) {
    const uint32_t size = static_cast<uint32_t>(body.size());
    const auto number = static_cast<uint16_t>(type);
    std::string bytes(reinterpret_cast<const char*>(&size), 4);
    bytes.append(reinterpret_cast<const char*>(&number), 2);
    bytes.append(2, '\0');
    bytes += body;
    (void)!send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  /// Reads until the server hangs up.
  std::string rest() {
    std::string all;
    char part[4096];
    ssize_t got;
    while ((got = recv(socket.get(), part, sizeof part, 0)) > 0) all.append(part, static_cast<size_t>(got));
    return all;
  }
  bool hears(const std::string& text) {
    const timeval patience{30, 0};
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string all;
    char part[4096];
    ssize_t got;
    while (all.find(text) == std::string::npos && (got = recv(socket.get(), part, sizeof part, 0)) > 0)
      all.append(part, static_cast<size_t>(got));
    return all.find(text) != std::string::npos;
  }
  FileDescriptor socket;
};

TEST(Server, what_is_no_message_is_refused_and_others_go_on) {
  const Data data;
  Running server(data.socket());
  const auto client = shared(data, data.pipeline());
  Hello strange;
  strange.magic = 1;
  Hello future;
  future.version = kServeVersion + 1;
  const std::string hello = to_message(Hello());
  for (const std::string& first :
       {to_message(strange), to_message(future), std::string("nonsense"), std::string(4000, 'x')}) {
    Raw raw(data.socket());
    raw.say(MessageType::kHello, first);
    EXPECT_FALSE(raw.rest().empty());
  }
  Raw early(data.socket());
  early.say(MessageType::kInfo, "");
  EXPECT_FALSE(early.rest().empty());
  Raw large(data.socket());
  large.say(MessageType::kHello, hello);
  const unsigned char head[8] = {0xff, 0xff, 0xff, 0x7f, 2, 0, 0, 0};
  (void)!send(large.socket.get(), head, sizeof head, MSG_NOSIGNAL);
  EXPECT_NE(large.rest().find("are the most"), std::string::npos);
  EXPECT_EQ(digest_of(epoch_of(*client)), digest_of(epoch_of(*own(data.pipeline()))));
}

TEST(Server, who_comes_when_it_is_full_is_told) {
  const Data data;
  Running server(data.socket());
  std::vector<FileDescriptor> others;
  for (int i = 0; i < 256; ++i) {
    Result<FileDescriptor> other = connect_to(data.socket());
    ASSERT_TRUE(other.ok()) << other.status().to_string();
    others.push_back(std::move(*other));
  }
  const auto late = SharedLoader::open(data.pipeline(), {}, {data.socket(), 0, {}});
  EXPECT_NE(late.status().message().find("as many clients as it takes (256)"), std::string::npos)
      << late.status().to_string();
  others.clear();
  EXPECT_TRUE(eventually([&] { return SharedLoader::open(data.pipeline(), {}, {data.socket(), 0, {}}).ok(); }));
}

// Behaves like a server that is full.
TEST(Server, a_refused_client_does_not_retry) {
  const Data data;
  const Result<FileDescriptor> listening = listen_at(data.socket());
  ASSERT_TRUE(listening.ok()) << listening.status().to_string();
  // Blocks in accept4(), so that the test need not poll. shutdown() ends that.
  fcntl(listening->get(), F_SETFL, fcntl(listening->get(), F_GETFL) & ~O_NONBLOCK);
  std::atomic<int> clients = 0;
  std::jthread server([&] {
    while (true) {
      FileDescriptor socket(accept4(listening->get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket.valid()) return;
      ++clients;
      (void)Channel(std::move(socket), 0, Channel::Descriptors::kRefuse)
          .try_send(MessageType::kFailed, to_message(unavailable("no room here")));
    }
  });
  const auto late = SharedLoader::open(data.pipeline(), {}, {data.socket(), 0, {}});
  EXPECT_NE(late.status().message().find("no room here"), std::string::npos) << late.status().to_string();
  EXPECT_EQ(clients, 1);
  shutdown(listening->get(), SHUT_RDWR);
}

TEST(Server, a_bad_request_is_answered_and_the_next_one_too) {
  const Data data;
  Running server(data.socket());
  Raw raw(data.socket());
  raw.say(MessageType::kHello, to_message(Hello()));
  raw.say(MessageType::kOpen, "no request");
  raw.say(MessageType::kNext, to_message(uint32_t{0}));
  raw.say(static_cast<MessageType>(77), "");
  raw.say(MessageType::kStatus, "");
  EXPECT_TRUE(raw.hears("clients_served"));
}

TEST(Server, tells_who_is_served_and_ends_when_it_is_told_to) {
  const Data data;
  Running server(data.socket());
  const auto client = shared(data, data.pipeline());
  ASSERT_EQ(epoch_of(*client).size(), 15U);
  const auto status = nlohmann::json::parse(*server_status(data.socket()));
  EXPECT_EQ(status["process"], getpid());
  ASSERT_EQ(status["clients"].size(), 1U);
  EXPECT_GE(status["clients"][0]["samples"], 100);
  EXPECT_EQ(status["clients"][0]["process"], getpid());
  ASSERT_TRUE(stop_server(data.socket()).ok());
  EXPECT_EQ(server_status(data.socket()).status().code(), Code::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(data.socket()));
}

// Behaves like a server that was suspended with Ctrl-Z.
TEST(Server, who_lets_nobody_in_is_not_waited_for_long) {
  const std::string path = testing::TempDir() + "/lets_nobody_in.sock";
  const Result<FileDescriptor> listening = listen_at(path);
  ASSERT_TRUE(listening.ok()) << listening.status().to_string();
  std::vector<FileDescriptor> waiting;
  Result<FileDescriptor> one = connect_to(path);
  for (int i = 0; i < 1000 && one.ok(); ++i) {
    waiting.push_back(std::move(*one));
    one = connect_to(path);
  }
  EXPECT_EQ(one.status().code(), Code::kUnavailable) << one.status().to_string();
  EXPECT_NE(one.status().message().find("stopped"), std::string::npos) << one.status().to_string();
  unlink(path.c_str());
}

// ---- when a server begins and ends

ServerOptions lingering(const Data& data, WaitClock& clock) {
  ServerOptions options;
  options.path = data.socket();
  options.linger = std::chrono::seconds(10);
  options.clock = &clock;
  return options;
}

TEST(Server, that_lingers_ends_when_nobody_has_come_for_that_long) {
  const Data data;
  serve_test::ManualClock clock;
  Running server(lingering(data, clock));
  clock.advance(std::chrono::seconds(10));
  server.join();
  EXPECT_FALSE(std::filesystem::exists(data.socket()));
  EXPECT_EQ(server_status(data.socket()).status().code(), Code::kNotFound);
}

TEST(Server, that_lingers_stays_as_long_as_it_has_a_client) {
  const Data data;
  serve_test::ManualClock clock;
  Running server(lingering(data, clock));
  auto client = shared(data, data.pipeline());
  clock.advance(std::chrono::hours(1));
  EXPECT_TRUE(server_status(data.socket()).ok());
  client.reset();
  // The time begins anew when the client has gone, and does not pass by itself.
  EXPECT_TRUE(eventually([&] { return status_of(server)["clients"].empty(); }));
  EXPECT_TRUE(shared(data, data.pipeline())->next().ok());
  EXPECT_TRUE(eventually([&] {
    clock.advance(std::chrono::seconds(11));
    return !std::filesystem::exists(data.socket());
  }));
  server.join();
}

TEST(Server, that_lingers_stays_while_another_process_is_starting_one) {
  const Data data;
  serve_test::ManualClock clock;
  Running server(lingering(data, clock));
  std::optional<FileDescriptor> lock = *lock_socket(data.socket(), LockMode::kWait);
  clock.advance(std::chrono::hours(1));
  EXPECT_TRUE(server_status(data.socket()).ok());
  EXPECT_TRUE(shared(data, data.pipeline())->next().ok());
  lock.reset();
  EXPECT_TRUE(eventually([&] {
    clock.advance(std::chrono::hours(1));
    return !std::filesystem::exists(data.socket());
  }));
  server.join();
}

TEST(Server, takes_the_place_of_one_that_was_killed_and_of_no_other_file) {
  const Data data;
  {
    ASSERT_TRUE(listen_at(data.socket()).ok());
  }
  {
    const Running server(data.socket());
  }
  std::ofstream(data.socket()) << "precious";
  ServerOptions options;
  options.path = data.socket();
  EXPECT_EQ(Server::open(std::move(options)).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(std::filesystem::file_size(data.socket()), 8U);
}

TEST(Server, says_that_it_cannot_listen_where_there_is_no_folder) {
  ServerOptions options;
  options.path = "/nowhere/s.sock";
  const Status status = Server::open(std::move(options)).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.key(), "/nowhere/s.sock.lock");
}

TEST(Server, serves_at_the_socket_that_its_parent_has_opened) {
  const Data data;
  ServerOptions options;
  options.path = data.socket();
  options.listening = std::move(*listen_at(data.socket()));
  const int listening = options.listening.get();
  ASSERT_EQ(fcntl(listening, F_SETFD, 0), 0);
  Running server(std::move(options));
  EXPECT_EQ(epoch_of(*shared(data, data.pipeline())).size(), 15U);
  EXPECT_EQ(fcntl(listening, F_GETFD), FD_CLOEXEC) << "processes that it starts do not get the socket";
}

TEST(Server, that_stops_leaves_the_socket_to_the_process_that_holds_the_lock) {
  const Data data;
  std::optional<FileDescriptor> lock;
  {
    Running server(data.socket());
    lock = std::move(*lock_socket(data.socket(), LockMode::kWait));
  }
  EXPECT_TRUE(std::filesystem::exists(data.socket()));
}

TEST(Server, drops_a_client_whose_process_has_died_even_if_its_child_has_the_socket) {
  const Data data;
  Running server(data.socket());
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  FileDescriptor read_end(ends[0]), write_end(ends[1]);
  const pid_t client = fork();
  if (client == 0) {  // connects and dies; its child holds the socket until the test ends
    Raw raw(data.socket());
    raw.say(MessageType::kHello, to_message(Hello()));
    char answer[8];
    if (recv(raw.socket.get(), answer, sizeof answer, MSG_WAITALL) != sizeof answer) _exit(1);
    if (fork() == 0) {
      char byte;
      close(write_end.get());
      while (read(read_end.get(), &byte, 1) > 0) {
      }
    }
    _exit(0);
  }
  int status = 1;
  ASSERT_EQ(waitpid(client, &status, 0), client);
  EXPECT_TRUE(eventually([&] {
    // The status of a server with a client that has not introduced itself has no entry for it.
    const nlohmann::json now = status_of(server);
    return now["clients_served"] == 1 && (*server).connections() == 0;
  }));
}

TEST(Server, divides_nothing_between_two_pipelines_that_differ_and_counts_both) {
  const Data data;
  Running server(data.socket());
  const auto a = shared(data, data.pipeline(7)), b = shared(data, data.pipeline(10));
  EXPECT_EQ(epoch_of(*a).size(), 15U);
  EXPECT_EQ(epoch_of(*b).size(), 10U);
  const nlohmann::json status = status_of(server);
  ASSERT_EQ(status["clients"].size(), 2U);
  EXPECT_EQ(status["clients_served"], 2);
  EXPECT_EQ(status["cache_hits"], 0);
  EXPECT_EQ(status["socket"], data.socket());
  for (const char* name :
       {"process", "program", "pipeline", "rank", "world_size", "together", "shares", "epoch", "batches", "samples",
        "bytes", "samples_per_second", "seconds", "wait_seconds", "held_batches", "held_bytes"})
    EXPECT_TRUE(status["clients"][0].contains(name)) << name;
}

TEST(Server, stops_while_its_clients_wait_and_compute) {
  const Data data(2000, 50);
  auto server = std::make_unique<Running>(data.socket());
  std::vector<std::jthread> clients;
  std::latch begun(4);
  for (uint64_t i = 0; i < 4; ++i) {
    clients.emplace_back([&, i] {
      // The last one waits for a group that never comes.
      const auto loader = shared(data, data.pipeline(5), {.seed = i}, i == 3 ? 2 : 0);
      begun.count_down();
      Status status;
      while (status.ok()) status = loader->next().status();
      EXPECT_EQ(status.code(), Code::kUnavailable) << status.to_string();
    });
  }
  begun.wait();
  server.reset();
}

// ---- calls of the command line

TEST(ServerCalls, say_that_no_server_is_there) {
  const Data data;
  EXPECT_EQ(server_status(data.socket()).status().code(), Code::kNotFound);
  EXPECT_EQ(stop_server(data.socket()).code(), Code::kNotFound);
}

TEST(ServerCalls, name_the_server_that_does_not_answer) {
  const RuntimeFolder runtime;
  const std::string path = *socket_path("python-1");
  const Result<FileDescriptor> listening = listen_at(path);  // nobody accepts
  ASSERT_TRUE(listening.ok());
  serve_test::ManualClock clock;
  const Status status = Connection::open(std::move(*connect_to(path)), clock).connection.status();
  EXPECT_NE(status.message().find("forebay serve status --socket python-1"), std::string::npos) << status.to_string();
}

// Behaves like a server that is told to stop and hangs.
TEST(ServerCalls, give_up_on_a_server_that_does_not_stop_within_half_a_minute) {
  const Data data;
  const Result<FileDescriptor> listening = listen_at(data.socket());
  ASSERT_TRUE(listening.ok());
  fcntl(listening->get(), F_SETFL, fcntl(listening->get(), F_GETFL) & ~O_NONBLOCK);
  std::jthread server([&] {
    std::vector<std::unique_ptr<Channel>> clients;
    while (true) {
      FileDescriptor socket(accept4(listening->get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket.valid()) return;
      if (!clients.empty()) continue;  // hangs up on those who only look whether it has gone
      clients.push_back(std::make_unique<Channel>(std::move(socket), 1 << 20, Channel::Descriptors::kRefuse));
      for (int i = 0; i < 2; ++i) (void)clients.front()->send(MessageType::kDone, "");
    }
  });
  serve_test::ManualClock clock;
  const Status status = stop_server(data.socket(), clock);
  EXPECT_EQ(status.code(), Code::kUnavailable) << status.to_string();
  EXPECT_EQ(status.key(), data.socket());
  EXPECT_EQ(clock.passed(), std::chrono::seconds(30));
  shutdown(listening->get(), SHUT_RDWR);
}

}  // namespace
}  // namespace forebay
