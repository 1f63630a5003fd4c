// Tests real files of many writers: every value equals the one that Arrow reads.
#include <algorithm>
#include <set>

#include <arrow/io/memory.h>
#include <parquet/arrow/reader.h>

#include "arrow_codec/codecs.h"
#include "arrow_codec/expected_cells.h"
#include "arrow_codec/made_tables.h"
#include "arrow_codec/table_test_support.h"
#include "base/sanitized_test_support.h"

namespace forebay {
namespace {

using namespace arrow_codec_test;

/// Two gigabytes of text, which are read only once and not under sanitizers.
constexpr const char* kLargeStrings = "large_string_map.brotli.parquet";
/// Its timestamps do not fit int64 nanoseconds, so such rows are bad
/// (tests/python/test_table_types.py).
constexpr std::string_view kOutOfRange = "int96_from_spark.parquet";

std::shared_ptr<arrow::Table> arrow_reading(const std::string& file) {
  try {
    parquet::ReaderProperties properties;
    properties.set_page_checksum_verification(true);
    parquet::arrow::FileReaderBuilder builder;
    std::unique_ptr<parquet::arrow::FileReader> reader;
    if (!builder.Open(arrow::io::BufferReader::FromString(file), properties).ok() || !builder.Build(&reader).ok())
      return nullptr;
    auto table = reader->ReadTable();
    return table.ok() ? *table : nullptr;
  } catch (const std::exception&) {
    return nullptr;
  }
}

void expect_all_groups(const std::string& file, const arrow::Table& expected) {
  const auto plan = plan_table(*expected.schema(), mask_nulls());
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  const auto table = open_table(arrow_codecs().parquet(), file, mask_nulls());
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  int64_t first = 0;
  for (int64_t group = 0; group < (*table)->groups(); ++group) {
    const auto columns = decode_group(**table, file, group);
    ASSERT_TRUE(columns.ok()) << columns.status().to_string();
    ASSERT_EQ(columns->rows, (*table)->rows(group));
    expect_table(*columns, *plan, expected, first);
    if (::testing::Test::HasFatalFailure()) return;
    first += columns->rows;
  }
  EXPECT_EQ(first, expected.num_rows());
}

TEST(ParquetFiles, EveryReadableFileHasTheValuesThatArrowReads) {
  FOREBAY_NEED_SHARED_DATA();
  int readable = 0;
  for (const char* folder : {"parquet/parquet-testing", "parquet/petastorm"}) {
    for (const auto& path : files_below(folder)) {
      if (path.extension() != ".parquet") continue;
      if (kSanitized && path.filename() == kLargeStrings) continue;
      if (path.filename() == kOutOfRange) continue;
      const std::string file = read_file(path);
      const auto expected = arrow_reading(file);
      if (expected == nullptr) continue;
      ++readable;
      SCOPED_TRACE(path.filename().string());
      expect_all_groups(file, *expected);
      ASSERT_FALSE(::testing::Test::HasFatalFailure());
    }
  }
  EXPECT_GE(readable, 70);
}

TEST(ParquetFiles, PagesWithAWrongChecksumAreCorrupt) {
  FOREBAY_NEED_SHARED_DATA();
  for (const char* name : {"datapage_v1-corrupt-checksum.parquet", "rle-dict-uncompressed-corrupt-checksum.parquet"}) {
    SCOPED_TRACE(name);
    const std::string file = read_file(shared_data() / "parquet/parquet-testing" / name);
    const auto table = open_table(arrow_codecs().parquet(), file, mask_nulls());
    ASSERT_TRUE(table.ok()) << table.status().to_string();
    const Status status = decode_group(**table, file, 0).status();
    EXPECT_EQ(status.code(), Code::kCorrupt);
    EXPECT_NE(status.message().find("checksum"), std::string::npos) << status.message();
  }
}

TEST(ParquetFiles, ARowIsBadWhereAnyOfItsValuesIsNull) {
  FOREBAY_NEED_SHARED_DATA();
  for (const auto& path : files_below("parquet/parquet-testing")) {
    if (path.extension() != ".parquet" || path.filename() == kLargeStrings || path.filename() == kOutOfRange) continue;
    const std::string file = read_file(path);
    const auto masked = open_table(arrow_codecs().parquet(), file, mask_nulls());
    const auto strict = open_table(arrow_codecs().parquet(), file);
    if (!masked.ok()) continue;
    SCOPED_TRACE(path.filename().string());
    ASSERT_TRUE(strict.ok()) << strict.status().to_string();
    for (int64_t group = 0; group < (*masked)->groups(); ++group) {
      const auto flags = decode_group(**masked, file, group);
      if (!flags.ok()) continue;
      const auto columns = decode_group(**strict, file, group);
      ASSERT_TRUE(columns.ok()) << columns.status().to_string();
      std::set<int64_t> expected, bad;
      for (size_t i = 0; i < flags->schema.size(); ++i) {
        if (!flags->schema[i].name.ends_with("_valid")) continue;
        for (int64_t row = 0; row < flags->rows; ++row) {
          const Record record = flags->row(row);
          const std::span<const uint8_t> bytes = record[i].tensor.buffer.span().first(record[i].tensor.nbytes());
          if (std::find(bytes.begin(), bytes.end(), 0) != bytes.end()) expected.insert(row);
        }
      }
      if (columns->bad_rows) {
        for (const auto& [row, status] : *columns->bad_rows) {
          bad.insert(row);
          EXPECT_EQ(status.code(), Code::kCorrupt);
          EXPECT_NE(status.message().find("fb.NULL_MASK"), std::string::npos);
        }
      }
      EXPECT_EQ(bad, expected);
    }
  }
}

TEST(ParquetFiles, AnySubsetOfFieldsIsThatOfTheWhole) {
  FOREBAY_NEED_SHARED_DATA();
  for (const char* name : {"nested_structs.rust.parquet", "nonnullable.impala.parquet", "alltypes_plain.parquet",
                           "repeated_no_annotation.parquet", "nested_maps.snappy.parquet"}) {
    SCOPED_TRACE(name);
    const std::string file = read_file(shared_data() / "parquet/parquet-testing" / name);
    const auto table = open_table(arrow_codecs().parquet(), file, mask_nulls());
    ASSERT_TRUE(table.ok()) << table.status().to_string();
    const auto whole = decode_group(**table, file, 0);
    ASSERT_TRUE(whole.ok()) << whole.status().to_string();
    for (size_t field = 0; field < (*table)->schema().size(); ++field) {
      const std::vector<size_t> chosen = {field};
      WorkMemory memory;
      const auto part = decode_group(**table, file, 0, chosen, memory);
      ASSERT_TRUE(part.ok()) << part.status().to_string();
      ASSERT_EQ(part->schema.size(), 1u);
      for (int64_t row = 0; row < whole->rows; ++row) {
        const Record one = part->row(row), all = whole->row(row);
        const Value &a = one[0], &b = all[field];
        ASSERT_EQ(a.nbytes(), b.nbytes());
        const auto bytes = [](const Value& v) {
          return v.kind == FieldKind::kTensor ? v.tensor.buffer.span().first(v.nbytes()) : v.bytes.span();
        };
        ASSERT_TRUE(std::ranges::equal(bytes(a), bytes(b)));
      }
    }
  }
}

}  // namespace
}  // namespace forebay
