#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "forebay/diagnosis.h"
#include "forebay/ledger.h"
#include "forebay/profile.h"
#include "forebay/simulation.h"
#include "study/observation.h"
#include "study/study_test_support.h"
#include "study/trial.h"

namespace forebay {
namespace {

TEST(Studies, OfPipelinesWithoutAStepSayWhatIsMissing) {
  for (const Pipeline& none : {Pipeline(), mix({{"a", Pipeline()}, {"b", Pipeline()}}).batch(2)}) {
    for (const Status& status : {diagnose(none, {}).status(), profile(none, {}).status(), simulate(none, {}).status()})
      EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.to_string();
  }
}

TEST(Diagnose, ASlowTrainerIsTheLimitAndIsLeftInPeace) {
  DiagnoseOptions options;
  options.step = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  const Result<Diagnosis> found = diagnose(numbers(4096).shuffle().batch(4), options);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->first.limit, Limit::kTrainer);
  EXPECT_TRUE(found->remedies.empty());
  EXPECT_NE(to_text(*found).find("your trainer"), std::string::npos);
}

TEST(Diagnose, SlowWorkIsTheLimitAndChangesThatWereNotTriedAreTold) {
  DiagnoseOptions options;
  options.budget_seconds = 0;
  const Result<Diagnosis> found = diagnose(numbers(4096).map(slow).batch(4), options);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  // If other programs take the cores, it reports that.
  EXPECT_TRUE(found->first.limit == Limit::kCompute || found->first.limit == Limit::kCores) << found->first.sentence;
  EXPECT_TRUE(found->remedies.empty());
  EXPECT_NE(to_text(*found).find("not tried, the time was over"), std::string::npos);
}

TEST(Diagnose, TheJsonHasWhatTheTextSays) {
  Diagnosis diagnosis;
  diagnosis.rate = 100, diagnosis.rate_low = 90, diagnosis.rate_high = 110;
  diagnosis.first = {Limit::kCompute, 0.8, "compute: figures"};
  Remedy remedy;
  remedy.change = "put .cache() behind resize";
  remedy.gain = {2.5, 2.25, 3};
  remedy.bytes = 1 << 20;
  remedy.pipeline = numbers(8).batch(2);  // not expressible in JSON
  remedy.options.resources.threads = 3;
  diagnosis.remedies = {remedy};
  diagnosis.others = {"more threads: \xff"};
  const auto json = nlohmann::json::parse(to_json(diagnosis));
  EXPECT_EQ(json["limiter"]["limit"], "compute");
  EXPECT_TRUE(json["next_limiter"].is_null());
  EXPECT_EQ(json["remedies"][0]["gain"], 2.5);
  EXPECT_EQ(json["remedies"][0]["options"]["threads"], 3);
  EXPECT_EQ(json["remedies"][0]["options"]["memory"], "auto");
  EXPECT_TRUE(json["remedies"][0]["pipeline"].is_null());
  EXPECT_TRUE(json["verified"].is_null());
  diagnosis.verified = {2.0, 1.5, 2.25};
  EXPECT_EQ(nlohmann::json::parse(to_json(diagnosis))["verified"]["gain_low"], 1.5);
  const std::string text = to_text(diagnosis);
  EXPECT_NE(text.find("2.00 times as fast (1.50 to 2.25); 2.50 was said, +25 %"), std::string::npos) << text;
  for (const char* part : {"100 samples", "90 to 110", "compute: figures", "2.50 times", "2.25 to 3.00", "1.0 MiB"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

TEST(Diagnose, TheFirstRemedyIsMeasuredAgainOnALoaderOfItsOwn) {
  DiagnoseOptions options;
  options.loader.resources.memory = uint64_t{1} << 26;
  options.loader.resources.threads = 1;
  options.verify = true;
  options.budget_seconds = 4;  // the first change is enough
  options.cache_bytes = 1 << 20;
  const std::string folder = testing::TempDir() + "forebay_verify_" + std::to_string(monotonic_ns());
  setenv("FOREBAY_CACHE_DIR", folder.c_str(), 1);
  const Result<Diagnosis> found = diagnose(numbers(512).map(slow).batch(4), options);
  unsetenv("FOREBAY_CACHE_DIR");
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  std::filesystem::remove_all(folder);
  if (found->remedies.empty()) return;  // on one core nothing helps
  ASSERT_TRUE(found->verified.has_value()) << to_text(*found);
  EXPECT_LE(found->verified->low, found->verified->middle);
  EXPECT_LE(found->verified->middle, found->verified->high);
  EXPECT_GT(found->verified->low, 0.0);
}

TEST(Diagnose, AnEmptyDataSetIsAnError) {
  const Result<Diagnosis> found = diagnose(numbers(3).batch(4, {.last = "drop"}), {});
  EXPECT_EQ(found.status().code(), Code::kInvalidArgument);
}

TEST(Diagnose, AStopEndsIt) {
  std::stop_source stop;
  DiagnoseOptions options;
  options.stop = stop.get_token();
  options.step = [&] { stop.request_stop(); };
  EXPECT_EQ(diagnose(numbers(4096).batch(4), options).status().code(), Code::kCancelled);
}

TEST(Diagnose, ExceptionsOfPollPassThrough) {
  DiagnoseOptions options;
  options.poll = [] { throw std::runtime_error("interrupted"); };
  EXPECT_THROW((void)diagnose(numbers(4096).batch(4), options), std::runtime_error);
}

TEST(Trial, HandsEachBatchOver) {
  auto loader = Loader::open(numbers(4096).batch(8));
  ASSERT_TRUE(loader.ok());
  TrialContext context;
  int64_t batches = 0;
  context.hand_over = [&](const Batch& batch) {
    batches += batch.size() == 8;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::chrono::milliseconds(1);
  };
  const Result<Observation> seen = observe(**loader, context, {.windows = 1, .window_seconds = 0.05});
  ASSERT_TRUE(seen.ok()) << seen.status().to_string();
  EXPECT_GT(batches, 2);
  const double told = seen->after.waits.interpreter - seen->before.waits.interpreter;
  EXPECT_NEAR(told, 0.001 * seen->samples / 8, 1e-6) << "what each batch waited for a lock of its own is told as that";
  EXPECT_LT(seen->rates.front(), 8000) << "and takes its time";
}

TEST(Trial, CountsWhatTheConsumerCouldTake) {
  auto loader = Loader::open(numbers(4096).batch(8));
  ASSERT_TRUE(loader.ok());
  TrialContext context;
  context.step = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  const Result<Observation> seen = observe(**loader, context, {.windows = 3, .window_seconds = 0.02});
  ASSERT_TRUE(seen.ok());
  ASSERT_EQ(seen->rates.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_LE(seen->step_rates[i], 8 / 0.002);
    EXPECT_GE(seen->step_rates[i], seen->rates[i]);
  }
  EXPECT_GE(seen->after.batches - seen->before.batches, 6);
}

TEST(Trial, ALoaderAtRestHasMadeAsMuchAsItMay) {
  auto loader = Loader::open(numbers(4096).map(slow).batch(8));
  ASSERT_TRUE(loader.ok());
  ASSERT_TRUE((*loader)->next().ok());
  ASSERT_TRUE(wait_until_idle(**loader, {}).ok());
  const double waited = (*loader)->stats().consumer_wait_seconds;
  ASSERT_TRUE((*loader)->next().ok());
  EXPECT_EQ((*loader)->stats().consumer_wait_seconds, waited);
}

}  // namespace
}  // namespace forebay
