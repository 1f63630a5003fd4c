#include "stream/ranks/assigned_reading.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "stream/ranks/assigned_log.h"
#include "stream/ranks/ranks_test_support.h"
#include "stream/stream_itinerary.h"
#include "stream/stream_source.h"
#include "stream/stream_test_support.h"
#include "telemetry/log.h"

namespace forebay {
namespace {

constexpr int kWorld = 3;
constexpr int64_t kBatch = 4, kGlobal = kWorld * kBatch;
constexpr int64_t kRecords = 240;  // of each of four partitions

// A rank of a job: what StreamRun makes.
struct ReadingRank {
  ReadingRank(std::shared_ptr<const RecordLog> log, std::shared_ptr<StreamGroup> ranks, RecordShelf::Limits limits,
              const StreamOptions& options)
      : decisions(std::move(ranks)), reading(std::make_shared<AssignedReading>(log, decisions, limits)),
        stream(std::make_shared<AwaitedStream>(reading->log(), options)),
        itinerary(stream, {.batch_size = kBatch, .world_size = kWorld, .rank = decisions->rank()}),
        source(StreamSource(log).over(stream, nullptr)) {
    reading->attach(stream);
    reading->on_arrival([this] { stream->arrive(); });
    itinerary.set_records(reading);
    decisions->lead_or_follow(*stream);
  }
  void go(StreamPlace place) {
    stream->stop();
    decisions->begin_run();
    reading->begin_run();
    itinerary.set_anchor({}, place.number);
    stream->seek(std::move(place));
  }
  void close() {
    reading->close();
    decisions->begin_run();  // so that rank 0 waits for nobody to ask for its last decisions
    decisions->close();
    stream->stop();
  }

  const std::shared_ptr<StreamGroup> decisions;
  const std::shared_ptr<AssignedReading> reading;
  const std::shared_ptr<AwaitedStream> stream;
  StreamItinerary itinerary;
  const std::shared_ptr<const StreamSource> source;
};

class AssignedReadingTest : public testing::Test {
 protected:
  void open(StreamOptions options = decisions_of(kGlobal), RecordShelf::Limits limits = {1 << 20, 1 << 20}) {
    for (int rank = 0; rank < kWorld; ++rank)
      ranks_.push_back(std::make_unique<ReadingRank>(log_, rank_of(*network_, rank, kWorld), limits, options));
    for (const auto& rank : ranks_) rank->go(rank->stream->beginning());
  }
  void TearDown() override {
    for (auto rank = ranks_.rbegin(); rank != ranks_.rend(); ++rank) (*rank)->close();
  }

  // The keys of a step of one rank, as its trainer gets them; empty where it does not come.
  std::vector<std::string> step(int rank, int64_t number) {
    ReadingRank& of = *ranks_[static_cast<size_t>(rank)];
    const Cursor at{0, number * kGlobal, number};
    const auto known = [&] { return of.itinerary.request_step(at); };
    if (!of.stream->wait_for(known)) return {};
    std::vector<std::string> keys;
    const std::optional<StepPlan> plan = of.itinerary.step(at);
    if (!plan) return {};  // the stream has failed
    for (const Row& row : plan->rows) {
      Record record;
      const Status loaded = of.source->as_samples()->load(row.id, {}, record);
      EXPECT_TRUE(loaded.ok()) << loaded.to_string();
      if (loaded.ok()) keys.emplace_back(reinterpret_cast<const char*>(record[0].bytes.data()), record[0].bytes.size());
    }
    of.stream->delivered((number + 1) * kGlobal);
    return keys;
  }
  // All steps in [from, to), in the order of the stream; ranks take them one after another.
  std::vector<std::string> steps(int64_t from, int64_t to) {
    std::vector<std::string> keys;
    for (int64_t number = from; number < to; ++number)
      for (int rank = 0; rank < kWorld; ++rank) {
        const std::vector<std::string> more = step(rank, number);
        EXPECT_EQ(static_cast<int64_t>(more.size()), kBatch) << "rank " << rank << ", step " << number;
        keys.insert(keys.end(), more.begin(), more.end());
      }
    return keys;
  }
  std::vector<std::string> sorted(std::vector<std::string> keys) const {
    std::sort(keys.begin(), keys.end());
    return keys;
  }
  std::vector<std::string> all_keys() const {
    std::vector<std::string> keys;
    for (const char* const name : {"a", "b", "c", "d"})
      for (int64_t i = 1; i <= kRecords; ++i) keys.push_back(name + ("/" + std::to_string(i)));
    return sorted(std::move(keys));
  }
  int64_t sum_of_reads() const {
    int64_t sum = 0;
    for (size_t p = 0; p < 4; ++p) sum += log_->reads(p);
    return sum;
  }
  int64_t reread() const {
    int64_t sum = 0;
    for (const auto& rank : ranks_) sum += rank->reading->stats().reread;
    return sum;
  }

  const std::shared_ptr<MemoryLog> log_ = log_with({kRecords, kRecords, kRecords, kRecords}, 1000);
  const std::shared_ptr<SimulatedNetwork> network_ = SimulatedNetwork::make({});
  std::vector<std::unique_ptr<ReadingRank>> ranks_;
};

constexpr int64_t kSteps = 4 * kRecords / kGlobal;

TEST_F(AssignedReadingTest, each_record_is_read_once_by_all_ranks_together) {
  open();
  EXPECT_EQ(sorted(steps(0, kSteps)), all_keys());
  for (size_t p = 0; p < 4; ++p) EXPECT_EQ(log_->reads(p), kRecords) << "partition " << p;
  EXPECT_EQ(reread(), 0);
  int64_t received = 0;
  for (const auto& rank : ranks_) received += rank->reading->stats().received;
  EXPECT_GT(received, kRecords) << "of three records two belong to another rank than the one that reads them";
}

TEST_F(AssignedReadingTest, steps_lie_across_windows) {
  StreamOptions options = decisions_of(100);
  options.shuffled = true;
  open(options);
  (void)steps(0, 900 / kGlobal);  // of 960 records, nine whole windows
}

TEST_F(AssignedReadingTest, what_comes_while_it_is_awaited_is_told_on) {
  open();
  (void)steps(0, kSteps);
  for (size_t p = 0; p < 4; ++p) log_->append(p, 6);
  const std::vector<std::string> found = sorted(steps(kSteps, kSteps + 2));
  ASSERT_EQ(found.size(), 24U);
  EXPECT_EQ(found.front(), "a/" + std::to_string(kRecords + 1));
}

TEST_F(AssignedReadingTest, a_rank_that_is_gone_costs_no_record) {
  open();
  std::vector<std::string> found = steps(0, 20);
  // Its own steps go on: it is the network that is gone.
  network_->set_health(rank_addresses(kWorld)[2], HostHealth::kDead);
  for (size_t p = 0; p < 4; ++p) log_->append(p, kGlobal);
  for (int64_t number = 20; number < kSteps + 4; ++number)
    for (int rank = 0; rank < kWorld; ++rank) {
      const std::vector<std::string> more = step(rank, number);
      ASSERT_EQ(static_cast<int64_t>(more.size()), kBatch) << "rank " << rank << ", step " << number;
      found.insert(found.end(), more.begin(), more.end());
    }
  std::sort(found.begin(), found.end());
  EXPECT_EQ(std::adjacent_find(found.begin(), found.end()), found.end());
  EXPECT_EQ(found.size(), static_cast<size_t>((kSteps + 4) * kGlobal));
}

TEST_F(AssignedReadingTest, answers_that_are_damaged_or_lost_are_asked_for_again) {
  network_->set_link({.seed = 4, .flips = 0.1});
  open();
  EXPECT_EQ(sorted(steps(0, kSteps)), all_keys());
}

TEST_F(AssignedReadingTest, who_comes_too_late_reads_the_log) {
  open(decisions_of(kGlobal), {0, 1 << 20});  // nothing is kept for those who are behind
  // Rank 1 reads 'b' and goes ahead as far as it can; the others have not asked for what it read.
  for (int64_t number = 0; number < 10; ++number) {
    for (const int rank : {0, 1}) ASSERT_EQ(step(rank, number).size(), static_cast<size_t>(kBatch));
  }
  for (int64_t number = 0; number < 10; ++number) ASSERT_EQ(step(2, number).size(), static_cast<size_t>(kBatch));
  EXPECT_GT(ranks_[2]->reading->stats().reread, 0);
}

TEST_F(AssignedReadingTest, who_was_not_waited_for_reads_the_log_from_where_it_was) {
  open(decisions_of(kGlobal), {1 << 20, 100});  // one or two notes of a partition
  std::vector<std::string> found = steps(0, kSteps);
  EXPECT_EQ(sorted(found), all_keys());
  EXPECT_GT(sum_of_reads(), 4 * kRecords) << "some partitions are read by more than one rank";
}

TEST(AssignedLogTest, a_rank_that_is_given_up_is_named_once) {
  const auto log = log_with({3, 3, 3}, 1000);
  const AssignedLog dealt(log, 0, kWorld,
                          std::make_shared<RecordShelf>(3, 0, kWorld, RecordShelf::Limits{1 << 20, 1 << 20}),
                          [](int, const std::vector<RankItem>&, const std::stop_token&) {
                            return Result<std::vector<ResponseItem>>(not_found("gone on"));
                          });
  std::vector<std::string> lines;
  set_log_sink([&](const std::string& line) { lines.push_back(line); });
  // A reader each time that the loader goes somewhere.
  for (size_t partition : {1, 2, 1, 1}) {
    const auto reader = *dealt.read_after({{partition, ""}});
    Result<std::vector<LogRecord>> records = std::vector<LogRecord>();
    while (records.ok() && records->empty()) records = reader->read({partition}, {}, {});
    EXPECT_TRUE(records.ok()) << records.status().to_string();
  }
  set_log_sink({});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("rank 1 does not say what it reads (gone on)"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("rank 2"), std::string::npos) << lines[1];
}

TEST_F(AssignedReadingTest, what_has_been_trimmed_is_an_error_on_every_rank) {
  log_->trim(1, 10);
  open();
  // Others have all that they need of the first steps.
  for (int64_t number = 0; number < kSteps; ++number)
    for (int rank = 0; rank < kWorld; ++rank)
      if (ranks_[static_cast<size_t>(rank)]->stream->failure().ok()) (void)step(rank, number);
  for (const auto& rank : ranks_) {
    EXPECT_EQ(rank->stream->failure().code(), Code::kNotFound);
    EXPECT_NE(rank->stream->failure().message().find("'b' has forgotten 10"), std::string::npos)
        << rank->stream->failure().message();
  }
}

TEST_F(AssignedReadingTest, a_run_of_what_comes_from_now_on_begins_alike_on_all_ranks) {
  StreamOptions options = decisions_of(kGlobal);
  options.from_now = true;
  open(options);
  std::array<std::vector<std::string>, kWorld> found;
  std::vector<std::jthread> trainers;
  for (int rank = 0; rank < kWorld; ++rank)
    trainers.emplace_back([&, rank] { found[static_cast<size_t>(rank)] = step(rank, 0); });
  ASSERT_TRUE(log_->wait_idle(4)) << "a reader for each partition, on all ranks together";
  for (size_t p = 0; p < 4; ++p) log_->append(p, 3);
  trainers.clear();
  std::vector<std::string> all;
  for (const auto& keys : found) all.insert(all.end(), keys.begin(), keys.end());
  ASSERT_EQ(all.size(), static_cast<size_t>(kGlobal));
  for (const std::string& key : all) EXPECT_GT(std::stoll(key.substr(2)), kRecords) << key;
  EXPECT_EQ(sum_of_reads(), kGlobal);
}

TEST_F(AssignedReadingTest, a_run_that_goes_elsewhere_is_told_nothing_of_the_one_before) {
  open();
  const std::vector<std::string> before = steps(0, 6);
  std::vector<StreamPlace> places;
  for (const auto& rank : ranks_) places.push_back(rank->stream->place(6 * kGlobal));
  (void)steps(6, 9);
  EXPECT_EQ(places[0], places[1]);
  for (int rank = 0; rank < kWorld; ++rank) ranks_[static_cast<size_t>(rank)]->go(places[0]);
  for (const auto& rank : ranks_) rank->itinerary.set_anchor({0, 6 * kGlobal, 6}, 6 * kGlobal);
  std::vector<std::string> all = steps(6, kSteps);
  all.insert(all.end(), before.begin(), before.end());
  EXPECT_EQ(sorted(all), all_keys());
}

}  // namespace
}  // namespace forebay
