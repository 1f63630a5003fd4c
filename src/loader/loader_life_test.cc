// Tests states of other pipelines, contradicting options, and calls from several threads.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "forebay/ledger.h"
#include "loader/loader_test_support.h"
#include "store/scratch_folder.h"

namespace forebay {
namespace {

using namespace loader_test;
using ParsedState = nlohmann::json;

Pipeline numbers(int64_t rows = 40) { return arrays({{"x", counting(rows)}}).shuffle(); }

std::string state_after(const Pipeline& pipeline, int steps, LoaderOptions options = {}) {
  const auto loader = opened(pipeline, std::move(options));
  for (int step = 0; step < steps; ++step) EXPECT_TRUE(loader->next().ok());
  return loader->state();
}

// States

TEST(LoaderStates, ResumeAtEveryStepWithExactlyTheRemainingSamples) {
  const Pipeline pipeline = numbers(38).batch(4);
  const auto whole = opened(pipeline, {.epochs = 2});
  std::vector<int64_t> all = ids_of(epoch_of(*whole));
  const std::vector<int64_t> second = ids_of(epoch_of(*whole));
  all.insert(all.end(), second.begin(), second.end());
  size_t done = 0;
  const auto running = opened(pipeline, {.epochs = 2});
  for (int epoch = 0; epoch < 2; ++epoch) {
    while (true) {
      const std::string state = running->state();
      const auto rest = opened(pipeline, {.epochs = 2});
      ASSERT_TRUE(rest->load_state(state).ok());
      std::vector<int64_t> ids;
      while (!rest->finished()) {
        const auto part = ids_of(epoch_of(*rest));
        ids.insert(ids.end(), part.begin(), part.end());
      }
      EXPECT_EQ(ids, std::vector<int64_t>(all.begin() + static_cast<ptrdiff_t>(done), all.end())) << done;
      const auto batch = running->next();
      ASSERT_TRUE(batch.ok());
      if (!*batch) break;
      done += (*batch)->ids.size();
    }
  }
}

TEST(LoaderStates, AreTheSameOnEveryRank) {
  std::vector<std::string> states;
  for (int rank = 0; rank < 3; ++rank)
    states.push_back(state_after(numbers().batch(4), 2, {.job = {.rank = rank, .world_size = 3}}));
  EXPECT_EQ(states[0], states[1]);
  EXPECT_EQ(states[0], states[2]);
}

TEST(LoaderStates, DoNotDependOnHowThePipelineRuns) {
  const std::string state = state_after(numbers().batch(4), 3);
  for (const LoaderOptions& options :
       {LoaderOptions{.resources = {.threads = 3}}, LoaderOptions{.resources = {.requests = 2}},
        LoaderOptions{.resources = {.memory = 1 << 20}}, LoaderOptions{.errors = {.on_error = OnError::kSkip}},
        LoaderOptions{.epochs = 7}})
    EXPECT_TRUE(opened(numbers().batch(4), options)->load_state(state).ok());
  EXPECT_TRUE(opened(numbers().batch(9, {.last = "drop"}))->load_state(state).ok()) << "nor how batches are cut";
}

TEST(LoaderStates, OfAnotherPipelineAreRefusedAndTheMessageSaysSo) {
  const std::string state = state_after(numbers().batch(4), 2);
  const Pipeline others[] = {
      arrays({{"x", counting(40)}}).batch(4),               // in another order
      numbers().select({"x"}).batch(4),                     //
      numbers().cast("int32", {.field = {"x"}}).batch(4),   //
      numbers().clip({.min = 0, .field = {"x"}}).batch(4),  //
      numbers().rename({{"x", "y"}}).batch(4),              //
  };
  for (const Pipeline& other : others) {
    const Status refused = opened(other)->load_state(state);
    EXPECT_EQ(refused.code(), Code::kStateMismatch) << other.to_string();
    EXPECT_NE(refused.message().find("the pipeline"), std::string::npos) << refused.message();
    EXPECT_TRUE(opened(other)->load_state(state, /*strict=*/false).ok()) << other.to_string();
  }
}

TEST(LoaderStates, OfAnotherFilterAreOfAnotherDataSet) {
  const auto every = [](int64_t n) {
    return numbers()
        .filter([n](const Sample& sample) -> Result<bool> { return *sample.at("x").data<int64_t>() % n == 0; })
        .batch(4);
  };
  const auto half = opened(every(2));
  ASSERT_TRUE(half->next().ok());
  EXPECT_EQ(opened(every(4))->load_state(half->state()).code(), Code::kStateMismatch);
  const auto again = opened(every(2));
  EXPECT_TRUE(again->load_state(half->state()).ok());
}

TEST(LoaderStates, TheLastStateOfTheLastEpochIsTheEnd) {
  const auto loader = opened(numbers().batch(4), {.epochs = 1});
  epoch_of(*loader);
  const auto again = opened(numbers().batch(4), {.epochs = 1});
  ASSERT_TRUE(again->load_state(loader->state()).ok());
  EXPECT_TRUE(again->finished());
  EXPECT_FALSE(*again->next());
  const auto longer = opened(numbers().batch(4), {.epochs = 2});
  ASSERT_TRUE(longer->load_state(loader->state()).ok());
  EXPECT_FALSE(longer->finished());
  EXPECT_EQ((*longer->next())->epoch, 1);
}

TEST(LoaderStates, ResumeBetweenBatchesOfAnotherSize) {
  const auto wide = opened(numbers().batch(8));
  const std::vector<int64_t> first = (*wide->next())->ids;
  const auto narrow = opened(numbers().batch(3));
  ASSERT_TRUE(narrow->load_state(wide->state()).ok());
  const auto next_wide = (*wide->next())->ids;
  const auto next_narrow = (*narrow->next())->ids;
  EXPECT_EQ(next_narrow, std::vector<int64_t>(next_wide.begin(), next_wide.begin() + 3));
}

TEST(LoaderStates, ALateEpochCostsNoMoreThanTheFirst) {
  ParsedState state = ParsedState::parse(state_after(numbers().batch(4), 1));
  state["epoch"] = int64_t{1} << 53;
  const auto loader = opened(numbers().batch(4));
  ASSERT_TRUE(loader->load_state(state.dump()).ok());
  const auto batch = loader->next();
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ((*batch)->epoch, int64_t{1} << 53);
}

TEST(LoaderStates, AStateIsSmallWhateverTheDataSet) {
  EXPECT_LT(state_after(numbers(100'000).batch(64), 5).size(), 1024u);
}

// Options

TEST(LoaderOptions, ZeroEpochsGiveNoBatches) {
  const auto loader = opened(numbers().batch(4), {.epochs = 0});
  EXPECT_TRUE(loader->finished());
  EXPECT_FALSE(*loader->next());
}

TEST(LoaderOptions, ARankOutsideOfItsWorldIsRefusedBeforeAnythingIsOpened) {
  for (const auto& [rank, world] : std::vector<std::pair<int, int>>{{2, 2}, {-1, 2}, {0, 0}, {1, 1}}) {
    const Status status =
        Loader::open(images("/no/such/folder").batch(4), {.job = {.rank = rank, .world_size = world}}).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << rank << " of " << world;
  }
}

TEST(LoaderOptions, ABatchOfAllRanksThatIsTooLargeToNumberIsRefused) {
  EXPECT_EQ(
      Loader::open(numbers().batch(int64_t{1} << 21), {.job = {.rank = 0, .world_size = 1 << 11}}).status().code(),
      Code::kInvalidArgument);
}

TEST(LoaderOptions, MaxErrorsCountsDifferentSamplesOfAnEpoch) {
  const Pipeline pipeline = arrays({{"x", counting(20)}})
                                .map([](Sample& sample) -> Status {
                                  return *sample.at("x").data<int64_t>() < 3 ? corrupt("one of three") : Status();
                                })
                                .batch(5);
  for (const OnError policy : {OnError::kSkip, OnError::kReplace}) {
    const auto enough = opened(pipeline, {.epochs = 3, .errors = {.on_error = policy, .max_errors = 3}});
    for (int epoch = 0; epoch < 3; ++epoch) EXPECT_EQ(epoch_of(*enough).size(), 4u);
    EXPECT_EQ(opened(pipeline, {.errors = {.on_error = policy, .max_errors = 2}})->next().status().code(),
              Code::kCorrupt);
    EXPECT_EQ(opened(pipeline, {.errors = {.on_error = policy, .max_errors = 0.14}})->next().status().code(),
              Code::kCorrupt)
        << "0.14 of 20 are 2";
    EXPECT_TRUE(opened(pipeline, {.errors = {.on_error = policy, .max_errors = 0.15}})->next().ok());
  }
}

TEST(LoaderOptions, AStopBeforeTheListingIsReadIsCancelled) {
  std::stop_source stop;
  stop.request_stop();
  const auto folder = std::filesystem::temp_directory_path();
  LoaderOptions options;
  options.stop = stop.get_token();
  EXPECT_EQ(Loader::open(files(folder.string() + "/**/*.nothing").batch(4), options).status().code(), Code::kCancelled);
}

// Threads

TEST(LoaderThreads, CloseWakesAWaitingConsumer) {
  std::atomic<bool> inside = false, release = false;
  const auto loader = opened(arrays({{"x", counting(8)}})
                                 .map([&](Sample&) -> Status {
                                   inside = true;
                                   while (!release) std::this_thread::yield();
                                   return {};
                                 })
                                 .batch(4),
                             {.resources = {.threads = 1}});
  std::thread closer([&] {
    while (!inside) std::this_thread::yield();
    std::thread let_go([&] { release = true; });
    loader->close();
    let_go.join();
  });
  const Status status = loader->next().status();
  closer.join();
  EXPECT_TRUE(status.code() == Code::kCancelled || status.ok()) << status.to_string();
  EXPECT_EQ(loader->next().status().code(), Code::kInvalidArgument);
}

TEST(LoaderThreads, StatsStateAndErrorsMayBeAskedWhileBatchesAreMade) {
  const Pipeline pipeline = arrays({{"x", counting(2000)}})
                                .shuffle()
                                .map([](Sample& sample) -> Status {
                                  return *sample.at("x").data<int64_t>() % 10 == 0 ? corrupt("every tenth") : Status();
                                })
                                .batch(16);
  const auto loader =
      opened(pipeline, {.epochs = 1, .resources = {.threads = 2}, .errors = {.on_error = OnError::kSkip}});
  std::atomic<bool> over = false;
  std::vector<std::thread> askers;
  for (int i = 0; i < 3; ++i) {
    askers.emplace_back([&] {
      int64_t samples = 0;
      size_t errors = 0;
      while (!over) {
        const Ledger stats = loader->stats();
        EXPECT_GE(stats.samples, samples) << "counts never fall";
        EXPECT_LE(stats.memory_used, stats.memory_budget);
        const size_t known = loader->errors().size();
        EXPECT_GE(known, errors);
        samples = stats.samples, errors = known;
      }
    });
  }
  const auto ids = ids_of(epoch_of(*loader));
  over = true;
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(ids.size(), 1800u);
  EXPECT_EQ(loader->errors().size(), 200u);
  EXPECT_EQ(loader->stats().errors, 200);
}

TEST(LoaderThreads, CloseFromManyThreadsIsOneClose) {
  const auto loader = opened(numbers(1000).batch(4));
  ASSERT_TRUE(loader->next().ok());
  std::vector<std::thread> closers;
  for (int i = 0; i < 4; ++i) closers.emplace_back([&] { loader->close(); });
  for (std::thread& closer : closers) closer.join();
  EXPECT_TRUE(loader->closed());
}

// All of them wait for the reading thread.
TEST(LoaderThreads, AStreamIsClosedOnceByManyThreads) {
  const ScratchFolder folder;
  folder.write("log.txt", "a\nb\n");
  const auto loader = opened(text(folder.path("log.txt"), {.follow = true}).batch(2));
  ASSERT_TRUE(loader->next().ok());
  std::vector<std::thread> closers;
  for (int i = 0; i < 4; ++i) closers.emplace_back([&] { loader->close(); });
  for (std::thread& closer : closers) closer.join();
  EXPECT_TRUE(loader->closed());
}

TEST(LoaderThreads, ATimeOutLosesNothing) {
  std::atomic<bool> release = false;
  const auto loader = opened(arrays({{"x", counting(8)}})
                                 .map([&](Sample&) -> Status {
                                   while (!release) std::this_thread::yield();
                                   return {};
                                 })
                                 .batch(4),
                             {.resources = {.threads = 1}});
  bool timed_out = false;
  const auto none = loader->next_for(std::chrono::milliseconds(1), &timed_out);
  EXPECT_TRUE(none.ok() && !*none && timed_out);
  EXPECT_EQ(ParsedState::parse(loader->state())["position"], 0) << "nothing was delivered";
  release = true;
  EXPECT_EQ((*loader->next())->ids, (std::vector<int64_t>{0, 1, 2, 3}));
}

// Digest of an epoch, compared with one that the test computes

Batch batch_of(const std::vector<int64_t>& ids, int64_t first) {
  Batch batch;
  batch.ids = ids;
  BatchField b, a;
  b.name = "b", a.name = "a";
  b.values = Tensor::allocate(DType::kInt32, {static_cast<int64_t>(ids.size())});
  a.values = Tensor::allocate(DType::kUint8, {static_cast<int64_t>(ids.size()), 2});
  for (size_t i = 0; i < ids.size(); ++i) {
    batch.positions.push_back(first + static_cast<int64_t>(i));
    b.values.data<int32_t>()[i] = static_cast<int32_t>(ids[i] * 7);
    a.values.data<uint8_t>()[2 * i] = a.values.data<uint8_t>()[2 * i + 1] = static_cast<uint8_t>(ids[i]);
  }
  batch.fields = {b, a};
  return batch;
}

std::string reckoned(const std::vector<int64_t>& ids) {
  std::string bytes;
  for (const int64_t id : ids) {
    bytes.append(reinterpret_cast<const char*>(&id), sizeof id);
    bytes.append(2, static_cast<char>(id));  // field a stands before b
    const auto b = static_cast<int32_t>(id * 7);
    bytes.append(reinterpret_cast<const char*>(&b), sizeof b);
  }
  return hash128(bytes).to_string();
}

TEST(EpochDigest, DoesNotDependOnBatchSizeOrRanks) {
  const std::string expected = reckoned({5, 3, 9, 1, 4});
  EpochDigest one, cut, shared;
  one.add(batch_of({5, 3, 9, 1, 4}, 0));
  cut.add(batch_of({5}, 0));
  cut.add(batch_of({3, 9, 1}, 1));
  cut.add(batch_of({4}, 4));
  const Batch first = batch_of({5, 3, 9}, 0), second = batch_of({1, 4}, 3);
  const Batch* const backwards[] = {&second, &first};
  shared.add(backwards);
  EXPECT_EQ(one.to_string(), expected);
  EXPECT_EQ(cut.to_string(), expected);
  EXPECT_EQ(shared.to_string(), expected);
  EXPECT_EQ(shared.samples(), 5);
}

TEST(EpochDigest, SkipsPaddingAndCoversOrderAndEveryByte) {
  Batch padded = batch_of({5, 3, 5}, 0);
  padded.padding = 1;
  EpochDigest with_padding;
  with_padding.add(padded);
  EXPECT_EQ(with_padding.to_string(), reckoned({5, 3}));
  EXPECT_EQ(with_padding.samples(), 2);
  Batch changed = batch_of({5, 3}, 0);
  changed.fields[1].values.data<uint8_t>()[3] ^= 1;
  EpochDigest other, turned;
  other.add(changed);
  turned.add(batch_of({3, 5}, 0));
  EXPECT_NE(other.to_string(), reckoned({5, 3}));
  EXPECT_NE(turned.to_string(), reckoned({5, 3}));
}

TEST(EpochDigest, OfNoBatchIsTheHashOfNoBytes) { EXPECT_EQ(EpochDigest().to_string(), reckoned({})); }

}  // namespace
}  // namespace forebay
