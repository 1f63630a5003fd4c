#include "stream/stream_source.h"

#include <gtest/gtest.h>

#include "stream/stream_test_support.h"

namespace forebay {
namespace {

class StreamSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    stream_->seek(stream_->beginning());
    ASSERT_TRUE(wait_known(*stream_, 10));
  }
  std::string load(const StreamSource& source, int64_t id) const {
    Record record;
    const Status status = source.load(id, {}, record);
    if (!status.ok()) return status.to_string();
    return {reinterpret_cast<const char*>(record[0].bytes.data()), record[0].bytes.size()};
  }

  const std::shared_ptr<MemoryLog> log_ = log_with({20});
  const std::shared_ptr<AwaitedStream> stream_ = std::make_shared<AwaitedStream>(log_, decisions_of(10));
  const std::shared_ptr<ReplayRecords> buffer_ = std::make_shared<ReplayRecords>(log_);
};

TEST_F(StreamSourceTest, a_sample_is_the_record_of_its_number_until_that_is_delivered) {
  const auto source = StreamSource(log_).over(stream_, nullptr);
  EXPECT_EQ(load(*source, 3), "a/4");
  EXPECT_EQ(source->key(3), "a/4");
  stream_->delivered(5);
  EXPECT_NE(load(*source, 3).find("record 3 of memory is behind"), std::string::npos) << load(*source, 3);
  EXPECT_EQ(source->key(3), "record 3 of memory");
  EXPECT_EQ(load(*source, 7), "a/8");
}

TEST_F(StreamSourceTest, records_of_the_replay_buffer_stay) {
  const auto source = StreamSource(log_).over(stream_, buffer_);
  ASSERT_TRUE(buffer_->retain(*stream_, std::vector<int64_t>{3}, 10).ok());
  stream_->delivered(10);
  EXPECT_EQ(load(*source, 3), "a/4");
  buffer_->release(std::vector<int64_t>{3});
  EXPECT_EQ(load(*source, 3).substr(0, 9), "Cancelled");
}

TEST_F(StreamSourceTest, has_no_number_of_samples_and_the_identity_of_its_log) {
  const StreamSource source(log_);
  EXPECT_GE(source.size(), int64_t{1} << 53);
  EXPECT_EQ(source.version(), StreamSource(log_with({1})).version()) << "of the log, and not of what is in it";
  EXPECT_EQ(source.schema().size(), 1u);
  EXPECT_EQ(load(source, 3).substr(0, 9), "Cancelled") << "without a stream there are no records";
}

TEST_F(StreamSourceTest, what_a_record_takes_is_estimated_before_it_arrives) {
  const auto source = StreamSource(log_).over(stream_, nullptr);
  EXPECT_EQ(source->fetch(3).store, nullptr) << "its payload is all of it";
  EXPECT_GT(source->fetch(1'000'000).size, 0u);
}

}  // namespace
}  // namespace forebay
