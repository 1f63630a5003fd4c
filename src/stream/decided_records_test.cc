#include "stream/decided_records.h"

#include <span>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace forebay {
namespace {

LogRecord record_at(std::string offset, std::string key, bool remote = false) {
  LogRecord record{0, std::move(offset), std::move(key)};
  record.remote = remote;
  return record;
}

// A read for a run that is over may end when the number is that of another remote record.
TEST(DecidedRecords, a_remote_record_is_completed_by_itself_alone) {
  DecidedRecords records;
  records.begin({.number = 0, .after = {""}, .dropped = {0}});
  Decision decision;
  decision.parts.push_back({.partition = 0, .last = "8", .taken = 1});
  const MergedRecord first;
  records.add(decision, {{record_at("8", "", true)}}, std::span(&first, 1));

  records.fill(0, record_at("3", "another"));
  EXPECT_TRUE(records.record(0)->remote);
  EXPECT_EQ(records.record(0)->offset, "8");
  records.fill(0, record_at("8", "itself"));
  EXPECT_FALSE(records.record(0)->remote);
  EXPECT_EQ(records.record(0)->key, "itself");
}

}  // namespace
}  // namespace forebay
