// Tests the contract of every open table, in any format: many threads may use it, costs are
// correct, and memory is requested before it is allocated.
#include <atomic>
#include <barrier>
#include <thread>

#include <arrow/c/abi.h>
#include <arrow/c/bridge.h>
#include <arrow/extension/uuid.h>

#include "arrow_codec/arrow_status.h"
#include "arrow_codec/codecs.h"
#include "arrow_codec/made_tables.h"
#include "arrow_codec/table_plan.h"
#include "arrow_codec/table_test_support.h"

namespace forebay {
namespace {

using namespace arrow_codec_test;

std::shared_ptr<arrow::Table> mixed_table(int64_t rows) {
  arrow::Int32Builder numbers;
  arrow::StringBuilder texts;
  arrow::BooleanBuilder flags;
  for (int64_t i = 0; i < rows; ++i) {
    EXPECT_TRUE((i % 5 == 0 ? numbers.AppendNull() : numbers.Append(static_cast<int32_t>(i))).ok());
    EXPECT_TRUE(texts.Append(std::string(static_cast<size_t>(i % 17), 'x')).ok());
    EXPECT_TRUE(flags.Append(i % 3 == 0).ok());
  }
  return table_of(
      {{"n", numbers.Finish().ValueOrDie()}, {"t", texts.Finish().ValueOrDie()}, {"b", flags.Finish().ValueOrDie()}});
}

Result<std::shared_ptr<const TableFile>> of_stream(const std::shared_ptr<arrow::RecordBatchReader>& reader,
                                                   const NullPolicy& nulls = {}) {
  ArrowArrayStream stream;
  EXPECT_TRUE(arrow::ExportRecordBatchReader(reader, &stream).ok());
  return arrow_codecs().take_stream(&stream, nulls);
}
Result<std::shared_ptr<const TableFile>> of_table(const std::shared_ptr<arrow::Table>& table,
                                                  const NullPolicy& nulls = {}) {
  return of_stream(std::make_shared<arrow::TableBatchReader>(table), nulls);
}

struct OpenTable {
  std::string format, file;
  std::shared_ptr<const TableFile> table;
};

std::vector<OpenTable> in_every_format(const std::shared_ptr<arrow::Table>& table, int64_t rows_a_group,
                                       const NullPolicy& nulls) {
  const std::string parquet = as_parquet(*table, rows_a_group), arrow_file = as_arrow_file(*table, rows_a_group);
  const std::string compressed = as_arrow_file(*table, rows_a_group, arrow::Compression::ZSTD);
  return {{"parquet", parquet, *open_table(arrow_codecs().parquet(), parquet, nulls)},
          {"arrow", arrow_file, *open_table(arrow_codecs().arrow_file(), arrow_file, nulls)},
          {"compressed", compressed, *open_table(arrow_codecs().arrow_file(), compressed, nulls)},
          {"memory", "", *of_table(table, nulls)}};
}

TEST(TableFile, IsUsedByManyThreadsAtOnce) {
  for (const OpenTable& open : in_every_format(mixed_table(900), 100, mask_nulls())) {
    SCOPED_TRACE(open.format);
    std::vector<Hash128> expected;
    for (int64_t group = 0; group < open.table->groups(); ++group)
      expected.push_back(content_hash(*decode_group(*open.table, open.file, group)));
    constexpr int kThreads = 4;
    std::barrier begin(kThreads);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        begin.arrive_and_wait();
        for (int64_t i = 0; i < 3 * open.table->groups(); ++i) {
          const int64_t group = (i + thread) % open.table->groups();
          const auto columns = decode_group(*open.table, open.file, group);
          wrong += !columns.ok() || content_hash(*columns) != expected[static_cast<size_t>(group)];
          open.table->bounds(group, 0);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(TableFile, GroupsHaveTheRowsThatWereWritten) {
  for (const OpenTable& open : in_every_format(mixed_table(250), 100, mask_nulls())) {
    int64_t rows = 0;
    for (int64_t group = 0; group < open.table->groups(); ++group) rows += open.table->rows(group);
    EXPECT_EQ(rows, 250) << open.format;
    EXPECT_EQ(open.table->groups(), open.format == "memory" ? 1 : 3) << open.format;
  }
}

TEST(TableFile, CostsOfFixedWidthAreExactAndFetchedBytesAreThoseOfTheRanges) {
  for (const OpenTable& open : in_every_format(mixed_table(250), 100, mask_nulls())) {
    SCOPED_TRACE(open.format);
    const std::vector<size_t> fixed = {open.table->schema().find("n").value(),
                                       open.table->schema().find("n_valid").value(),
                                       open.table->schema().find("b").value()};
    for (int64_t group = 0; group < open.table->groups(); ++group) {
      const ChunkCost cost = open.table->cost(group, fixed);
      EXPECT_EQ(cost.decoded_bytes, static_cast<uint64_t>(open.table->rows(group)) * (4 + 1 + 1));
      uint64_t fetched = 0;
      for (const ByteRange& range : open.table->ranges(group, fixed)) fetched += range.length;
      EXPECT_EQ(cost.fetched_bytes, fetched);
    }
  }
}

TEST(TableFile, CostsCoverWhatTextsTake) {
  for (const OpenTable& open : in_every_format(mixed_table(2000), 500, mask_nulls())) {
    if (open.format == "compressed") continue;  // its growth is an estimate
    const auto fields = all_fields(*open.table);
    for (int64_t group = 0; group < open.table->groups(); ++group) {
      const auto columns = decode_group(*open.table, open.file, group);
      EXPECT_GE(open.table->cost(group, fields).decoded_bytes, columns->nbytes()) << open.format;
    }
  }
}

TEST(TableFile, WithoutMemoryItSaysHowMuchWouldDoAndThenThatIsEnough) {
  for (const OpenTable& open : in_every_format(mixed_table(3000), 3000, mask_nulls())) {
    SCOPED_TRACE(open.format);
    const auto fields = all_fields(*open.table);
    uint64_t grant = 0;
    Result<Columns> columns = internal_error("not tried");
    int tries = 0;
    while (!columns.ok() && ++tries <= 20) {
      WorkMemory memory(grant);
      columns = decode_group(*open.table, open.file, 0, fields, memory);
      if (columns.ok()) break;
      ASSERT_EQ(columns.status().code(), Code::kOutOfBudget) << columns.status().to_string();
      ASSERT_GT(columns.status().bytes_needed(), grant) << "asking again for the same would never end";
      grant = columns.status().bytes_needed();
    }
    EXPECT_TRUE(columns.ok()) << columns.status().to_string();
    EXPECT_LE(grant, uint64_t{8} << 20);
  }
}

TEST(TableFile, FieldsComeInTheOrderInWhichTheyAreAskedFor) {
  for (const OpenTable& open : in_every_format(mixed_table(50), 50, {})) {
    WorkMemory memory;
    const std::vector<size_t> backwards = {2, 0};
    const auto columns = decode_group(*open.table, open.file, 0, backwards, memory);
    ASSERT_TRUE(columns.ok()) << open.format << columns.status().to_string();
    EXPECT_EQ(columns->schema.names(), "b, n") << open.format;
    EXPECT_EQ(columns->values[0].values.size(), 50u);
    EXPECT_EQ(columns->values[1].values.size(), 200u);
  }
}

TEST(TableFile, ANullIsAnErrorOfItsRowAloneAndOnlyWhereItsFieldIsAskedFor) {
  for (const OpenTable& open : in_every_format(mixed_table(50), 50, {})) {
    WorkMemory memory;
    const std::vector<size_t> numbers = {0}, texts = {1};
    const auto bad = decode_group(*open.table, open.file, 0, numbers, memory);
    ASSERT_TRUE(bad.ok() && bad->bad_rows) << open.format;
    EXPECT_EQ(bad->bad_rows->size(), 10u) << open.format;
    for (const auto& [row, status] : *bad->bad_rows) EXPECT_EQ(row % 5, 0) << open.format;
    EXPECT_EQ(decode_group(*open.table, open.file, 0, texts, memory)->bad_rows, nullptr) << open.format;
  }
}

TEST(TableFile, AParquetFileTakesAnotherPolicyWithoutItsFooterBeingReadAgain) {
  const auto table = mixed_table(40);
  const std::string file = as_parquet(*table);
  const auto strict = open_table(arrow_codecs().parquet(), file);
  const auto masked = (*strict)->with_reading(mask_nulls());
  ASSERT_TRUE(masked.ok() && *masked);
  EXPECT_EQ((*masked)->schema().names(), "n, n_valid, t, t_valid, b, b_valid");
  const auto opened = open_table(arrow_codecs().parquet(), file, mask_nulls());
  EXPECT_EQ(content_hash(*decode_group(**masked, file, 0)), content_hash(*decode_group(**opened, file, 0)));
}

TEST(TableFile, TimesSayWhatTheyCount) {
  constexpr int64_t kDay = 86'400;
  struct Case {
    std::shared_ptr<arrow::DataType> type;
    std::optional<TableFile::TimeType> expected;
  };
  const Case cases[] = {
      {arrow::date32(), TableFile::TimeType{1, true}},
      {arrow::date64(), TableFile::TimeType{kDay * 1'000, true}},
      {arrow::timestamp(arrow::TimeUnit::SECOND), TableFile::TimeType{kDay, true}},
      {arrow::timestamp(arrow::TimeUnit::NANO, "Europe/Berlin"), TableFile::TimeType{kDay * 1'000'000'000, true}},
      {arrow::time32(arrow::TimeUnit::SECOND), TableFile::TimeType{kDay, false}},
      {arrow::time64(arrow::TimeUnit::MICRO), TableFile::TimeType{kDay * 1'000'000, false}},
      {arrow::duration(arrow::TimeUnit::MILLI), TableFile::TimeType{kDay * 1'000, false}},
      {arrow::int64(), std::nullopt},
  };
  for (const Case& one : cases) {
    const auto table = of_table(table_of({{"c", from_json(one.type, "[0]")}}), mask_nulls());
    ASSERT_TRUE(table.ok()) << one.type->ToString();
    EXPECT_EQ((*table)->time_type(0), one.expected) << one.type->ToString();
    EXPECT_EQ((*table)->time_type(1), std::nullopt) << "a mask counts nothing: " << one.type->ToString();
  }
}

/// Returns one batch, then fails.
class BrokenReader final : public arrow::RecordBatchReader {
 public:
  explicit BrokenReader(arrow::Status error) : error_(std::move(error)) {}
  std::shared_ptr<arrow::Schema> schema() const override { return batch_->schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    if (given_) return error_;
    given_ = true;
    *out = batch_;
    return arrow::Status::OK();
  }

 private:
  const std::shared_ptr<arrow::RecordBatch> batch_ =
      mixed_table(3)->CombineChunksToBatch(arrow::default_memory_pool()).ValueOrDie();
  const arrow::Status error_;
  bool given_ = false;
};

TEST(TableInMemory, AStreamThatFailsHalfWayIsAnErrorAndNoShortTable) {
  const auto table = of_stream(std::make_shared<BrokenReader>(arrow::Status::IOError("the producer went away")));
  ASSERT_FALSE(table.ok());
  EXPECT_NE(table.status().message().find("the producer went away"), std::string::npos) << table.status().message();
}

TEST(TableInMemory, BatchesWithoutRowsAreLeftOut) {
  const auto rows = mixed_table(4);
  const auto some = rows->CombineChunksToBatch(arrow::default_memory_pool()).ValueOrDie();
  const auto reader = arrow::RecordBatchReader::Make({some->Slice(0, 0), some, some->Slice(4)}, rows->schema());
  const auto table = of_stream(reader.ValueOrDie());
  ASSERT_TRUE(table.ok());
  EXPECT_EQ((*table)->groups(), 1);
  const auto none = of_stream(arrow::RecordBatchReader::Make({}, rows->schema()).ValueOrDie());
  ASSERT_TRUE(none.ok());
  EXPECT_EQ((*none)->groups(), 0);
}

TEST(TableInMemory, LongRowsMakeGroupsOfFewRows) {
  arrow::BinaryBuilder builder;
  const std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(builder.Append(megabyte).ok());
  const auto table = of_table(table_of({{"b", builder.Finish().ValueOrDie()}}));
  ASSERT_TRUE(table.ok());
  EXPECT_GE((*table)->groups(), 4) << "64 MiB in one group would be fetched and kept as one";
  int64_t rows = 0;
  for (int64_t group = 0; group < (*table)->groups(); ++group) rows += (*table)->rows(group);
  EXPECT_EQ(rows, 64);
}

TEST(TableInMemory, ArraysThatLieAboutTheirLengthAreRefused) {
  const auto bytes = arrow::Buffer::FromString(std::string(8, 'x'));
  class One final : public arrow::RecordBatchReader {
   public:
    explicit One(std::shared_ptr<arrow::RecordBatch> batch) : batch_(std::move(batch)), schema_(batch_->schema()) {}
    std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
    arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
      *out = std::exchange(batch_, nullptr);
      return arrow::Status::OK();
    }

   private:
    std::shared_ptr<arrow::RecordBatch> batch_;
    std::shared_ptr<arrow::Schema> schema_;
  };
  // The C data interface has no buffer sizes, so only offsets in the data can be checked.
  const auto texts = arrow::ArrayData::Make(
      arrow::utf8(), 2, {nullptr, arrow::Buffer::FromString(std::string("\0\0\0\0\5\0\0\0\1\0\0\0", 12)), bytes}, 0);
  const auto falling =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("t", arrow::utf8(), false)}), 2, {arrow::MakeArray(texts)});
  const auto table = of_stream(std::make_shared<One>(falling));
  if (table.ok()) {
    EXPECT_FALSE(decode_group(**table, "", 0).ok()) << "offsets that fall";
  } else {
    EXPECT_EQ(table.status().code(), Code::kCorrupt);
  }
}

TEST(TablePlan, ExtensionTypesAreWhatTheyAreStoredAs) {
  const auto storage = from_json(arrow::fixed_size_binary(16), R"(["0123456789abcdef"])");
  const auto uuid = arrow::ExtensionType::WrapArray(arrow::extension::uuid(), storage);
  const auto table = of_table(table_of({{"u", uuid}}));
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  EXPECT_EQ((*table)->schema()[0].kind, FieldKind::kBytes);
  const auto columns = decode_group(**table, "", 0);
  ASSERT_TRUE(columns.ok()) << columns.status().to_string();
  EXPECT_EQ(columns->values[0].values.size(), 16u);
}

TEST(TablePlan, TensorsOfTooManyDimensionsOrOfNoneArePutAsideWithTheReason) {
  std::shared_ptr<arrow::DataType> deep = arrow::int8();
  for (size_t i = 0; i < Shape::kMaxRank; ++i) deep = arrow::fixed_size_list(deep, 1);
  const auto wide = arrow::fixed_size_list(arrow::fixed_size_list(arrow::int8(), 1 << 16), 1 << 16);
  const auto schema = arrow::schema(
      {arrow::field("fine", arrow::int8()), arrow::field("deep", deep), arrow::field("wide", wide),
       arrow::field("none", arrow::fixed_size_list(arrow::int8(), 0)), arrow::field("hollow", arrow::struct_({}))});
  const auto plan = plan_table(*schema, {});
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(plan->schema.names(), "fine");
  ASSERT_EQ(plan->unmapped.size(), 4u);
  EXPECT_NE(plan->unmapped[0].second.find("too many dimensions"), std::string::npos);
  EXPECT_NE(plan->unmapped[1].second.find("too many elements"), std::string::npos);
  EXPECT_NE(plan->unmapped[2].second.find("size 0"), std::string::npos);
  EXPECT_NE(plan->unmapped[3].second.find("without members"), std::string::npos);
}

TEST(TablePlan, AColumnComesBeforeAMemberOfAStructWithItsWholeName) {
  const auto struct_of = [](std::vector<std::string> names) {
    arrow::FieldVector members;
    for (std::string& name : names) members.push_back(arrow::field(std::move(name), arrow::int8()));
    return arrow::struct_(members);
  };
  const auto a = arrow::field("a", struct_of({"b", "c"})), a_b = arrow::field("a.b", arrow::utf8());
  for (const auto& schema : {arrow::schema({a, a_b}), arrow::schema({a_b, a})}) {
    const auto plan = plan_table(*schema, {});
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    EXPECT_EQ(plan->schema.size(), 2u);
    EXPECT_EQ(plan->schema[plan->schema.find("a.b").value()].kind, FieldKind::kText);
    EXPECT_TRUE(plan->schema.find("a.c"));
    ASSERT_EQ(plan->unmapped.size(), 1u);
    EXPECT_EQ(plan->unmapped[0].first, "a.b");
  }
  const auto deep = arrow::schema(
      {arrow::field("a", arrow::struct_({arrow::field("b", struct_of({"c"})), arrow::field("b.c", arrow::utf8())}))});
  const auto plan = plan_table(*deep, {});
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  ASSERT_EQ(plan->schema.size(), 1u);
  EXPECT_EQ(plan->schema[0].kind, FieldKind::kText);
  EXPECT_EQ(plan_table(*arrow::schema({a_b, a_b}), {}).status().code(), Code::kUnsupported);
}

TEST(TablePlan, DictionariesOfAnyKeptTypeGiveTheirValues) {
  const auto of_values = [](const std::shared_ptr<arrow::DataType>& type, const std::string& values) {
    const auto indices = from_json(arrow::int16(), "[1, 0, 1]");
    return arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int16(), type), indices, from_json(type, values))
        .ValueOrDie();
  };
  const auto check = [&]<typename T>(const std::shared_ptr<arrow::DataType>& type, const std::string& values, T first,
                                     T second) {
    const auto table = of_table(table_of({{"d", of_values(type, values)}}, false));
    ASSERT_TRUE(table.ok()) << type->ToString();
    const auto columns = decode_group(**table, "", 0);
    ASSERT_TRUE(columns.ok()) << type->ToString() << columns.status().to_string();
    const auto* got = reinterpret_cast<const T*>(columns->values[0].values.data());
    EXPECT_TRUE(got[0] == second && got[1] == first && got[2] == second) << type->ToString();
  };
  check(arrow::boolean(), "[true, false]", uint8_t{1}, uint8_t{0});
  check(arrow::date32(), "[7, -8]", int64_t{7}, int64_t{-8});
  check(arrow::decimal128(9, 2), R"(["1.25", "-0.50"])", 1.25, -0.5);
  check(arrow::uint16(), "[65535, 1]", uint16_t{65'535}, uint16_t{1});
}

TEST(ArrowStatus, ItsKindDecidesTheCode) {
  EXPECT_EQ(from_arrow(arrow::Status::OutOfMemory("m"), "x").code(), Code::kOutOfBudget);
  EXPECT_EQ(from_arrow(arrow::Status::NotImplemented("m"), "x").code(), Code::kUnsupported);
  for (const auto& status : {arrow::Status::Invalid("m"), arrow::Status::IOError("m"), arrow::Status::TypeError("m"),
                             arrow::Status::CapacityError("m"), arrow::Status::UnknownError("m")}) {
    EXPECT_EQ(from_arrow(status, "the column 'x'").code(), Code::kCorrupt);
    EXPECT_EQ(from_arrow(status, "the column 'x'").message(), "the column 'x': m");
  }
  EXPECT_EQ(from_exception(std::bad_alloc(), "x").code(), Code::kOutOfBudget);
  EXPECT_EQ(from_exception(parquet::ParquetException("torn"), "x").code(), Code::kCorrupt);
  EXPECT_EQ(from_exception(parquet::ParquetStatusException(arrow::Status::NotImplemented("new")), "x").code(),
            Code::kUnsupported);
}

}  // namespace
}  // namespace forebay
