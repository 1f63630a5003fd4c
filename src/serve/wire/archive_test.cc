#include "serve/wire/archive.h"

#include <gtest/gtest.h>

#include "forebay/ledger.h"
#include "serve/wire/ledger_message.h"
#include "serve/wire/message.h"

namespace forebay {
namespace {

OpenRequest full_request() {
  OpenRequest request;
  request.pipeline = "{}";
  request.options.seed = 7;
  request.options.epochs = 3;
  request.options.errors.max_errors = ErrorLimit(0.25);
  request.options.errors.on_error = OnError::kReplace;
  request.options.storage_options = {{"endpoint", "http://a"}, {"verify", "false"}};
  request.together = 4;
  return request;
}

TEST(Archive, gives_back_what_was_written) {
  const Result<OpenRequest> read = from_message<OpenRequest>(to_message(full_request()));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->options.seed, 7U);
  EXPECT_EQ(read->options.epochs, 3);
  EXPECT_FALSE(read->options.job.rank);
  ASSERT_TRUE(read->options.errors.max_errors);
  EXPECT_EQ(read->options.errors.max_errors->share, 0.25);
  EXPECT_EQ(read->options.errors.on_error, OnError::kReplace);
  EXPECT_EQ(read->options.storage_options.at("verify"), "false");
  EXPECT_EQ(read->together, 4);
}

TEST(Archive, every_shorter_message_is_corrupt) {
  const std::string whole = to_message(full_request());
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_EQ(from_message<OpenRequest>(whole.substr(0, length)).status().code(), Code::kCorrupt) << length;
  EXPECT_EQ(from_message<OpenRequest>(whole + "x").status().code(), Code::kCorrupt);
}

TEST(Archive, a_length_that_cannot_be_takes_no_memory) {
  const std::string huge = to_message(UINT64_MAX);
  EXPECT_FALSE(from_message<std::string>(huge).ok());
  EXPECT_FALSE(from_message<std::vector<int64_t>>(huge).ok());
  EXPECT_FALSE(from_message<std::vector<FieldMessage>>(huge).ok());
}

TEST(Archive, a_value_outside_of_an_enumeration_is_corrupt) {
  TensorLocation place;
  place.dtype = static_cast<DType>(200);
  EXPECT_FALSE(from_message<TensorLocation>(to_message(place)).ok());
}

TEST(Archive, a_status_keeps_where_it_happened) {
  const Status status =
      corrupt("no end").with_key("a.jpg").with_operator("decode_image").with_sample(17).with_range({4, 6});
  EXPECT_EQ(status_from_message(to_message(status)).to_string(), status.to_string());
  EXPECT_TRUE(status_from_message(to_message(Status())).ok());
  EXPECT_EQ(status_from_message("nonsense").code(), Code::kCorrupt);
}

TEST(Archive, a_ledger_arrives_with_every_figure) {
  Ledger ledger;
  ledger.steps.push_back({"decode", 5, 10, 20, 1.5, 0.25, 0.5});
  ledger.stores.emplace_back().latency_seconds = {{1.0, 2.0}, {3, 4, 5}, 6.0};
  ledger.caches.emplace_back().ram.off = "no memory";
  ledger.chunks = {1, 2, 1};
  ledger.waits.assembly = 0.75;
  ledger.thread_cpu.idle = 0.125;
  ledger.tuning.push_back({1.0, "threads", 1, 2, "because"});
  ledger.memory_columns = 9;
  ledger.elapsed_seconds = 12;
  const Result<Ledger> read = from_message<Ledger>(to_message(ledger));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(to_json(*read), to_json(ledger));
}

}  // namespace
}  // namespace forebay
