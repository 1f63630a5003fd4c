#include "telemetry/ledger_since.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <variant>

#include "forebay/ledger.h"

namespace forebay {
namespace {

/// Collects all numbers by their paths: counters apart from gauges.
class Numbers final : public LedgerVisitor {
 public:
  std::map<std::string, double> counters, others;

  explicit Numbers(const Ledger& ledger) { visit(ledger, *this); }
  void number(const Figure& figure, FigureNumber value) override {
    const bool counts = figure.kind == FigureKind::kCounter || figure.kind == FigureKind::kEstimate;
    // The time since the first batch is a gauge of a loader, and the length of the time between two
    // snapshots. The interval of an estimate shrinks with it.
    const bool spans = figure.name == "elapsed_seconds" || figure.name == "busy_uncertainty_seconds";
    (counts || spans ? counters : others)[path_ + std::string(figure.name)] =
        std::visit([](auto number) { return static_cast<double>(number); }, value);
  }
  void text(const Figure&, const std::string&) override {}
  void tally(const Figure&, const std::map<uint32_t, int64_t>&) override {}
  void histogram(const Figure& figure, const Histogram& value) override {
    counters[path_ + std::string(figure.name)] = static_cast<double>(value.count()) + value.sum;
  }
  void begin(const FigureGroup& group) override { path_ += std::string(group.name) + "."; }
  void end(const FigureGroup& group) override { path_.resize(path_.size() - group.name.size() - 1); }
  void begin_item() override {}
  void end_item() override {}

 private:
  std::string path_;
};

// A ledger in which every counter is at least 1.
Ledger with_all_counters() {
  Ledger ledger;
  ledger.steps = {{"decode", 1, 2, 3, 4, 5, 6}};
  ledger.parts = {{"web", 1, 2, 3, 4}};
  ledger.stores.resize(1);
  StoreStats& store = ledger.stores.front();
  store.requests = store.listings = store.heads = store.opens = store.immediate = store.waited = store.bytes =
      store.errors = store.attempts = store.retries = store.throttled = store.timeouts = store.hedges =
          store.hedges_won = store.in_flight = 7;
  store.seconds = 8;
  store.read_bytes = store.latency_seconds = {{1}, {2, 3}, 4};
  const TierStats tier{.hits = 1, .entries = 2, .bytes = 3, .budget_bytes = 4, .declined = 5, .damaged = 6, .off = ""};
  ledger.caches = {{.place = "", .description = "", .ram = tier, .disk = tier, .misses = 1, .peer_hits = 2}};
  ledger.memory_budget = ledger.memory_used = 9;
  ledger.chunks = {2, 3};
  ledger.batches = ledger.samples = ledger.errors = ledger.reclaimed = 10;
  ledger.consumer_wait_seconds = 11;
  ledger.waits = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  ledger.thread_time = {1, 2, 3, 4, 5, 6};
  ledger.thread_cpu = {1, 2, 3, 4, 5, 6};
  ledger.stream.emplace() = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, {{"p", 1, 2}}};
  ledger.rehearsal.emplace() = {1, 2, 3, 4, 5};
  ledger.elapsed_seconds = 12;
  return ledger;
}

TEST(LedgerSince, NoTimeHasNoCountsAndTheSameGauges) {
  const Ledger ledger = with_all_counters();
  const Numbers was(ledger), is(ledger_since(ledger, ledger));
  for (const auto& [path, value] : was.counters) EXPECT_GT(value, 0) << path << " is not in the test's ledger";
  for (const auto& [path, value] : is.counters) EXPECT_EQ(value, 0) << path;
  EXPECT_EQ(was.others, is.others);
}

TEST(LedgerSince, FromTheBeginningItIsTheWhole) {
  const Ledger ledger = with_all_counters();
  const Numbers whole(ledger), since(ledger_since({}, ledger));
  EXPECT_EQ(whole.counters, since.counters);
  EXPECT_EQ(whole.others, since.others);
}

TEST(LedgerSince, CountersThatSeemToFallAreZero) {
  Ledger earlier, later;
  earlier.samples = 10, later.samples = 9;
  earlier.waits.storage = 1, later.waits.storage = 0.5;
  const Ledger since = ledger_since(earlier, later);
  EXPECT_EQ(since.samples, 0);
  EXPECT_EQ(since.waits.storage, 0);
}

TEST(LedgerSince, TheIntervalOfAnEstimateIsThatOfItsTime) {
  Ledger earlier, later;
  earlier.steps = {{.name = "decode", .busy_seconds = 1, .busy_uncertainty_seconds = 3}};
  later.steps = {{.name = "decode", .busy_seconds = 2, .busy_uncertainty_seconds = 5}};
  EXPECT_EQ(ledger_since(earlier, later).steps.front().busy_uncertainty_seconds, 4);
}

}  // namespace
}  // namespace forebay
