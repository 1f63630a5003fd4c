#include "study/report/live_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <variant>

#include "forebay/ledger.h"

namespace forebay {
namespace {

const Fact& fact_of(const Page& page, const std::string& label) {
  return *std::find_if(page.facts.begin(), page.facts.end(), [&](const Fact& fact) { return fact.label == label; });
}

bool shows(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A loader that delivers `before` samples a second for 100 s, and `after` samples from then on.
Ledger ledger_at(double seconds, double before, double after) {
  Ledger ledger;
  ledger.elapsed_seconds = seconds;
  ledger.samples = static_cast<int64_t>(std::min(seconds, 100.0) * before + std::max(seconds - 100, 0.0) * after);
  ledger.consumer_wait_seconds = ledger.waits.storage = std::max(seconds - 100, 0.0);
  ledger.thread_time = {.rows = seconds, .idle = seconds};
  ledger.threads = 2;
  return ledger;
}

TEST(LiveView, ShowsTheLastSecondsBesideTheWholeRun) {
  LiveView view("loader 0");
  for (int second = 1; second < 200; ++second) view.page(second, ledger_at(second, 100, 10));
  const Page page = view.page(200, ledger_at(200, 100, 10));
  EXPECT_EQ(fact_of(page, "speed").value, "10 samples/s");
  EXPECT_TRUE(shows(fact_of(page, "speed").note, "beginning 55, 11000 samples")) << fact_of(page, "speed").note;
  EXPECT_EQ(fact_of(page, "waited for batches").value, "100.0 %");
  EXPECT_EQ(fact_of(page, "waited for batches").note, "since the beginning 50.0 %");
  EXPECT_EQ(fact_of(page, "compute threads").note, "at work 50.0 %");
  EXPECT_EQ(page.title, "Forebay, live: the last 10 s");
  EXPECT_TRUE(shows(page.finding, "storage")) << page.finding;
}

TEST(LiveView, TheFirstLookShowsTheWholeRun) {
  const Page page = LiveView("loader 0").page(50, ledger_at(50, 100, 10));
  EXPECT_EQ(fact_of(page, "speed").value, "100 samples/s");
  EXPECT_EQ(page.subject, "loader 0");
}

TEST(LiveView, ALoaderThatHasNotBegunHasAPage) {
  LiveView view("loader 0");
  for (int second = 1; second < 5; ++second)
    EXPECT_TRUE(shows(view.page(second, {}).finding, "No batch was asked for")) << second;
}

TEST(LiveView, CurvesAreOfTheLastMinutesHoweverLongItRuns) {
  LiveView view("");
  Page page;
  for (int second = 1; second < 2000; ++second) page = view.page(second, ledger_at(second, 100, 10));
  for (const Section& section : page.sections) {
    if (section.title != "Over time") continue;
    const auto& curves = std::get<Curves>(section.blocks.front());
    EXPECT_EQ(curves.seconds.size(), RunHistory::kMost - 1);
    EXPECT_EQ(curves.seconds.back(), 1999);
    return;
  }
  FAIL() << "no curves";
}

TEST(LiveView, ManyLooksASecondDoNotShortenItsTime) {
  LiveView view("");
  for (int look = 0; look < 1000; ++look) view.page(90 + look / 100.0, ledger_at(90 + look / 100.0, 100, 10));
  EXPECT_EQ(view.page(101, ledger_at(101, 100, 10)).title, "Forebay, live: the last 10 s");
}

}  // namespace
}  // namespace forebay
