// Tests the client's end of a connection with a server that answers exactly what a test says, at
// the time that a manual clock shows. The answers wait in the socket, so most tests have one
// thread.
#include "serve/client/connection.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include <gtest/gtest.h>

#include "serve/memory/shared_blocks.h"
#include "serve/wait_clock_test_support.h"

namespace forebay {
namespace {

using serve_test::ManualClock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kTimeout{500};

/// The server's end of the connection.
class ScriptedServer {
 public:
  explicit ScriptedServer(FileDescriptor socket)
      : channel_(std::move(socket), 1 << 20, Channel::Descriptors::kRefuse) {}

  void answer(MessageType type, const std::string& body = "", std::span<const int> descriptors = {}) {
    EXPECT_TRUE(channel_.send(type, body, descriptors).ok());
  }
  void fail(const Status& status) { answer(MessageType::kFailed, to_message(status)); }
  /// Returns the next message of the client; kNotYet if there is none.
  Frame heard() {
    Result<std::optional<Frame>> frame = channel_.receive(milliseconds(0));
    return frame.ok() && frame->has_value() ? std::move(**frame) : Frame{MessageType::kNotYet, "", {}};
  }
  /// Announces a slab and returns its first byte.
  uint8_t* announce(uint64_t number, size_t bytes = 4096) {
    slabs_.push_back(*Slab::make(number, bytes));
    const int descriptor = slabs_.back()->descriptor();
    answer(MessageType::kSlabs, to_message(std::vector<SlabMessage>{{number, bytes}}), std::span(&descriptor, 1));
    return slabs_.back()->data();
  }
  /// Answers with a batch of four bytes in slab 1.
  void batch(uint64_t number, Position after = {}, std::vector<uint64_t> dropped = {}) {
    BatchMessage message;
    message.number = number;
    message.fields.push_back({"x", BatchField::Kind::kDense, {1, 64, DType::kUint8, {4}}, {}, {}, {}});
    message.ids = {1, 2, 3, 4};
    message.step = static_cast<int64_t>(number);
    message.after = std::move(after);
    message.dropped_slabs = std::move(dropped);
    answer(MessageType::kBatch, to_message(message));
  }
  Channel& channel() { return channel_; }

 private:
  Channel channel_;
  std::vector<std::shared_ptr<Slab>> slabs_;
};

struct Link {
  explicit Link(std::function<void(milliseconds)> on_wait = {}) : clock(std::move(on_wait)) {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    server = std::make_unique<ScriptedServer>(FileDescriptor(fds[1]));
    connection = std::make_shared<Connection>(FileDescriptor(fds[0]), clock);
  }
  /// Returns the numbers of the batches that the client has freed since the last call.
  std::vector<uint64_t> freed() {
    std::vector<uint64_t> numbers;
    for (Frame frame = server->heard(); frame.type != MessageType::kNotYet; frame = server->heard()) {
      if (frame.type != MessageType::kFreed) continue;
      const auto more = *from_message<std::vector<uint64_t>>(frame.body);
      numbers.insert(numbers.end(), more.begin(), more.end());
    }
    return numbers;
  }

  ManualClock clock;
  std::unique_ptr<ScriptedServer> server;
  std::shared_ptr<Connection> connection;
};

TEST(Connection, introduces_itself_with_version_and_program) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  ScriptedServer server{FileDescriptor(fds[1])};
  server.answer(MessageType::kDone);
  const Connection::Opening opening = Connection::open(FileDescriptor(fds[0]));
  ASSERT_TRUE(opening.connection.ok());
  EXPECT_FALSE(opening.refused);
  const Frame frame = server.heard();
  ASSERT_EQ(frame.type, MessageType::kHello);
  const Hello hello = *from_message<Hello>(frame.body);
  EXPECT_EQ(hello.magic, kServeMagic);
  EXPECT_EQ(hello.version, kServeVersion);
  EXPECT_FALSE(hello.program.empty());
}

TEST(Connection, a_refusal_has_the_reason_of_the_server) {
  for (const bool hangs_up : {false, true}) {
    int fds[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    auto server = std::make_unique<ScriptedServer>(FileDescriptor(fds[1]));
    server->fail(unavailable("no room here"));
    if (hangs_up) server.reset();  // before it has read anything
    const Connection::Opening opening = Connection::open(FileDescriptor(fds[0]));
    EXPECT_EQ(opening.connection.status().message(), "no room here");
    EXPECT_TRUE(opening.refused) << hangs_up;
  }
}

TEST(Connection, a_server_that_has_exited_is_unavailable_and_no_refusal) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  close(fds[1]);
  const Connection::Opening opening = Connection::open(FileDescriptor(fds[0]));
  EXPECT_EQ(opening.connection.status().code(), Code::kUnavailable);
  EXPECT_FALSE(opening.refused);
}

TEST(Connection, an_answer_is_its_body_or_its_error) {
  Link link;
  link.server->answer(MessageType::kDone, "body");
  EXPECT_EQ(*link.connection->ask(MessageType::kStats, "request"), "body");
  const Frame heard = link.server->heard();
  EXPECT_EQ(heard.type, MessageType::kStats);
  EXPECT_EQ(heard.body, "request");
  const Status error = corrupt("bad bytes").with_key("a.jpg").with_sample(7);
  link.server->fail(error);
  EXPECT_EQ(link.connection->ask(MessageType::kStats, "").status().to_string(), error.to_string());
  EXPECT_FALSE(link.connection->lost()) << "an error is an answer";
}

TEST(Connection, an_answer_of_another_kind_loses_the_connection) {
  for (const MessageType type : {MessageType::kEnd, MessageType::kHello, static_cast<MessageType>(999)}) {
    Link link;
    link.server->answer(type);
    EXPECT_EQ(link.connection->ask(MessageType::kStats, "").status().code(), Code::kCorrupt);
    EXPECT_TRUE(link.connection->lost());
    EXPECT_EQ(link.connection->ask(MessageType::kStats, "").status().code(), Code::kUnavailable);
    EXPECT_EQ(link.connection->next(kTimeout).status().code(), Code::kUnavailable);
  }
}

TEST(Connection, a_server_that_does_not_answer_within_half_a_minute_is_lost) {
  Link link;
  EXPECT_EQ(link.connection->ask(MessageType::kStats, "").status().code(), Code::kUnavailable);
  EXPECT_EQ(link.clock.passed(), seconds(30));
  EXPECT_TRUE(link.connection->lost());
  EXPECT_EQ(link.server->heard().type, MessageType::kStats);
  EXPECT_EQ(link.server->heard().type, MessageType::kClose) << "if it is only slow, it closes the loader";
}

TEST(Connection, an_answer_just_within_half_a_minute_is_one) {
  Link* raw = nullptr;
  Link link([&](milliseconds passed) {
    if (passed == milliseconds(29'900)) raw->server->answer(MessageType::kDone, "late");
  });
  raw = &link;
  EXPECT_EQ(*link.connection->ask(MessageType::kStats, ""), "late");
}

TEST(Connection, opening_may_take_as_long_as_it_takes) {
  for (const MessageType type : {MessageType::kOpen, MessageType::kPrepare}) {
    Link* raw = nullptr;
    Link link([&](milliseconds passed) {
      if (passed == std::chrono::hours(1)) raw->server->answer(MessageType::kDone, "listed");
    });
    raw = &link;
    EXPECT_EQ(*link.connection->ask(type, ""), "listed");
  }
}

TEST(Connection, a_batch_lies_in_the_memory_of_the_server) {
  Link link;
  uint8_t* const memory = link.server->announce(1);
  memory[64] = 42;
  link.server->batch(1, {2, 15, false, "state"});
  const auto next = link.connection->next(kTimeout);
  ASSERT_TRUE(next.ok() && next->batch) << next.status().to_string();
  const Tensor& x = next->batch->fields[0].values;
  EXPECT_EQ(x.data<uint8_t>()[0], 42);
  EXPECT_EQ(next->batch->ids.size(), 4U);
  EXPECT_EQ(next->after.state, "state");
  EXPECT_EQ(next->after.epoch, 2);
  memory[65] = 43;
  EXPECT_EQ(x.data<uint8_t>()[1], 43) << "it is the same memory";
}

TEST(Connection, a_batch_in_memory_that_was_not_announced_loses_the_connection) {
  Link link;
  link.server->batch(1);
  EXPECT_EQ(link.connection->next(kTimeout).status().code(), Code::kCorrupt);
  EXPECT_TRUE(link.connection->lost());
}

TEST(Connection, a_batch_beyond_its_slab_loses_the_connection) {
  Link link;
  link.server->announce(1);
  BatchMessage message;
  message.fields.push_back({"x", BatchField::Kind::kDense, {1, 4000, DType::kUint8, {97}}, {}, {}, {}});
  link.server->answer(MessageType::kBatch, to_message(message));
  EXPECT_EQ(link.connection->next(kTimeout).status().code(), Code::kCorrupt);
  EXPECT_TRUE(link.connection->lost());
}

TEST(Connection, slabs_without_their_descriptors_lose_the_connection) {
  Link link;
  link.server->answer(MessageType::kSlabs, to_message(std::vector<SlabMessage>{{1, 4096}}));
  EXPECT_EQ(link.connection->next(kTimeout).status().code(), Code::kCorrupt);
  EXPECT_TRUE(link.connection->lost());
}

TEST(Connection, answers_that_are_no_messages_lose_the_connection) {
  for (const MessageType type : {MessageType::kSlabs, MessageType::kBatch}) {
    Link link;
    link.server->answer(type, "nonsense");
    EXPECT_EQ(link.connection->next(kTimeout).status().code(), Code::kCorrupt);
    EXPECT_TRUE(link.connection->lost());
  }
}

TEST(Connection, an_error_in_place_of_a_batch_is_that_error_and_the_next_batch_follows) {
  Link link;
  link.server->announce(1);
  link.server->fail(corrupt("bad picture").with_sample(3));
  link.server->batch(1);
  EXPECT_EQ(link.connection->next(kTimeout).status().sample(), 3);
  EXPECT_FALSE(link.connection->lost());
  EXPECT_TRUE(link.connection->next(kTimeout)->batch);
}

TEST(Connection, the_next_batch_is_requested_when_one_has_come) {
  Link link;
  link.server->announce(1);
  link.server->batch(1);
  ASSERT_TRUE(link.connection->next(kTimeout)->batch);
  Frame heard = link.server->heard();
  EXPECT_EQ(heard.type, MessageType::kNext);
  EXPECT_EQ(*from_message<uint32_t>(heard.body), 500U) << "the timeout of the caller";
  heard = link.server->heard();
  EXPECT_EQ(heard.type, MessageType::kNext) << "ahead";
  EXPECT_EQ(*from_message<uint32_t>(heard.body), 1000U);
  link.server->batch(2);
  EXPECT_EQ(link.connection->next(kTimeout)->batch->step, 2);
}

TEST(Connection, nothing_is_requested_ahead_after_the_last_epoch_or_a_wait) {
  Link link;
  link.server->answer(MessageType::kEnd, to_message(EndMessage{{2, 15, true, "end"}}));
  auto next = link.connection->next(kTimeout);
  EXPECT_FALSE(next->batch || next->timed_out);
  EXPECT_TRUE(next->after.finished);
  EXPECT_EQ(link.server->heard().type, MessageType::kNext);
  EXPECT_EQ(link.server->heard().type, MessageType::kNotYet);
  link.server->answer(MessageType::kNotYet);
  EXPECT_TRUE(link.connection->next(kTimeout)->timed_out);
  EXPECT_EQ(link.server->heard().type, MessageType::kNext);
  EXPECT_EQ(link.server->heard().type, MessageType::kNotYet);
}

TEST(Connection, an_answer_after_the_timeout_belongs_to_the_next_call) {
  Link link;
  link.server->announce(1);
  EXPECT_TRUE(link.connection->next(kTimeout)->timed_out);
  EXPECT_EQ(link.clock.passed(), kTimeout);
  link.server->batch(1);
  EXPECT_TRUE(link.connection->next(kTimeout)->batch);
  EXPECT_EQ(link.server->heard().type, MessageType::kNext);
}

TEST(Connection, an_answer_that_comes_during_another_request_is_retained) {
  Link link;
  link.server->announce(1);
  EXPECT_TRUE(link.connection->next(kTimeout)->timed_out);
  link.server->batch(1);
  link.server->answer(MessageType::kDone, "status");
  EXPECT_EQ(*link.connection->ask(MessageType::kStats, ""), "status");
  EXPECT_EQ(link.connection->next(kTimeout)->batch->step, 1);
}

TEST(Connection, a_batch_is_freed_with_its_last_tensor) {
  Link link;
  link.server->announce(1);
  link.server->batch(7);
  auto next = link.connection->next(kTimeout);
  Tensor tensor = next->batch->fields[0].values;
  next->batch.reset();
  EXPECT_TRUE(link.freed().empty());
  tensor = Tensor();
  EXPECT_EQ(link.freed(), std::vector<uint64_t>{7});
}

TEST(Connection, numbers_that_cannot_be_sent_now_are_sent_with_the_next_request) {
  Link link;
  link.server->announce(1);
  std::vector<Batch> batches;
  for (uint64_t i = 1; i <= 600; ++i) {
    link.server->batch(i);
    batches.push_back(std::move(*link.connection->next(kTimeout)->batch));
    (void)link.freed();
  }
  // Fills the socket, as a server that does not read.
  while (send(link.connection->descriptor(), "full", 4, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
  }
  batches.clear();
  char part[4096];
  while (recv(link.server->channel().descriptor(), part, sizeof part, MSG_DONTWAIT) > 0) {
  }
  EXPECT_TRUE(link.freed().empty());
  link.server->batch(601);
  ASSERT_TRUE(link.connection->next(kTimeout)->batch);
  EXPECT_EQ(link.freed().size(), 601U);
}

TEST(Connection, a_batch_that_was_requested_ahead_and_is_discarded_is_freed) {
  Link link;
  link.server->announce(1);
  EXPECT_TRUE(link.connection->discard_next().ok()) << "nothing was requested";
  link.server->batch(1);
  const auto first = link.connection->next(kTimeout);
  link.server->batch(2);
  EXPECT_TRUE(link.connection->discard_next().ok());
  EXPECT_EQ(link.freed(), std::vector<uint64_t>{2});
  link.server->batch(3);
  EXPECT_EQ(link.connection->next(kTimeout)->batch->step, 3);
}

TEST(Connection, a_batch_to_discard_that_never_comes_loses_the_connection) {
  Link link;
  EXPECT_TRUE(link.connection->next(kTimeout)->timed_out);
  EXPECT_EQ(link.connection->discard_next().code(), Code::kUnavailable);
  EXPECT_TRUE(link.connection->lost());
}

TEST(Connection, a_slab_that_the_server_dropped_stays_mapped_for_tensors_in_it) {
  Link link;
  link.server->announce(1)[64] = 42;
  link.server->batch(1, {}, {1});
  const auto next = link.connection->next(kTimeout);
  EXPECT_EQ(next->batch->fields[0].values.data<uint8_t>()[0], 42);
  link.server->batch(2);
  EXPECT_EQ(link.connection->next(kTimeout).status().code(), Code::kCorrupt) << "the slab is no longer known";
}

TEST(Connection, batches_outlive_the_loss_of_their_server) {
  Link link;
  link.server->announce(1)[64] = 42;
  link.server->batch(1);
  const Batch batch = *link.connection->next(kTimeout)->batch;
  link.server.reset();
  EXPECT_EQ(link.connection->next(kTimeout).status().code(), Code::kUnavailable);
  EXPECT_TRUE(link.connection->lost());
  link.connection.reset();
  EXPECT_EQ(batch.fields[0].values.data<uint8_t>()[0], 42);
}

TEST(Connection, a_request_that_cannot_be_sent_loses_the_connection) {
  Link link;
  link.server->announce(1);
  link.server->batch(1);
  link.server.reset();
  EXPECT_EQ(link.connection->next(kTimeout).status().code(), Code::kUnavailable) << "although a batch was there";
  EXPECT_TRUE(link.connection->lost());
}

TEST(Connection, closing_ends_the_wait_of_another_thread) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  const auto connection = std::make_shared<Connection>(FileDescriptor(fds[0]), WaitClock::real());
  ScriptedServer server{FileDescriptor(fds[1])};
  std::jthread closer([&] {
    // The request has arrived, so the other thread waits for its answer or is about to.
    EXPECT_TRUE(server.channel().receive(std::chrono::minutes(5))->has_value());
    connection->close();
  });
  EXPECT_EQ(connection->ask(MessageType::kOpen, "").status().code(), Code::kCancelled);
  closer.join();
  EXPECT_EQ(server.heard().type, MessageType::kClose);
  EXPECT_FALSE(connection->lost());
}

TEST(Connection, that_was_closed_answers_nothing_and_still_frees_batches) {
  Link link;
  link.server->announce(1)[64] = 42;
  link.server->batch(1);
  auto next = link.connection->next(kTimeout);
  link.connection->close();
  EXPECT_EQ(link.connection->ask(MessageType::kStats, "").status().code(), Code::kCancelled);
  EXPECT_EQ(link.connection->next(kTimeout).status().code(), Code::kCancelled);
  EXPECT_EQ(next->batch->fields[0].values.data<uint8_t>()[0], 42);
  next->batch.reset();
  EXPECT_EQ(link.freed(), std::vector<uint64_t>{1});
}

TEST(Connection, closing_does_not_wait_for_a_server_that_does_not_read) {
  Link link;
  while (send(link.connection->descriptor(), "full", 4, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
  }
  link.connection->close();
  EXPECT_EQ(link.clock.passed(), milliseconds(20));
}

TEST(Connection, in_the_child_of_a_fork_asks_nothing_and_frees_nothing) {
  Link link;
  link.server->announce(1);
  link.server->batch(1);
  auto next = link.connection->next(kTimeout);
  (void)link.freed();
  const pid_t child = fork();
  if (child == 0) {
    next->batch.reset();
    _exit(link.connection->ask(MessageType::kStats, "").status().code() == Code::kCancelled ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(link.freed().empty()) << "the batch is the parent's";
  next->batch.reset();
  EXPECT_EQ(link.freed(), std::vector<uint64_t>{1});
}

}  // namespace
}  // namespace forebay
