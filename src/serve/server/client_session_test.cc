// Tests the server's end of a connection with a client that sends exactly what a test says.
#include "serve/server/client_session.h"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "serve/server/serve_test_support.h"
#include "serve/server/session_test_support.h"
#include "serve/wait_clock_test_support.h"
#include "serve/wire/ledger_message.h"

namespace forebay {
namespace {

using serve_test::Data;
using serve_test::RunningSession;
using serve_test::ScriptedClient;
using serve_test::test_sharing;

constexpr int kBatches = 15;  // batches of 7 in 100 rows

/// A session whose client has introduced itself and has a loader.
struct OpenSession {
  explicit OpenSession(const Data& data, LoaderOptions options = {}) : running(*sharing) {
    EXPECT_TRUE(client().greet().ok());
    EXPECT_TRUE(client().open(data.pipeline(), std::move(options)).ok());
  }
  ScriptedClient& client() { return running.client(); }
  ClientSession& session() { return running.session(); }
  LoaderInfo info() { return *from_message<LoaderInfo>(client().ask(MessageType::kInfo).body); }

  std::unique_ptr<Sharing> sharing = test_sharing();
  RunningSession running;
};

/// While it exists, no memory that clients can map can be allocated in this process.
class NoSharedMemory {
 public:
  NoSharedMemory() : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~NoSharedMemory() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(ClientSession, ends_if_the_client_says_nothing_for_ten_seconds) {
  const auto sharing = test_sharing();
  serve_test::ManualClock clock;
  RunningSession running(*sharing, clock);
  running.join();
  EXPECT_TRUE(running.session().over());
  EXPECT_EQ(clock.passed(), std::chrono::seconds(10));
  EXPECT_EQ(status_from_message(running.client().answer().body).code(), Code::kCorrupt);
}

TEST(ClientSession, refuses_a_client_whose_first_message_is_no_greeting) {
  Hello strange, future;
  strange.magic = 1;
  future.version = kServeVersion + 1;
  struct Case {
    MessageType type;
    std::string body;
    Code code;
  };
  for (const Case& each : {Case{MessageType::kHello, to_message(strange), Code::kCorrupt},
                           {MessageType::kHello, to_message(future), Code::kUnsupported},
                           {MessageType::kHello, "", Code::kCorrupt},
                           {MessageType::kHello, to_message(Hello()) + "x", Code::kCorrupt},
                           {MessageType::kHello, std::string(5000, 'x'), Code::kCorrupt},
                           {MessageType::kStatus, "", Code::kCorrupt},
                           {MessageType::kStop, "", Code::kCorrupt}}) {
    const auto sharing = test_sharing();
    sharing->stop = [] { ADD_FAILURE() << "stopped by a client that has not introduced itself"; };
    RunningSession running(*sharing);
    EXPECT_EQ(running.client().status_of(each.type, each.body).code(), each.code);
    EXPECT_TRUE(running.client().hung_up());
  }
}

TEST(ClientSession, is_over_when_the_client_has_gone) {
  const Data data;
  const auto sharing = test_sharing();
  serve_test::SocketPair pair;
  ClientSession session(std::move(pair.server), getpid(), *sharing);
  {
    ScriptedClient client(std::move(pair.client));
    client.send(MessageType::kHello, to_message(Hello()));
    client.send(MessageType::kOpen, to_message(ScriptedClient::request(data.pipeline())));
    client.send(MessageType::kNext, to_message(uint32_t{100}));
  }
  EXPECT_FALSE(session.over());
  session.run();
  EXPECT_TRUE(session.over());
  EXPECT_EQ(session.status().held, 0);
  EXPECT_FALSE(session.status().reads);
  EXPECT_EQ(sharing->blocks->bytes(), 0U);
}

TEST(ClientSession, answers_about_the_server_before_there_is_a_loader) {
  const auto sharing = test_sharing();
  int stopped = 0;
  sharing->stop = [&] { ++stopped; };
  RunningSession running(*sharing);
  ASSERT_TRUE(running.client().greet().ok());
  EXPECT_EQ(running.client().ask(MessageType::kStatus).body, "{\"test\": true}");
  EXPECT_TRUE(running.client().status_of(MessageType::kStop).ok());
  EXPECT_EQ(stopped, 1);
  EXPECT_TRUE(running.client().status_of(MessageType::kClose).ok()) << "there is nothing to close";
}

TEST(ClientSession, ends_with_an_error_if_a_request_takes_more_memory_than_there_is) {
  const auto sharing = test_sharing();
  sharing->status = []() -> std::string { throw std::bad_alloc(); };
  RunningSession running(*sharing);
  ASSERT_TRUE(running.client().greet().ok());
  EXPECT_EQ(running.client().status_of(MessageType::kStatus).code(), Code::kOutOfBudget);
  EXPECT_TRUE(running.client().hung_up());
  running.join();
  EXPECT_TRUE(running.session().over());
}

TEST(ClientSession, refuses_requests_to_a_loader_that_is_not_there_and_goes_on) {
  const auto sharing = test_sharing();
  RunningSession running(*sharing);
  ASSERT_TRUE(running.client().greet().ok());
  for (const MessageType type : {MessageType::kPrepare, MessageType::kInfo, MessageType::kStats, MessageType::kErrors,
                                 MessageType::kDescribe, MessageType::kEndTrace, MessageType::kHello})
    EXPECT_EQ(running.client().status_of(type).code(), Code::kInvalidArgument) << static_cast<int>(type);
  const std::string timeout = to_message(uint32_t{0});
  EXPECT_EQ(running.client().status_of(MessageType::kNext, timeout).code(), Code::kInvalidArgument);
  EXPECT_TRUE(running.client().status_of(MessageType::kStatus).ok());
}

TEST(ClientSession, refuses_requests_that_it_does_not_know_and_goes_on) {
  const Data data;
  OpenSession open(data);
  for (const int type : {0, 18, 77, 100, 103, 65535})
    EXPECT_EQ(open.client().status_of(static_cast<MessageType>(type)).code(), Code::kUnsupported) << type;
  EXPECT_EQ(open.client().next().type, MessageType::kBatch);
}

TEST(ClientSession, refuses_a_body_that_is_none_of_the_request_and_goes_on) {
  const Data data;
  OpenSession open(data);
  const LoaderInfo before = open.info();
  for (const MessageType type :
       {MessageType::kOpen, MessageType::kSetEpoch, MessageType::kLoadState, MessageType::kBeginTrace}) {
    EXPECT_EQ(open.client().status_of(type, "?").code(), Code::kCorrupt) << static_cast<int>(type);
    EXPECT_EQ(open.info().position.state, before.position.state);
  }
}

TEST(ClientSession, ends_when_a_request_for_a_batch_is_none) {
  const Data data;
  OpenSession open(data);
  EXPECT_EQ(open.client().status_of(MessageType::kNext, "?").code(), Code::kCorrupt);
  EXPECT_TRUE(open.client().hung_up());
}

TEST(ClientSession, says_why_a_pipeline_cannot_be_opened_and_another_one_can_be) {
  const Data data;
  const auto sharing = test_sharing();
  RunningSession running(*sharing);
  ASSERT_TRUE(running.client().greet().ok());
  OpenRequest nonsense;
  nonsense.pipeline = "{}";
  const Status refused = running.client().status_of(MessageType::kOpen, to_message(nonsense));
  EXPECT_EQ(refused.to_string(), Pipeline::from_json("{}").status().to_string());
  const Pipeline missing = arrays({{"x", Array{{}, "/nowhere/x.npy"}}}).batch(2);
  EXPECT_EQ(running.client().open(missing).to_string(), Loader::open(missing).status().to_string());
  EXPECT_TRUE(running.client().open(data.pipeline()).ok());
}

TEST(ClientSession, has_one_loader_until_that_is_closed) {
  const Data data;
  OpenSession open(data);
  EXPECT_EQ(open.client().open(data.pipeline()).code(), Code::kInvalidArgument);
  EXPECT_TRUE(open.client().status_of(MessageType::kClose).ok());
  EXPECT_EQ(open.client().status_of(MessageType::kInfo).code(), Code::kInvalidArgument);
  EXPECT_TRUE(open.client().open(data.pipeline(3)).ok());
  EXPECT_EQ(open.info().position.batches_per_epoch, 34);
}

TEST(ClientSession, begins_at_the_state_of_the_request) {
  const Data data;
  const auto loader = std::move(*Loader::open(data.pipeline()));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(loader->next().ok());
  const auto sharing = test_sharing();
  RunningSession running(*sharing);
  ASSERT_TRUE(running.client().greet().ok());
  OpenRequest request = ScriptedClient::request(data.pipeline());
  request.state = loader->state();
  ASSERT_TRUE(running.client().status_of(MessageType::kOpen, to_message(request)).ok());
  EXPECT_EQ(running.client().next_batch().ids, (**loader->next()).ids);
}

TEST(ClientSession, refuses_a_request_with_a_state_of_another_pipeline) {
  const Data data;
  const auto sharing = test_sharing();
  RunningSession running(*sharing);
  ASSERT_TRUE(running.client().greet().ok());
  OpenRequest request = ScriptedClient::request(data.pipeline());
  request.state = "{}";
  EXPECT_FALSE(running.client().status_of(MessageType::kOpen, to_message(request)).ok());
  EXPECT_EQ(running.client().status_of(MessageType::kInfo).code(), Code::kInvalidArgument) << "no loader was opened";
}

TEST(ClientSession, announces_the_memory_of_a_batch_before_the_batch) {
  const Data data;
  OpenSession open(data);
  const auto loader = std::move(*Loader::open(data.pipeline()));
  for (int i = 0; i < kBatches; ++i) {
    const BatchMessage message = open.client().next_batch();
    const Batch expected = std::move(**loader->next());
    ASSERT_EQ(message.ids, expected.ids);
    EXPECT_EQ(message.after.state, loader->state());
    ASSERT_EQ(message.fields.size(), 1U);
    const Result<Tensor> tensor = open.client().tensor(message.fields[0].values);
    ASSERT_TRUE(tensor.ok()) << tensor.status().to_string();
    ASSERT_EQ(tensor->nbytes(), expected.fields[0].values.nbytes());
    EXPECT_EQ(std::memcmp(tensor->buffer.data(), expected.fields[0].values.buffer.data(), tensor->nbytes()), 0);
  }
  EXPECT_EQ(open.client().slabs_received(), 1U) << "all of these small batches lie in one slab";
}

TEST(ClientSession, counts_what_it_delivered_and_what_the_client_holds) {
  const Data data;
  OpenSession open(data);
  EXPECT_EQ(open.session().status().seconds, 0) << "no batch was asked for";
  std::vector<uint64_t> numbers;
  for (int i = 0; i < 3; ++i) numbers.push_back(open.client().next_batch().number);
  ClientStatus status = open.session().status();
  EXPECT_TRUE(status.reads);
  EXPECT_EQ(status.process, getpid());
  EXPECT_EQ(status.batches, 3);
  EXPECT_EQ(status.samples, 21);
  EXPECT_EQ(status.held, 3);
  EXPECT_EQ(status.bytes, 3U * 7 * 5 * 8);
  EXPECT_EQ(status.held_bytes, status.bytes);
  EXPECT_FALSE(status.pipeline.empty());
  open.client().free({numbers[0], numbers[2]});
  ASSERT_TRUE(open.client().status_of(MessageType::kStatus).ok());  // answered in order
  status = open.session().status();
  EXPECT_EQ(status.held, 1);
  EXPECT_EQ(status.held_bytes, 7U * 5 * 8);
  EXPECT_EQ(status.bytes, 3U * 7 * 5 * 8);
}

TEST(ClientSession, ignores_numbers_of_batches_that_are_not_held) {
  const Data data;
  OpenSession open(data);
  const uint64_t number = open.client().next_batch().number;
  open.client().free({number + 1, UINT64_MAX, 0});
  open.client().send(MessageType::kFreed, "no numbers");
  ASSERT_TRUE(open.client().status_of(MessageType::kStatus).ok());
  EXPECT_EQ(open.session().status().held, 1);
  open.client().free({number, number});
  open.client().free({number});
  ASSERT_TRUE(open.client().status_of(MessageType::kStatus).ok());
  EXPECT_EQ(open.session().status().held, 0);
  EXPECT_EQ(open.session().status().held_bytes, 0U);
}

TEST(ClientSession, keeps_batches_that_the_client_holds_when_the_loader_is_closed) {
  const Data data;
  OpenSession open(data);
  const BatchMessage batch = open.client().next_batch();
  const Tensor tensor = *open.client().tensor(batch.fields[0].values);
  const int64_t first = tensor.data<int64_t>()[0];
  ASSERT_TRUE(open.client().status_of(MessageType::kClose).ok());
  EXPECT_EQ(open.session().status().held, 1);
  EXPECT_GT(open.sharing->blocks->bytes(), 0U);
  EXPECT_EQ(tensor.data<int64_t>()[0], first);
  EXPECT_EQ(first, batch.ids[0]);
}

TEST(ClientSession, tells_the_client_of_slabs_that_no_longer_exist) {
  const Data data(4, 200'000);  // each batch is larger than a mebibyte and has a slab of its own
  const auto sharing = test_sharing();
  RunningSession running(*sharing);
  ASSERT_TRUE(running.client().greet().ok());
  ASSERT_TRUE(running.client().open(data.pipeline(1)).ok());
  const BatchMessage first = running.client().next_batch();
  EXPECT_TRUE(first.dropped_slabs.empty());
  running.client().free({first.number});
  const BatchMessage second = running.client().next_batch();
  // The slab may have been used again for the second batch, and is idle or gone otherwise.
  const bool used_again = second.fields[0].values.slab == first.fields[0].values.slab;
  EXPECT_TRUE(used_again || second.dropped_slabs == std::vector<uint64_t>{first.fields[0].values.slab});
}

TEST(ClientSession, ends_each_epoch_once_and_the_last_one_as_often_as_it_is_asked) {
  const Data data;
  OpenSession open(data, {.epochs = 2});
  for (int64_t epoch = 1; epoch <= 2; ++epoch) {
    for (int i = 0; i < kBatches; ++i) EXPECT_EQ(open.client().next_batch().epoch, epoch - 1);
    const Frame end = open.client().next();
    ASSERT_EQ(end.type, MessageType::kEnd);
    const Position after = from_message<EndMessage>(end.body)->after;
    EXPECT_EQ(after.finished, epoch == 2);
    EXPECT_EQ(after.state, open.info().position.state);
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(open.client().next().type, MessageType::kEnd);
}

TEST(ClientSession, goes_to_another_epoch_and_stays_for_the_same_one) {
  const Data data;
  OpenSession open(data);
  const std::vector<int64_t> first = open.client().next_batch().ids;
  const std::string here = open.info().position.state;
  ASSERT_TRUE(open.client().status_of(MessageType::kSetEpoch, to_message(int64_t{0})).ok());
  EXPECT_EQ(open.info().position.state, here);
  ASSERT_TRUE(open.client().status_of(MessageType::kSetEpoch, to_message(int64_t{5})).ok());
  EXPECT_EQ(open.info().position.epoch, 5);
  EXPECT_EQ(open.client().next_batch().epoch, 5);
  EXPECT_FALSE(open.client().status_of(MessageType::kSetEpoch, to_message(int64_t{-1})).ok());
  ASSERT_TRUE(open.client().status_of(MessageType::kSetEpoch, to_message(int64_t{0})).ok());
  EXPECT_EQ(open.client().next_batch().ids, first);
}

TEST(ClientSession, goes_to_a_state_and_stays_if_it_is_none) {
  const Data data;
  OpenSession open(data);
  const std::string begin = open.info().position.state;
  const std::vector<int64_t> first = open.client().next_batch().ids;
  const std::string here = open.info().position.state;
  EXPECT_FALSE(open.client().status_of(MessageType::kLoadState, to_message(LoadRequest{"{}", true})).ok());
  EXPECT_EQ(open.info().position.state, here);
  ASSERT_TRUE(open.client().status_of(MessageType::kLoadState, to_message(LoadRequest{begin, true})).ok());
  EXPECT_EQ(open.client().next_batch().ids, first);
}

TEST(ClientSession, describes_the_data_set_and_counts_what_was_done) {
  const Data data;
  OpenSession open(data);
  ASSERT_TRUE(open.client().status_of(MessageType::kPrepare).ok());
  const SourceInfo source = *from_message<SourceInfo>(open.client().ask(MessageType::kDescribe).body);
  ASSERT_EQ(source.fields.size(), 1U);
  EXPECT_EQ(source.fields[0].name, "x");
  EXPECT_EQ(source.fields[0].shape, std::vector<int64_t>{5});
  EXPECT_EQ(open.info().size, 100);
  EXPECT_EQ(open.info().fingerprint, (*Loader::open(data.pipeline()))->fingerprint());
  for (int i = 0; i < 3; ++i) open.client().next_batch();
  const Ledger ledger = *from_message<Ledger>(open.client().ask(MessageType::kStats).body);
  EXPECT_GE(ledger.batches, 3);
  EXPECT_TRUE(from_message<std::vector<ErrorEntry>>(open.client().ask(MessageType::kErrors).body)->empty());
}

TEST(ClientSession, writes_a_trace_where_the_client_says) {
  const Data data;
  OpenSession open(data);
  const std::string path = data.npy() + ".trace.json";
  ASSERT_TRUE(open.client().status_of(MessageType::kBeginTrace, to_message(TraceRequest{path, 1 << 20})).ok());
  open.client().next_batch();
  ASSERT_TRUE(open.client().status_of(MessageType::kEndTrace).ok());
  EXPECT_GT(std::filesystem::file_size(path), 0U);
  const TraceRequest nowhere{"/nowhere/trace.json", 1 << 20};
  EXPECT_FALSE(open.client().status_of(MessageType::kBeginTrace, to_message(nowhere)).ok());
  EXPECT_EQ(open.client().next().type, MessageType::kBatch);
}

// The pool of the loader is in memory that clients cannot map here, so each batch needs a copy.
TEST(ClientSession, delivers_a_batch_later_for_which_there_was_no_memory) {
  const Data data;
  OpenSession open(data);
  const auto loader = std::move(*Loader::open(data.pipeline()));
  const std::string begin = open.info().position.state;
  {
    const NoSharedMemory none;
    for (int i = 0; i < 3; ++i) {
      const Frame frame = open.client().next();
      ASSERT_EQ(frame.type, MessageType::kFailed);
      const Status status = status_from_message(frame.body);
      ASSERT_EQ(status.code(), Code::kOutOfBudget);
      ASSERT_EQ(status.bytes_needed(), 7U * 5 * 8);
      ASSERT_EQ(open.info().position.state, begin) << "the client has not moved";
    }
  }
  for (int i = 0; i < 4; ++i) {
    const BatchMessage batch = open.client().next_batch();
    EXPECT_EQ(batch.ids, (**loader->next()).ids);
    EXPECT_EQ(batch.after.state, open.info().position.state);
  }
  EXPECT_EQ(open.session().status().held, 4);
}

TEST(ClientSession, drops_a_batch_that_it_could_not_deliver_when_the_position_changes) {
  const Data data;
  OpenSession open(data);
  const std::string begin = open.info().position.state;
  {
    const NoSharedMemory none;
    ASSERT_EQ(open.client().next().type, MessageType::kFailed);
  }
  ASSERT_TRUE(open.client().status_of(MessageType::kSetEpoch, to_message(int64_t{3})).ok());
  EXPECT_EQ(open.client().next_batch().epoch, 3);
  ASSERT_TRUE(open.client().status_of(MessageType::kLoadState, to_message(LoadRequest{begin, true})).ok());
  EXPECT_EQ(open.client().next_batch().step, 0);
}

TEST(ClientSession, abort_ends_a_wait_for_other_clients) {
  const Data data;
  const auto sharing = test_sharing();
  RunningSession running(*sharing);
  ASSERT_TRUE(running.client().greet().ok());
  ASSERT_TRUE(running.client().open(data.pipeline(), {}, 2).ok());
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(running.client().ask(MessageType::kNext, to_message(uint32_t{0})).type, MessageType::kNotYet);
  running.client().send(MessageType::kNext, to_message(uint32_t{100}));
  running.session().abort();
  running.join();
  EXPECT_TRUE(running.session().over());
}

TEST(ClientSession, gives_two_clients_of_a_group_the_same_memory) {
  const Data data;
  const auto sharing = test_sharing();
  RunningSession a(*sharing), b(*sharing);
  for (RunningSession* each : {&a, &b}) {
    ASSERT_TRUE(each->client().greet().ok());
    ASSERT_TRUE(each->client().open(data.pipeline(), {}, 2).ok());
  }
  for (int i = 0; i < kBatches; ++i) EXPECT_EQ(a.client().next_batch().ids, b.client().next_batch().ids);
  EXPECT_EQ(sharing->together->counts().computed, static_cast<uint64_t>(kBatches));
  EXPECT_EQ(sharing->together->counts().delivered, 2U * kBatches);
  EXPECT_EQ(a.session().status().shares, "batches, with 1 others");
  EXPECT_EQ(a.session().status().together, 2);
}

TEST(ClientSession, of_another_pipeline_shares_nothing) {
  const Data data;
  const auto sharing = test_sharing();
  RunningSession a(*sharing), b(*sharing);
  ASSERT_TRUE(a.client().greet().ok() && b.client().greet().ok());
  ASSERT_TRUE(a.client().open(data.pipeline(), {}, 1).ok());
  ASSERT_TRUE(b.client().open(data.pipeline(5), {}, 1).ok());
  EXPECT_EQ(a.client().next_batch().ids.size(), 7U);
  EXPECT_EQ(b.client().next_batch().ids.size(), 5U);
  EXPECT_EQ(sharing->together->counts().computed, 2U);
  EXPECT_EQ(a.session().status().shares, "");
}

}  // namespace
}  // namespace forebay
