#include "stream/rows/row_log.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>

#include <fmt/format.h>

#include "format/table/fake_table.h"
#include "store/scratch_folder.h"
#include "stream/log_conformance.h"
#include "stream/manual_clock_test_support.h"

namespace forebay {

namespace {

using conformance::LogUnderTest;
using conformance::positions_of;
using conformance::read_count;

const FakeCodecs& fake_codecs() {
  static const FakeCodecs codecs;
  return codecs;
}

/// Columns t (text) and n (int64, null where negative), so many rows a group.
std::string text_table(const std::vector<std::string>& texts, size_t group, int64_t first = 0) {
  FakeTable table;
  table.columns = {{"t", DType::kUint8, true}, {"n", DType::kInt64, false, true}};
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i % group == 0) table.groups.emplace_back();
    const int64_t n = first + static_cast<int64_t>(i);
    table.groups.back().push_back({texts[i], n < 0 ? FakeTable::Cell() : FakeTable::Cell(n)});
  }
  return table.to_bytes();
}

std::vector<std::string> texts_from(int64_t first, int64_t count) {
  std::vector<std::string> texts;
  for (int64_t i = first; i < first + count; ++i) texts.push_back(fmt::format("row {}", i));
  return texts;
}

void put_table(const ScratchFolder& folder, const std::string& name, const std::string& bytes) {
  folder.write(name + ".tmp", bytes);
  std::filesystem::rename(folder.path(name + ".tmp"), folder.path(name));
}

Result<std::shared_ptr<const RecordLog>> try_rows(const std::string& pattern, StreamClock& clock,
                                                  TableSelection selection = {}) {
  RowRequest request;
  request.table.selection = std::move(selection);
  return open_row_log(pattern, std::move(request), fake_codecs(), {}, clock);
}

std::shared_ptr<const RecordLog> rows_of_folder(const std::string& pattern, StreamClock& clock,
                                                TableSelection selection = {}) {
  auto log = try_rows(pattern, clock, std::move(selection));
  EXPECT_TRUE(log.ok()) << log.status().to_string();
  return log.ok() ? *log : nullptr;
}

/// Rows as text, bad ones as what is wrong with them.
std::string row_text(const RecordLog& log, const LogRecord& record) {
  Record out;
  if (const Status status = log.load(record, {}, out); !status.ok()) return status.to_string();
  std::string text(reinterpret_cast<const char*>(out[0].bytes.data()), out[0].bytes.size());
  int64_t n = 0;
  std::memcpy(&n, out[1].tensor.buffer.data(), sizeof n);
  return fmt::format("{} {}", text, n);
}

std::vector<std::string> row_texts(const RecordLog& log, size_t count, const std::string& after = "") {
  std::vector<std::string> texts;
  const auto reading = log.read_after(positions_of(log, {after})).value();
  for (const LogRecord& record : read_count(*reading, {0}, count)) texts.push_back(row_text(log, record));
  return texts;
}

std::vector<std::string> numbered_rows(int64_t first, int64_t count) {
  std::vector<std::string> texts;
  for (int64_t i = first; i < first + count; ++i) texts.push_back(fmt::format("row {} {}", i, i));
  return texts;
}

/// Each append is a file of several row groups. The first file said what there is, and is gone.
class RowsUnderTest final : public LogUnderTest {
 public:
  RowsUnderTest() {
    put_table(folder_, "first.fake", text_table({}, 1));
    log_ = rows_of_folder(folder_.path("*.fake"), clock_);
    std::filesystem::remove(folder_.path("first.fake"));
  }
  std::shared_ptr<const RecordLog> log() override { return log_; }
  void append(size_t, const std::vector<std::string>& payloads) override {
    if (payloads.empty()) return;
    put_table(folder_, fmt::format("{:08}.fake", written_++), text_table(payloads, 7));
  }

 private:
  ManualClock clock_;
  ScratchFolder folder_;
  std::shared_ptr<const RecordLog> log_;
  size_t written_ = 0;
};

class RowLogTest : public testing::Test {
 protected:
  ManualClock clock_;
  const ScratchFolder folder_;
};

}  // namespace

namespace conformance {
INSTANTIATE_TEST_SUITE_P(Rows, LogConformance,
                         testing::Values(LogDriver{"Rows", [](size_t) { return std::make_unique<RowsUnderTest>(); }, 1,
                                                   20'000}));
}  // namespace conformance

TEST_F(RowLogTest, RowsComeFileAfterFileAndGoOnBehindEachOfThem) {
  put_table(folder_, "_SUCCESS.fake", "nothing");
  put_table(folder_, "_temporary/c.fake", text_table(texts_from(99, 5), 2));
  put_table(folder_, "b.fake", text_table(texts_from(0, 10), 3, 0));
  put_table(folder_, "empty.fake", text_table({}, 1));
  put_table(folder_, "a.fake", text_table(texts_from(10, 5), 2, 10));
  const auto log = rows_of_folder(folder_.path("**/*.fake"), clock_);
  ASSERT_TRUE(log);
  const auto all = read_count(*log->read_after(positions_of(*log)).value(), {0}, 15);
  ASSERT_EQ(all.size(), 15u);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(row_text(*log, all[i]), numbered_rows(static_cast<int64_t>(i), 1)[0]);
    EXPECT_EQ(row_texts(*log, 14 - i, all[i].offset),
              numbered_rows(static_cast<int64_t>(i) + 1, 14 - static_cast<int64_t>(i)));
  }
  EXPECT_EQ(all[4].key, folder_.path("b.fake") + " row 4");
  EXPECT_EQ(all[9].offset.find('#'), std::string::npos) << all[9].offset;
  EXPECT_EQ(log->ends({}).value()[0], all[14].offset);
}

TEST_F(RowLogTest, WhatIsWrongIsARecordInItsPlaceAndReadingGoesOn) {
  put_table(folder_, "0.fake", text_table(texts_from(0, 2), 2));
  put_table(folder_, "1.fake", "no table");
  FakeTable other;
  other.columns = {{"t", DType::kUint8, true}, {"n", DType::kFloat32, false, true}};
  other.groups = {{{std::string("x"), 1.0}}};
  put_table(folder_, "2.fake", other.to_bytes());
  put_table(folder_, "3.fake", text_table({"row 2", "row 3"}, 2, -1));
  const auto log = rows_of_folder(folder_.path("*.fake"), clock_);
  ASSERT_TRUE(log);
  const std::vector<std::string> found = row_texts(*log, 6);
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(found[0], "row 0 0");
  EXPECT_NE(found[2].find("Corrupt: " + folder_.path("1.fake")), std::string::npos) << found[2];
  EXPECT_NE(found[3].find("Corrupt: " + folder_.path("2.fake")), std::string::npos) << found[3];
  EXPECT_NE(found[3].find("the column 'n' as float32"), std::string::npos) << found[3];
  EXPECT_NE(found[4].find("Corrupt: " + folder_.path("3.fake") + " row 0"), std::string::npos) << found[4];
  EXPECT_NE(found[4].find("column 'n' is null here"), std::string::npos) << found[4];
  EXPECT_EQ(found[5], "row 3 0");
}

TEST_F(RowLogTest, WhoWaitsIsToldOfAFileThatGivesNoRows) {
  put_table(folder_, "0.fake", text_table(texts_from(0, 2), 2));
  put_table(folder_, "1.fake", "no table");
  const auto log = rows_of_folder(folder_.path("*.fake"), clock_);
  ASSERT_TRUE(log);
  const auto reading = log->read_after(positions_of(*log)).value();
  EXPECT_EQ(read_count(*reading, {0}, 3).size(), 3u);
  EXPECT_NE(reading->trouble().find(folder_.path("1.fake")), std::string::npos) << reading->trouble();
  put_table(folder_, "2.fake", text_table(texts_from(2, 2), 2, 2));
  EXPECT_EQ(read_count(*reading, {0}, 2).size(), 2u);
  EXPECT_EQ(reading->trouble(), "");
}

TEST_F(RowLogTest, ADamagedRowGroupIsOneRecordAndTheOthersCome) {
  FakeTable table;
  table.columns = {{"t", DType::kUint8, true}, {"n", DType::kInt64}};
  for (int64_t i = 0; i < 6; i += 2) {
    table.groups.push_back({{fmt::format("row {}", i), i}, {fmt::format("row {}", i + 1), i + 1}});
  }
  std::get<std::string>(table.groups[1][1][0]) = "BROKEN";  // which a fake chunk ends with where it is damaged
  put_table(folder_, "a.fake", table.to_bytes());
  const auto log = rows_of_folder(folder_.path("*.fake"), clock_);
  ASSERT_TRUE(log);
  const auto all = read_count(*log->read_after(positions_of(*log)).value(), {0}, 5);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(row_text(*log, all[1]), "row 1 1");
  EXPECT_NE(row_text(*log, all[2]).find("row group 1"), std::string::npos) << row_text(*log, all[2]);
  EXPECT_NE(row_text(*log, all[2]).find("column 't' is damaged"), std::string::npos) << row_text(*log, all[2]);
  EXPECT_EQ(row_text(*log, all[3]), "row 4 4");
  EXPECT_EQ(row_texts(*log, 2, all[2].offset), numbered_rows(4, 2));
}

TEST_F(RowLogTest, AFileThatGoesWhileItIsReadIsReadToItsEndAndOneThatWentIsTold) {
  put_table(folder_, "a.fake", text_table(texts_from(0, 100), 10));
  const auto log = rows_of_folder(folder_.path("*.fake"), clock_);
  ASSERT_TRUE(log);
  const auto reading = log->read_after(positions_of(*log)).value();
  LogReader::Limits few;
  few.records = 15;
  std::vector<LogRecord> begun;
  while (begun.empty()) begun = reading->read({0}, few, {}).value();
  ASSERT_EQ(begun.size(), 15u);
  EXPECT_GT(reading->held_bytes(), 0u);
  std::filesystem::remove(folder_.path("a.fake"));
  const auto rest = read_count(*reading, {0}, 85);
  ASSERT_EQ(rest.size(), 85u);
  EXPECT_EQ(row_text(*log, rest.back()), "row 99 99");
  EXPECT_EQ(reading->held_bytes(), 0u);

  const auto later = read_count(*log->read_after({{0, begun[3].offset}}).value(), {0}, 1);
  ASSERT_EQ(later.size(), 1u);
  EXPECT_NE(row_text(*log, later[0]).find("NotFound: " + folder_.path("a.fake")), std::string::npos)
      << row_text(*log, later[0]);
  EXPECT_NE(row_text(*log, later[0]).find("after its row 3"), std::string::npos) << row_text(*log, later[0]);
  put_table(folder_, "b.fake", text_table(texts_from(5, 1), 1, 5));
  EXPECT_EQ(row_texts(*log, 1, rest.back().offset), numbered_rows(5, 1))
      << "whose rows are all behind needs its file no more";
}

TEST_F(RowLogTest, AFileThatIsWrittenToWhileItIsReadIsTold) {
  put_table(folder_, "a.fake", text_table(texts_from(0, 20), 10));
  const auto log = rows_of_folder(folder_.path("*.fake"), clock_);
  ASSERT_TRUE(log);
  const auto reading = log->read_after(positions_of(*log)).value();
  LogReader::Limits few;
  few.records = 5;
  std::vector<LogRecord> begun;
  while (begun.empty()) begun = reading->read({0}, few, {}).value();
  folder_.write("a.fake", text_table(texts_from(50, 30), 10));
  const auto rest = read_count(*reading, {0}, 6);
  ASSERT_EQ(rest.size(), 6u);
  EXPECT_EQ(row_text(*log, rest[4]), "row 9 9") << "what was decoded is good";
  EXPECT_NE(row_text(*log, rest[5]).find("was written to"), std::string::npos) << row_text(*log, rest[5]);
  const auto again = read_count(*reading, {0}, 30);
  ASSERT_EQ(again.size(), 30u) << "in its new place";
  EXPECT_EQ(row_text(*log, again[0]), "row 50 0");
}

TEST_F(RowLogTest, FiltersFoldersAndColumnsAreThoseOfTables) {
  put_table(folder_, "d=1/a.fake", text_table(texts_from(0, 10), 3));
  put_table(folder_, "d=2/b.fake", text_table(texts_from(10, 10), 3, 10));
  put_table(folder_, "d=x/c.fake", text_table(texts_from(20, 1), 3, 20));
  TableSelection selection;
  selection.columns = {{"t", "d"}};
  selection.filter = {{{"n", CompareOp::kGreaterEqual, {int64_t{8}}}, {"n", CompareOp::kLess, {int64_t{12}}}}};
  const auto log = rows_of_folder(folder_.path("*/*.fake"), clock_, selection);
  ASSERT_TRUE(log);
  EXPECT_EQ(log->schema().names(), "t, d");
  const auto all = read_count(*log->read_after(positions_of(*log)).value(), {0}, 5);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(row_text(*log, all[0]), "row 8 1");
  EXPECT_EQ(row_text(*log, all[1]), "row 9 1");
  EXPECT_EQ(row_text(*log, all[2]), "row 10 2");
  EXPECT_EQ(row_text(*log, all[3]), "row 11 2");
  EXPECT_NE(row_text(*log, all[4]).find("'d' no integer"), std::string::npos) << row_text(*log, all[4]);
  EXPECT_EQ(all[3].offset.find('#'), std::string::npos) << "the last row that the filter keeps is the file's last";
}

TEST_F(RowLogTest, ARowGroupThatTakesMoreThanItMayIsOutOfBudget) {
  put_table(folder_, "a.fake", text_table(texts_from(0, 1000), 1000));
  RowRequest request;
  request.max_group_bytes = 1000;
  const auto log = open_row_log(folder_.path("*.fake"), request, fake_codecs(), {}, clock_).value();
  const auto reading = log->read_after(positions_of(*log)).value();
  Status status;
  while (status.ok()) status = reading->read({0}, {}, {}).status();
  EXPECT_EQ(status.code(), Code::kOutOfBudget) << status.to_string();
  EXPECT_EQ(status.key(), folder_.path("a.fake") + ", row group 0");
  EXPECT_GT(status.bytes_needed(), 1000u);
}

TEST_F(RowLogTest, WithoutAFileNobodyKnowsTheColumns) {
  EXPECT_EQ(try_rows(folder_.path("*.fake"), clock_).status().code(), Code::kNotFound);
  put_table(folder_, "a.fake", "damaged");
  const Status damaged = try_rows(folder_.path("*.fake"), clock_).status();
  EXPECT_EQ(damaged.code(), Code::kCorrupt) << damaged.to_string();
  put_table(folder_, "b.fake", text_table({}, 1));
  EXPECT_TRUE(try_rows(folder_.path("*.fake"), clock_).ok());
  TableSelection selection;
  selection.columns = {{"nn"}};
  const Status unknown = try_rows(folder_.path("*.fake"), clock_, selection).status();
  EXPECT_EQ(unknown.code(), Code::kInvalidArgument) << unknown.to_string();
}

}  // namespace forebay
