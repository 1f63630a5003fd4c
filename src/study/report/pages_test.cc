#include "study/report/pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "forebay/ledger.h"

namespace forebay {
namespace {

const Section* section_of(const Page& page, const std::string& title) {
  const auto at = std::find_if(page.sections.begin(), page.sections.end(),
                               [&](const Section& section) { return section.title == title; });
  return at == page.sections.end() ? nullptr : &*at;
}

template <typename Kind>
const Kind& first_of(const Section& section) {
  for (const Block& block : section.blocks) {
    if (const auto* found = std::get_if<Kind>(&block)) return *found;
  }
  throw std::out_of_range(section.title);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Ledger a_run() {
  Ledger ledger;
  ledger.elapsed_seconds = 10;
  ledger.samples = 5000;
  ledger.threads = 2;
  ledger.waits.storage = 6;
  ledger.consumer_wait_seconds = 6;
  ledger.thread_time = {.rows = 5, .idle = 15};
  ledger.steps = {{.name = "flip", .busy_seconds = 1, .busy_uncertainty_seconds = 0.25},
                  {.name = "decode", .busy_seconds = 3, .busy_uncertainty_seconds = 0.25}};
  ledger.memory_budget = 1000;
  return ledger;
}

Diagnosis a_diagnosis() {
  Diagnosis diagnosis;
  diagnosis.rate = 100, diagnosis.rate_low = 90, diagnosis.rate_high = 110;
  diagnosis.first = {Limit::kCompute, 0.8, "compute: for 80 % of the time"};
  diagnosis.remedies.push_back({.change = "put .cache() behind resize",
                                .gain = {2, 1.9, 2.1},
                                .bytes = 1 << 20,
                                .pipeline = images("/photos"),
                                .options = {},
                                .steps = {}});
  return diagnosis;
}

TEST(RunPage, SaysFirstWhatLimitedItAndWhatToDo) {
  const Page page = run_page(a_run(), {}, "photos.json");
  EXPECT_TRUE(has(page.finding, "60 % of the time was spent waiting")) << page.finding;
  EXPECT_TRUE(has(page.finding, "storage")) << page.finding;
  EXPECT_TRUE(has(page.action, ".cache()")) << page.action;
  EXPECT_EQ(page.subject, "photos.json");
}

TEST(RunPage, ExistsForARunThatHasNotBegun) {
  const Page page = run_page({}, {}, "");
  EXPECT_TRUE(has(page.finding, "No batch was asked for yet")) << page.finding;
  EXPECT_FALSE(to_html(page).empty());
}

TEST(RunPage, ProposesNothingIfTheLoaderIsNotTheLimit) {
  Ledger ledger = a_run();
  ledger.waits = {};
  ledger.consumer_wait_seconds = 0;
  EXPECT_TRUE(has(run_page(ledger, {}, "").finding, "the loader is not the limit"));
}

TEST(RunPage, OperatorsComeTheBusiestFirstWithHowFarOffTheyMayBe) {
  const Page page = run_page(a_run(), {}, "");
  const Bars& bars = first_of<Bars>(*section_of(page, "Operators"));
  ASSERT_EQ(bars.bars.size(), 2u);
  EXPECT_EQ(bars.bars[0].label, "decode");
  EXPECT_EQ(bars.bars[0].low, 2.75);
  EXPECT_EQ(bars.bars[0].high, 3.25);
  EXPECT_TRUE(has(bars.bars[0].text, "± 250 ms")) << bars.bars[0].text;
}

TEST(RunPage, ThePipelineIsAChainFromTheStoreToTheTrainerWithItsTimes) {
  Ledger ledger = a_run();
  ledger.stores.resize(1);
  ledger.stores[0].name = "s3://bucket/";
  ledger.stores[0].waited = 100;
  ledger.stores[0].seconds = 2;
  ledger.steps[1].samples = 1000;
  ledger.steps[1].bytes_out = 2'048'000;
  const Page page = run_page(ledger, {}, "");
  const Chain& chain = first_of<Chain>(*section_of(page, "Pipeline"));
  ASSERT_EQ(chain.steps.size(), 4u);
  EXPECT_EQ(chain.steps[0].name, "s3://bucket/");
  EXPECT_EQ(chain.steps[0].arrow, "20 ms/read");
  EXPECT_EQ(chain.steps[0].weight, 0.6);
  EXPECT_EQ(chain.steps[1].name, "flip");
  EXPECT_EQ(chain.steps[1].arrow, "-") << "no sample was counted";
  EXPECT_EQ(chain.steps[2].share, 0.75);
  EXPECT_EQ(chain.steps[2].arrow_note, "2 KiB/sample");
  EXPECT_EQ(chain.steps[2].arrow, "waited 60.0 %");
  EXPECT_EQ(chain.steps[3].name, "trainer");
  EXPECT_EQ(chain.steps[3].note, "500/s");
}

TEST(RunPage, TimeOfThreadsIsOfAsManyAsThereWereAtEachTime) {
  Ledger ledger = a_run();
  ledger.threads = 1;  // there were two until halfway
  ledger.thread_time = {.rows = 5, .idle = 10};
  const Page page = run_page(ledger, {}, "");
  EXPECT_EQ(first_of<Bars>(*section_of(page, "Compute threads")).full, 15);
}

TEST(RunPage, EmptySectionsAreLeftOut) {
  const Page page = run_page(a_run(), {}, "");
  EXPECT_EQ(section_of(page, "Caches"), nullptr);
  EXPECT_EQ(section_of(page, "Tuning while it ran"), nullptr);
}

TEST(RunPage, DecisionsStandThereWithTheirReason) {
  Ledger ledger = a_run();
  ledger.tuning = {{.seconds = 2, .what = "threads", .from = 4, .to = 1, .reason = "1 core now"}};
  const Page page = run_page(ledger, {}, "");
  const Table& table = first_of<Table>(*section_of(page, "Tuning while it ran"));
  EXPECT_EQ(table.rows, (std::vector<std::vector<std::string>>{{"threads", "2 s", "4", "1", "1 core now"}}));
}

TEST(RunPage, ACacheSaysWhyATierIsOff) {
  Ledger ledger = a_run();
  CacheStats cache;
  cache.description = "images, resize";
  cache.disk.off = "the disk is full";
  ledger.caches = {cache};
  const Page page = run_page(ledger, {}, "");
  const Table& table = first_of<Table>(*section_of(page, "Caches"));
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].size(), table.columns.size());
  EXPECT_EQ(table.rows[0][4], "off: the disk is full");
}

TEST(DiagnosisPage, GainsHaveTheirRange) {
  const Page page = diagnosis_page(a_diagnosis(), "");
  EXPECT_TRUE(has(page.finding, "compute: for 80 %"));
  EXPECT_TRUE(has(page.action, "2.00 times as fast (1.90 to 2.10)")) << page.action;
  const Section& changes = *section_of(page, "Changes, the best first");
  const Bars& bars = first_of<Bars>(changes);
  EXPECT_EQ(bars.mark, 1) << "what it is compared with";
  EXPECT_EQ(bars.bars[0].low, 1.9);
  EXPECT_EQ(bars.bars[0].high, 2.1);
  EXPECT_TRUE(has(first_of<Table>(changes).rows[0][4], "high"));
}

TEST(DiagnosisPage, AGainThatOneRoundDidNotSeeIsNotReliedOn) {
  Diagnosis diagnosis = a_diagnosis();
  diagnosis.remedies.front().gain = {1.3, 0.9, 1.8};
  const Page page = diagnosis_page(diagnosis, "");
  EXPECT_TRUE(has(first_of<Table>(*section_of(page, "Changes, the best first")).rows[0][4], "low"));
}

TEST(DiagnosisPage, OfATrainerNothingIsProposed) {
  Diagnosis diagnosis;
  diagnosis.first = {Limit::kTrainer, 0.01, "your trainer"};
  diagnosis.others = {"more threads: all have one"};
  const Page page = diagnosis_page(diagnosis, "");
  EXPECT_EQ(page.action, "Nothing here.");
  EXPECT_EQ(first_of<Paragraph>(*section_of(page, "Beside that")).text, "more threads: all have one");
}

TEST(DiagnosisPage, ShowsTheVerifiedGainBesideThePredictedOne) {
  Diagnosis diagnosis = a_diagnosis();
  diagnosis.verified = Gain{1.8, 1.7, 1.9};
  const Page page = diagnosis_page(diagnosis, "");
  const Bars& bars = first_of<Bars>(*section_of(page, "Changes, the best first"));
  ASSERT_EQ(bars.bars.size(), 2u);
  EXPECT_TRUE(has(bars.bars[1].label, "verified"));
  EXPECT_EQ(bars.bars[1].value, 1.8);
}

}  // namespace
}  // namespace forebay
