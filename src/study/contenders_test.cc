#include "study/contenders.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "study/study_test_support.h"

namespace forebay {
namespace {

// A pipeline with that processing time per sample.
Contenders::Contender contender(const std::string& name, double rate, int microseconds, double bytes = 0) {
  const auto work = [microseconds](Sample&) {
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    return Status();
  };
  LoaderOptions options;
  options.resources.threads = 1;
  std::shared_ptr<Loader> loader = *Loader::open(numbers(4096).map(work).batch(8), options);
  return {name, rate, bytes, *WorkingFolder::make(), std::move(loader)};
}

TEST(Contenders, AreComparedDirectly) {
  Contenders contenders;
  // The earlier rates rank them the other way round.
  contenders.add(contender("slow", 2000, 200));
  contenders.add(contender("fast", 1800, 20));
  const auto rates = contenders.compare({});
  ASSERT_TRUE(rates.ok()) << rates.status().to_string();
  ASSERT_EQ(rates->size(), 2u);
  EXPECT_GT(rates->at("fast"), rates->at("slow"));
  EXPECT_NEAR(rates->at("fast") + rates->at("slow"), 3800, 1) << "the scale stays";
}

TEST(Contenders, SlowAndSingleContendersAreNotCompared) {
  Contenders contenders;
  contenders.add(contender("fast", 2000, 20));
  contenders.add(contender("far slower", 900, 20));
  const auto rates = contenders.compare({});
  ASSERT_TRUE(rates.ok());
  EXPECT_TRUE(rates->empty());
}

TEST(Contenders, AreLimitedInNumberAndBytes) {
  Contenders contenders;
  std::vector<std::string> folders;
  for (int i = 0; i < 6; ++i) {
    Contenders::Contender one = contender(std::to_string(i), 1000 + i, 20, i == 3 ? 5e9 : 0);
    folders.push_back(one.folder.path());
    contenders.add(std::move(one));
  }
  const auto rates = contenders.compare({});
  ASSERT_TRUE(rates.ok());
  std::string names;
  for (const auto& [name, rate] : *rates) names += name;
  EXPECT_EQ(names, "45") << "what is slower than one that is too large has to make room with it";
  EXPECT_FALSE(std::filesystem::exists(folders[0]));
  EXPECT_TRUE(std::filesystem::exists(folders[5]));
}

}  // namespace
}  // namespace forebay
