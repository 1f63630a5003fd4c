#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "forebay/ledger.h"
#include "telemetry/step_counters.h"

// Tests what every visitor of a ledger relies on.

namespace forebay {
namespace {

/// Records the path of every figure, and checks that groups and items are well nested.
class Walked final : public LedgerVisitor {
 public:
  std::vector<std::string> paths;
  std::vector<std::string> open;
  int items = 0;

  void number(const Figure& figure, FigureNumber) override { add(figure); }
  void text(const Figure& figure, const std::string&) override { add(figure); }
  void tally(const Figure& figure, const std::map<uint32_t, int64_t>&) override { add(figure); }
  void histogram(const Figure& figure, const Histogram&) override { add(figure); }
  void begin(const FigureGroup& group) override {
    open.emplace_back(group.name);
    lists_.push_back(!group.one.empty());
    EXPECT_FALSE(group.help.empty()) << group.name;
  }
  void end(const FigureGroup& group) override {
    EXPECT_EQ(open.back(), group.name);
    open.pop_back();
    lists_.pop_back();
  }
  void begin_item() override {
    EXPECT_TRUE(lists_.back()) << open.back();
    ++items;
    labelled_ = false;
  }
  void end_item() override { EXPECT_TRUE(labelled_) << "nothing says which of " << open.back() << " it is"; }

 private:
  void add(const Figure& figure) {
    std::string path;
    for (const std::string& group : open) path += group + ".";
    paths.push_back(path + std::string(figure.name));
    labelled_ = labelled_ || figure.kind == FigureKind::kLabel;
  }
  std::vector<bool> lists_;
  bool labelled_ = false;
};

Ledger ledger_of(size_t each) {
  Ledger ledger;
  ledger.steps.resize(each);
  ledger.stores.resize(each);
  ledger.caches.resize(each);
  ledger.chunks.resize(each);
  return ledger;
}

nlohmann::ordered_json json_of(const Ledger& ledger) { return nlohmann::ordered_json::parse(to_json(ledger)); }

TEST(LedgerVisit, no_name_is_told_twice_and_every_element_of_a_list_has_a_label) {
  Walked one;
  visit(ledger_of(1), one);
  EXPECT_TRUE(one.open.empty());
  EXPECT_EQ(std::set<std::string>(one.paths.begin(), one.paths.end()).size(), one.paths.size());
  Walked three, none;
  visit(ledger_of(3), three);
  visit(ledger_of(0), none);
  EXPECT_EQ(three.items, 9);
  EXPECT_EQ(none.items, 0);
}

TEST(LedgerVisit, the_largest_and_smallest_numbers_keep_every_digit) {
  Ledger ledger = ledger_of(1);
  ledger.steps[0].bytes_in = std::numeric_limits<uint64_t>::max();
  ledger.steps[0].samples = std::numeric_limits<int64_t>::max();
  ledger.stores[0].bytes = (uint64_t{1} << 53) + 1;
  ledger.stores[0].read_bytes = {{256}, {std::numeric_limits<uint64_t>::max() - 1, 1}, 0};
  ledger.elapsed_seconds = 0.1;
  ledger.chunks = {std::numeric_limits<uint32_t>::max(), std::numeric_limits<uint32_t>::max()};
  const auto json = json_of(ledger);
  EXPECT_EQ(json["steps"][0]["bytes_in"].get<uint64_t>(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(json["steps"][0]["samples"].get<int64_t>(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(json["stores"][0]["bytes"].get<uint64_t>(), (uint64_t{1} << 53) + 1) << "no double holds it";
  EXPECT_EQ(json["stores"][0]["read_bytes"]["count"].get<uint64_t>(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(json["chunks"]["decoded"].get<int64_t>(), 2 * int64_t{std::numeric_limits<uint32_t>::max()});
  EXPECT_EQ(json["elapsed_seconds"].get<double>(), 0.1);
}

TEST(LedgerVisit, json_stays_json_whatever_texts_and_numbers_there_are) {
  Ledger ledger = ledger_of(1);
  const std::string odd("\"\\\n\x01\0\xc3\xa9\xed\xa0\x80", 11);
  ledger.steps[0].name = odd;
  ledger.caches[0].disk.off = "\xff\xfe";
  ledger.caches[0].hit_ratio = std::numeric_limits<double>::quiet_NaN();
  ledger.elapsed_seconds = std::numeric_limits<double>::infinity();
  const auto json = json_of(ledger);
  EXPECT_TRUE(json["steps"][0]["name"].get<std::string>().starts_with(std::string("\"\\\n\x01\0\xc3\xa9", 7)));
  EXPECT_EQ(json["caches"][0]["disk"]["off"], "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_TRUE(json["caches"][0]["hit_ratio"].is_null()) << "JSON has no NaN";
  EXPECT_TRUE(json["elapsed_seconds"].is_null());
}

TEST(LedgerVisit, lists_keep_their_order_and_equal_names_stay_apart) {
  Ledger ledger;
  for (const int64_t samples : {3, 1, 2}) ledger.steps.push_back({.name = "map", .samples = samples});
  const auto json = json_of(ledger);
  ASSERT_EQ(json["steps"].size(), 3u);
  for (const auto& [i, samples] : {std::pair(0, 3), {1, 1}, {2, 2}}) EXPECT_EQ(json["steps"][i]["samples"], samples);
  EXPECT_TRUE(json["stores"].is_array() && json["stores"].empty()) << "an empty list is a list";
}

TEST(StepCounters, nothing_is_lost_when_many_threads_add) {
  StepCounters counters;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < 1000; ++i) counters.add(2, i, 3 * i, 5);
    });
  }
  threads.clear();
  EXPECT_EQ(counters.samples, 8000);
  EXPECT_EQ(counters.bytes_in, 4 * 499'500u);
  EXPECT_EQ(counters.bytes_out, 12 * 499'500u);
  EXPECT_EQ(counters.busy_ns, 20'000);
}

}  // namespace
}  // namespace forebay
