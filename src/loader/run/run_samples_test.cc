#include "loader/run/run_samples.h"

#include <set>

#include <gtest/gtest.h>

namespace forebay {
namespace {

// Notes what it is told. The label of a sample is its index.
class NotedBranch final : public ReplayBranch {
 public:
  Result<std::vector<int64_t>> labels(std::span<const int64_t> indices, std::span<const int64_t>) const override {
    return std::vector<int64_t>(indices.begin(), indices.end());
  }
  Status retain(std::span<const int64_t> entered, int64_t end) override {
    kept.insert(entered.begin(), entered.end());
    next = end;
    return {};
  }
  void release(std::span<const int64_t> left) override {
    for (const int64_t id : left) kept.erase(id);
  }
  Result<bool> all_available(std::span<const int64_t> ids) const override {
    FOREBAY_RETURN_IF_ERROR(failure);
    return ids.empty() || available;
  }
  std::optional<std::vector<PlacedRecord>> records(std::span<const int64_t> ids) const override {
    if (!is_log) return std::nullopt;
    std::vector<PlacedRecord> places;
    for (const int64_t id : ids) places.push_back({id, {0, std::to_string(id), ""}});
    return places;
  }
  Result<Restore> find(std::span<const int64_t> ids, std::span<const PlacedRecord> records) const override {
    FOREBAY_RETURN_IF_ERROR(failure);
    return Restore([this, ids = std::vector<int64_t>(ids.begin(), ids.end()),
                    records = std::vector<PlacedRecord>(records.begin(), records.end())] {
      found = ids;
      placed = records;
    });
  }

  bool is_log = false, available = true;
  Status failure;
  std::set<int64_t> kept;
  mutable std::vector<int64_t> found;
  mutable std::vector<PlacedRecord> placed;
  int64_t next = 0;
};

class GivenSamples final : public RunSamples {
 public:
  using RunSamples::RunSamples;
  using Sample = Drawn;
  std::vector<Drawn> step;

 private:
  std::vector<Drawn> drawn(const StepPlan&) const override { return step; }
};

class RunSamplesTest : public testing::Test {
 protected:
  void SetUp() override {
    samples_.step = {{2, 20, 5}, {0, 1, 0}, {2, 21, 6}, {1, 9, 4}, {0, 2, 7}};
    fresh_ = *samples_.new_samples({});
  }
  int64_t id_of(size_t drawn) const { return fresh_[drawn].id; }

  const std::shared_ptr<NotedBranch> a_ = std::make_shared<NotedBranch>(), b_ = std::make_shared<NotedBranch>(),
                                     c_ = std::make_shared<NotedBranch>();
  GivenSamples samples_{{a_, b_, c_}};
  std::vector<Rehearsal::Sample> fresh_;
};

TEST_F(RunSamplesTest, samples_of_all_branches_have_ids_of_their_own_and_the_labels_of_their_branch) {
  std::set<int64_t> ids;
  for (size_t i = 0; i < fresh_.size(); ++i) {
    EXPECT_TRUE(ids.insert(id_of(i)).second);
    EXPECT_EQ(fresh_[i].label, samples_.step[i].index);
    Row row;
    samples_.assign(id_of(i), row);
    EXPECT_EQ(row.branch, samples_.step[i].branch);
    EXPECT_EQ(row.id, samples_.step[i].id);
  }
}

TEST_F(RunSamplesTest, a_branch_is_told_of_its_own_samples) {
  ASSERT_TRUE(samples_.retain(fresh_, std::vector<int64_t>{id_of(0), id_of(4)}).ok());
  EXPECT_EQ(c_->kept, std::set<int64_t>{5});
  EXPECT_EQ(a_->kept, std::set<int64_t>{7});
  EXPECT_EQ(b_->next, 5) << "none of its samples is kept, and none below 5 will be";
  EXPECT_EQ(c_->next, 7);
  samples_.release(std::vector<int64_t>{id_of(0)});
  EXPECT_TRUE(c_->kept.empty());
  EXPECT_EQ(a_->kept, std::set<int64_t>{7});
}

TEST_F(RunSamplesTest, samples_are_available_once_those_of_all_branches_are) {
  const std::vector<int64_t> all = {id_of(0), id_of(1), id_of(3)};
  EXPECT_TRUE(*samples_.all_available(all));
  b_->available = false;
  EXPECT_FALSE(*samples_.all_available(all));
  EXPECT_TRUE(*samples_.all_available(std::vector<int64_t>{id_of(0), id_of(1)}));
  c_->failure = Status(Code::kNotFound, "trimmed");
  EXPECT_EQ(samples_.all_available(all).status().code(), Code::kNotFound);
}

TEST_F(RunSamplesTest, only_records_of_logs_have_places_and_each_branch_finds_its_own) {
  const std::vector<int64_t> all = {id_of(0), id_of(1), id_of(3)};
  EXPECT_FALSE(samples_.records(all)) << "ids are enough";
  c_->is_log = true;
  const auto records = samples_.records(all);
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 1u);
  EXPECT_EQ(records->front().number, id_of(0));
  const Result<Restore> restore = samples_.find(all, *records);
  ASSERT_TRUE(restore.ok());
  EXPECT_TRUE(a_->found.empty()) << "nothing changes before all is found";
  (*restore)();
  EXPECT_EQ(a_->found, std::vector<int64_t>{0});
  EXPECT_EQ(b_->found, std::vector<int64_t>{4});
  EXPECT_EQ(c_->found, std::vector<int64_t>{5});
  ASSERT_EQ(c_->placed.size(), 1u);
  EXPECT_EQ(c_->placed.front().number, 5);
  EXPECT_EQ(c_->placed.front().place.offset, "5");
  EXPECT_TRUE(a_->placed.empty());
  EXPECT_EQ(samples_.find(std::vector<int64_t>{3}, {}).status().code(), Code::kInvalidArgument)
      << "there is no fourth branch";
}

}  // namespace
}  // namespace forebay
