#include "engine/fetcher.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "forebay/stats/store.h"
#include "store/memory/memory_store.h"
#include "store/slow/slow_store.h"

namespace forebay {
namespace {

/// A remote store that tells how many requests it serves best, and answers when the test says so.
class Remote final : public Store {
 public:
  explicit Remote(ConcurrencyLimits limits = {3, 1, 8}) : slots_(std::make_shared<RequestSlots>(limits)) {}
  void read(const ReadRequest& request, std::stop_token, ReadDone done) override {
    waiting.emplace(request.key, std::move(done));
  }
  void list(const ListRequest&, std::stop_token, ListDone) override {}
  void stat(const std::string&, std::stop_token, StatDone) override {}
  std::shared_ptr<RequestSlots> slots() override { return slots_; }
  std::string display_name(const std::string& key) const override { return key; }
  StoreStats stats() const override { return {}; }

  void answer(const std::string& key) {
    const auto found = waiting.find(key);
    ReadDone done = std::move(found->second);
    waiting.erase(found);
    done(Buffer::allocate(10));
  }

  std::multimap<std::string, ReadDone> waiting;

 private:
  const std::shared_ptr<RequestSlots> slots_;
};

/// The owner of a fetcher, with the results of its reads.
struct Owner {
  class Read final : public PendingRead {
   public:
    Read(Owner& owner, StoreSlots& slots, const std::string& key, Claim bytes = {})
        : PendingRead(slots, {key, {}, {}}, std::move(bytes), owner.counters), key_(key), owner_(owner) {}

   private:
    void on_result(Result<Buffer> result) override {
      owner_.fetcher.end(*this);
      owner_.results[key_] = result.ok() ? "ok" : std::string(code_name(result.status().code()));
    }
    const std::string key_;
    Owner& owner_;
  };

  explicit Owner(FetcherOptions options = {}) : fetcher(options) {}
  std::shared_ptr<PendingRead> read(Store& store, const std::string& key, Claim bytes = {}) {
    const auto made = std::make_shared<Read>(*this, fetcher.slots_of(store), key, std::move(bytes));
    fetcher.begin(*made);
    fetcher.send(made);
    return made;
  }

  StepCounters counters;
  Fetcher fetcher;
  std::map<std::string, std::string> results;
};

TEST(Fetcher, slots_are_counted_store_by_store) {
  Owner owner({.requests = 2});
  Remote far, other;
  owner.read(far, "a");
  owner.read(far, "b");
  EXPECT_FALSE(owner.fetcher.slots_of(far).has_slot());
  EXPECT_TRUE(owner.fetcher.slots_of(other).has_slot()) << "one store that is slow does not hold up another";
  EXPECT_EQ(owner.fetcher.in_flight(), 2);
  far.answer("a");
  EXPECT_TRUE(owner.fetcher.slots_of(far).has_slot());
  EXPECT_EQ(owner.fetcher.in_flight(), 1);
  far.answer("b");
  EXPECT_EQ(owner.results, (std::map<std::string, std::string>{{"a", "ok"}, {"b", "ok"}}));
}

TEST(Fetcher, asks_the_store_how_many_reads_it_serves_best) {
  Remote far;
  Owner found({.requests = 16, .find_requests = true}), fixed({.requests = 16});
  EXPECT_EQ(found.fetcher.slots_of(far).limit(), 3);
  EXPECT_EQ(fixed.fetcher.slots_of(far).limit(), 16);
  const RequestSlots::Share another(far.slots());
  EXPECT_EQ(found.fetcher.slots_of(far).limit(), 3) << "as of the last refresh";
  found.fetcher.refresh();
  EXPECT_LT(found.fetcher.slots_of(far).limit(), 3) << "shared with the other user";
}

TEST(Fetcher, begins_with_a_part_where_other_ranks_read_from_the_same_store) {
  Remote far(ConcurrencyLimits{});
  Owner owner({.find_requests = true, .ranks = 2});
  EXPECT_EQ(owner.fetcher.slots_of(far).limit(), 32);
}

// A local disk answers in microseconds. If that counted, the remote store would appear to serve
// more and more requests.
TEST(Fetcher, reads_of_a_caches_disk_do_not_feed_the_remote_stores_control) {
  Owner owner({.find_requests = true});
  Remote far;
  const auto disk = memory_store();
  disk->put("entry", "bytes");
  RequestSlots::Share probe(far.slots());
  (void)owner.fetcher.slots_of(far);
  for (int i = 0; i < 20; ++i) owner.read(*disk, "entry");
  EXPECT_EQ(owner.results["entry"], "ok");
  EXPECT_EQ(probe.on_sent().completed, 0);
  owner.read(far, "object");
  far.answer("object");
  EXPECT_EQ(probe.on_sent().completed, 1);
}

TEST(Fetcher, cold_and_warm_are_known_of_each_store) {
  Owner owner;
  const auto one = memory_store(), two = memory_store();
  const auto far = slow_store(memory_store(), {.latency_ms = 1});
  StoreSlots &first = owner.fetcher.slots_of(*one), &second = owner.fetcher.slots_of(*two);
  EXPECT_TRUE(first.expects_page_cache_hit() && first.should_try_page_cache());
  EXPECT_FALSE(owner.fetcher.slots_of(*far).should_try_page_cache()) << "nothing there is near";
  first.record_try(/*hit=*/false);
  EXPECT_FALSE(first.expects_page_cache_hit());
  EXPECT_TRUE(second.expects_page_cache_hit()) << "that one was not looked at";
  int tries = 0;
  for (int i = 0; i < 640; ++i) tries += first.should_try_page_cache() ? 1 : 0;
  EXPECT_EQ(tries, 10) << "now and then";
  first.record_try(/*hit=*/true);
  EXPECT_TRUE(first.should_try_page_cache());
}

TEST(Fetcher, a_flight_holds_its_bytes_until_it_lands) {
  const auto budget = std::make_shared<ByteBudget>(100);
  Owner owner;
  Remote far;
  (void)owner.read(far, "unwanted", *Claim::take(budget, Use::kFetched, 70));  // dropped
  EXPECT_EQ(budget->snapshot().used, 70u) << "the bytes are still on their way";
  far.answer("unwanted");
  EXPECT_EQ(budget->snapshot().used, 0u);
}

TEST(Fetcher, a_stop_ends_what_is_in_flight) {
  Owner owner;
  const auto store = memory_store();
  store->put("key", "bytes");
  const auto slow = slow_store(store, {.latency_ms = 1e6, .manual_clock = true});
  owner.read(*slow, "key");
  EXPECT_TRUE(owner.results.empty());
  owner.fetcher.stop();
  EXPECT_EQ(owner.results["key"], "Cancelled");
  EXPECT_EQ(owner.fetcher.in_flight(), 0);
  EXPECT_GT(owner.counters.waiting_ns.load(), 0);
}

}  // namespace
}  // namespace forebay
