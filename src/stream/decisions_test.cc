#include "stream/decisions.h"

#include <cstdlib>
#include <future>
#include <iostream>

#include <gtest/gtest.h>

#include "cluster/simulated/simulated_network.h"
#include "stream/stream_test_support.h"

namespace forebay {
namespace {

// Holds a stream up, with its lock, where it next decides a chunk.
class Gate final : public ChunkWitness {
 public:
  void decided(const Chunk&) override {
    if (std::exchange(passed_, true)) return;
    came_.set_value();
    open_.get_future().wait_for(kStreamPatience);
  }
  bool wait() { return came_.get_future().wait_for(kStreamPatience) == std::future_status::ready; }
  void open() { open_.set_value(); }

 private:
  std::promise<void> came_, open_;
  bool passed_ = false;
};

// Three threads with three locks: the one that keeps a record, the one that decides a chunk, and the one that answers another rank.
TEST(Decisions, who_is_asked_for_a_record_goes_on_deciding_and_keeping) {
  const auto log = log_with({100});
  Stream stream(log, chunks_of(10));
  const auto network = SimulatedNetwork::make({});
  const JobPass pass{"a-token-that-is-long-enough", 1};
  const std::vector<PeerHost> hosts{{"rank0:1", pass}, {"rank1:1", pass}};
  const auto first = *Decisions::open(network->transport(), hosts[0]);
  const auto second = *Decisions::open(network->transport(), hosts[1]);
  first->know(hosts, 0);
  second->know(hosts, 1);
  first->lead_or_follow(stream);
  const auto kept = std::make_shared<KeptRecords>(log, KeptShare{0, 2});
  first->lend(kept);
  stream.seek(stream.beginning());
  ASSERT_TRUE(wait_known(stream, 10));

  const auto gate = std::make_shared<Gate>();
  stream.set_witness(gate, 1000);
  auto knows = std::async(std::launch::async, [&] { return wait_known(stream, 20); });
  ASSERT_TRUE(gate->wait());
  auto keeps = std::async(std::launch::async, [&] { return kept->keep(stream, std::vector<int64_t>{0}, 10).ok(); });
  std::this_thread::sleep_for(50ms);  // so that it waits for the stream
  auto asks = std::async(std::launch::async, [&] { return second->ask_for_records(0, std::vector<int64_t>{4}, {}); });
  std::this_thread::sleep_for(50ms);  // so that the question is there
  gate->open();
  if (knows.wait_for(2 * kStreamPatience) != std::future_status::ready ||
      keeps.wait_for(kStreamPatience) != std::future_status::ready) {
    std::cerr << "each waits for a lock that another one holds: nobody could be joined\n";
    std::abort();
  }
  EXPECT_TRUE(knows.get());
  EXPECT_TRUE(keeps.get());
  (void)asks.get();  // on a busy machine it may come too late
  stream.stop();
  first->begin_anew();  // so that nobody waits for rank 1 to ask for the last chunk
  second->close();
  first->close();
}

}  // namespace
}  // namespace forebay
