#include "store/bounded/bounded_store.h"

#include <algorithm>

#include "forebay/stats/store.h"
#include "store/conformance.h"
#include "store/memory/memory_store.h"
#include "store/slow/slow_store.h"

namespace forebay::conformance {

namespace {

std::shared_ptr<MemoryStore> filled(const Objects& objects) {
  auto store = memory_store();
  for (const auto& [key, bytes] : objects) store->put(key, std::string_view(bytes));
  return store;
}

// A store that answers on demand, and counts its simultaneous calls.
class Counting final : public Store {
 public:
  void read(const ReadRequest&, std::stop_token, ReadDone done) override {
    asked([done] { done(Buffer()); });
  }
  void list(const ListRequest&, std::stop_token, ListDone done) override {
    asked([done] { done(ListPage()); });
  }
  void stat(const std::string&, std::stop_token, StatDone done) override {
    asked([done] { done(ObjectInfo()); });
  }
  bool remote() const override { return true; }
  ListingTraits listing() const override { return {.in_ranges = true, .at_once = 384}; }
  std::string display_name(const std::string& key) const override { return key; }
  StoreStats stats() const override { return {}; }

  void answer_one() {
    const std::function<void()> answer = std::move(waiting.front());
    waiting.erase(waiting.begin());
    answer();
  }
  std::vector<std::function<void()>> waiting;
  size_t most = 0;

 private:
  void asked(std::function<void()> answer) {
    waiting.push_back(std::move(answer));
    most = std::max(most, waiting.size());
  }
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(
    Bounded, StoreConformance,
    testing::Values(Driver{"one_at_a_time", [](const Objects& o) { return bounded_store(filled(o), 1); }},
                    Driver{"three_of_a_slow_one", [](const Objects& o) {
                             return bounded_store(
                                 slow_store(filled(o), {.seed = 1, .latency_ms = 0.2, .jitter_ms = 0.3}), 3);
                           }}));

TEST(BoundedStore, calls_of_all_kinds_share_the_bound) {
  const auto inner = std::make_shared<Counting>();
  const auto store = bounded_store(inner, 3);
  Answers<Buffer> reads;
  Answers<ListPage> listings;
  Answers<ObjectInfo> stats;
  for (int i = 0; i < 4; ++i) {
    store->read({"key", {}, {}}, {}, reads.take());
    store->list({}, {}, listings.take());
    store->stat("key", {}, stats.take());
  }
  EXPECT_EQ(inner->waiting.size(), 3u);
  for (int i = 0; i < 12; ++i) inner->answer_one();
  EXPECT_EQ(inner->most, 3u);
  EXPECT_EQ(reads.count() + listings.count() + stats.count(), 12u);
  EXPECT_EQ(store->listing().at_once, 3u) << "nobody cuts folders into more parts than may be listed";
}

TEST(BoundedStore, what_waits_for_its_turn_answers_a_stop_and_takes_none) {
  const auto inner = std::make_shared<Counting>();
  const auto store = bounded_store(inner, 1);
  Answers<Buffer> first, stopped, last;
  std::stop_source stop;
  store->read({"a", {}, {}}, {}, first.take());
  store->read({"b", {}, {}}, stop.get_token(), stopped.take());
  store->read({"c", {}, {}}, {}, last.take());
  stop.request_stop();
  EXPECT_EQ(stopped.codes(), std::vector<Code>{Code::kCancelled});
  inner->answer_one();
  EXPECT_EQ(first.count(), 1u);
  ASSERT_EQ(inner->waiting.size(), 1u);
  inner->answer_one();
  EXPECT_EQ(last.count(), 1u);
}

TEST(BoundedStore, its_end_answers_what_waits) {
  const auto inner = std::make_shared<Counting>();
  auto store = bounded_store(inner, 1);
  Answers<Buffer> answers;
  for (int i = 0; i < 3; ++i) store->read({"key", {}, {}}, {}, answers.take());
  store.reset();
  EXPECT_EQ(answers.codes(), std::vector<Code>(3, Code::kCancelled));
  inner->answer_one();  // late: its caller no longer waits
  EXPECT_EQ(answers.count(), 3u);
}

}  // namespace forebay::conformance
