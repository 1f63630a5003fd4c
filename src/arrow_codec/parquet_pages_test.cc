// Tests that the layout of a Parquet file (encodings, pages, compression, checksums) does not
// change its values, and that damage in a page is reported.
#include <random>

#include <arrow/util/bit_util.h>

#include "arrow_codec/codecs.h"
#include "arrow_codec/expected_cells.h"
#include "arrow_codec/made_tables.h"
#include "arrow_codec/table_test_support.h"

namespace forebay {
namespace {

using namespace arrow_codec_test;
using Properties = parquet::WriterProperties::Builder;

constexpr int64_t kRows = 700;

template <typename Builder, typename Next>
std::shared_ptr<arrow::Array> filled(std::mt19937_64& random, Next next) {
  Builder builder;
  for (int64_t i = 0; i < kRows; ++i) {
    const bool null = random() % 7 == 0;
    EXPECT_TRUE((null ? builder.AppendNull() : builder.Append(next())).ok());
  }
  return builder.Finish().ValueOrDie();
}

/// Numbers over their whole range, columns of few and of many distinct values, texts, nulls, lists.
std::shared_ptr<arrow::Table> some_table(uint32_t seed) {
  std::mt19937_64 random(seed);
  const auto bits = [&] { return random(); };
  const auto text = [&] { return std::string(random() % 40, static_cast<char>('a' + random() % 26)); };
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::Int32Builder>());
  for (int64_t i = 0; i < kRows; ++i) {
    EXPECT_TRUE(lists.Append(random() % 9 != 0).ok());
    for (uint64_t k = random() % 5; k > 0; --k)
      EXPECT_TRUE(static_cast<arrow::Int32Builder*>(lists.value_builder())->Append(static_cast<int32_t>(bits())).ok());
  }
  return table_of({
      {"i32", filled<arrow::Int32Builder>(random, [&] { return static_cast<int32_t>(bits()); })},
      {"i64", filled<arrow::Int64Builder>(random, [&] { return static_cast<int64_t>(bits()); })},
      {"f32", filled<arrow::FloatBuilder>(random, [&] { return static_cast<float>(bits()) / 7; })},
      {"f64", filled<arrow::DoubleBuilder>(random, [&] { return static_cast<double>(bits()) / 7; })},
      {"few", filled<arrow::Int64Builder>(random, [&] { return static_cast<int64_t>(bits() % 3); })},
      {"bool", filled<arrow::BooleanBuilder>(random, [&] { return bits() % 2 == 0; })},
      {"text", filled<arrow::StringBuilder>(random, text)},
      {"lists", lists.Finish().ValueOrDie()},
  });
}

std::string written(const arrow::Table& table, Properties& properties, int64_t rows_a_group = kRows) {
  auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  const auto schema = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  const auto status =
      parquet::arrow::WriteTable(table, arrow::default_memory_pool(), out, rows_a_group, properties.build(), schema);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return bytes_of_stream(*out);
}

TEST(ParquetPages, EveryCompressionGivesTheSameValues) {
  const auto table = some_table(1);
  for (const auto compression : {arrow::Compression::UNCOMPRESSED, arrow::Compression::SNAPPY, arrow::Compression::GZIP,
                                 arrow::Compression::BROTLI, arrow::Compression::ZSTD, arrow::Compression::LZ4,
                                 arrow::Compression::LZ4_HADOOP}) {
    SCOPED_TRACE(arrow::util::Codec::GetCodecAsString(compression));
    ASSERT_TRUE(arrow::util::Codec::IsAvailable(compression)) << "people have such files";
    Properties properties;
    expect_file(arrow_codecs().parquet(), written(*table, *properties.compression(compression), 300), *table);
  }
}

TEST(ParquetPages, EveryEncodingGivesTheSameValues) {
  const auto table = some_table(2);
  const auto check = [&](parquet::Encoding::type encoding, const std::vector<std::string>& columns) {
    Properties properties;
    properties.disable_dictionary();
    for (const std::string& column : columns) properties.encoding(column, encoding);
    SCOPED_TRACE(parquet::EncodingToString(encoding));
    expect_file(arrow_codecs().parquet(), written(*table, properties), *table);
  };
  check(parquet::Encoding::PLAIN, {"i32", "i64", "f32", "f64", "few", "bool", "text"});
  check(parquet::Encoding::DELTA_BINARY_PACKED, {"i32", "i64", "few"});
  check(parquet::Encoding::BYTE_STREAM_SPLIT, {"i32", "i64", "f32", "f64"});
  check(parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY, {"text"});
  check(parquet::Encoding::DELTA_BYTE_ARRAY, {"text"});
  check(parquet::Encoding::RLE, {"bool"});
}

TEST(ParquetPages, PagesOfAnySizeAndVersionGiveTheSameValues) {
  const auto table = some_table(3);
  for (const auto version : {parquet::ParquetDataPageVersion::V1, parquet::ParquetDataPageVersion::V2}) {
    for (const int64_t page : {1, 100, 4000}) {
      for (const bool dictionary : {true, false}) {
        Properties properties;
        properties.data_page_version(version)->data_pagesize(page)->write_batch_size(16);
        dictionary ? properties.enable_dictionary()->dictionary_pagesize_limit(512) : properties.disable_dictionary();
        expect_file(arrow_codecs().parquet(), written(*table, properties, 333), *table);
      }
    }
  }
}

TEST(ParquetPages, AChangedByteBehindAChecksumIsCorruptAndTheColumnIsNamed) {
  const auto table = some_table(4);
  Properties properties;
  properties.enable_page_checksum()->compression(arrow::Compression::UNCOMPRESSED)->disable_dictionary();
  const std::string file = written(*table, properties);
  const auto opened = open_table(arrow_codecs().parquet(), file, mask_nulls());
  ASSERT_TRUE(opened.ok());
  const auto fields = all_fields(**opened);
  for (const size_t field : fields) {
    const std::vector<size_t> one = {field};
    const ByteRange range = (*opened)->ranges(0, one)[0];
    std::string damaged = file;
    // The last page's values: plain floats and texts take any bits.
    damaged[range.offset + range.length - 5] ^= 1;
    WorkMemory memory;
    const Status status = decode_group(**opened, damaged, 0, one, memory).status();
    ASSERT_EQ(status.code(), Code::kCorrupt) << (*opened)->schema()[field].name;
    const std::string column = (*opened)->schema()[field].name;
    EXPECT_NE(status.message().find("'" + column.substr(0, column.find('_')) + "'"), std::string::npos)
        << status.message();
    EXPECT_NE(status.message().find("checksum"), std::string::npos) << status.message();
  }
}

TEST(ParquetPages, DamageInOneColumnLeavesTheOthersReadable) {
  const auto table = some_table(5);
  Properties properties;
  const std::string file = written(*table, *properties.enable_page_checksum());
  const auto opened = open_table(arrow_codecs().parquet(), file, mask_nulls());
  ASSERT_TRUE(opened.ok());
  const size_t bad = (*opened)->schema().find("text").value();
  const std::vector<size_t> only_bad = {bad};
  std::string damaged = file;
  const ByteRange range = (*opened)->ranges(0, only_bad)[0];
  std::fill_n(damaged.begin() + static_cast<ptrdiff_t>(range.offset), range.length, '\x55');
  for (const size_t field : all_fields(**opened)) {
    const std::vector<size_t> one = {field};
    WorkMemory memory;
    const bool is_text = (*opened)->schema()[field].name.starts_with("text");
    EXPECT_EQ(decode_group(**opened, damaged, 0, one, memory).ok(), !is_text) << (*opened)->schema()[field].name;
  }
}

TEST(ParquetPages, BytesThatWereNotFetchedAreNamedAndNeverMadeUp) {
  const std::string file = as_parquet(*some_table(6));
  const auto table = open_table(arrow_codecs().parquet(), file);
  ASSERT_TRUE(table.ok());
  const std::vector<size_t> fields = {0, 1};
  auto ranges = (*table)->ranges(0, fields);
  ASSERT_EQ(ranges.size(), 2u);
  const std::vector<TableFile::Piece> without_second = {piece_of(file, ranges[0])};
  WorkMemory memory;
  const Status status = (*table)->decode(0, fields, without_second, memory).status();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("were not fetched"), std::string::npos) << status.message();
}

TEST(ParquetPages, PiecesMayBeCutAnywhere) {
  const auto expected = some_table(7);
  const std::string file = as_parquet(*expected);
  const auto table = open_table(arrow_codecs().parquet(), file, mask_nulls());
  ASSERT_TRUE(table.ok());
  const auto fields = all_fields(**table);
  for (const uint64_t size : {uint64_t{1}, uint64_t{13}, uint64_t{1000}}) {
    std::vector<TableFile::Piece> pieces;
    for (const ByteRange& range : (*table)->ranges(0, fields)) {
      for (uint64_t at = 0; at < range.length; at += size)
        pieces.push_back(piece_of(file, {range.offset + at, std::min(size, range.length - at)}));
    }
    std::shuffle(pieces.begin(), pieces.end(), std::mt19937(1));
    WorkMemory memory;
    const auto columns = (*table)->decode(0, fields, pieces, memory);
    ASSERT_TRUE(columns.ok()) << columns.status().to_string();
    expect_table(*columns, *plan_table(*expected->schema(), mask_nulls()), *expected, 0);
  }
}

TEST(ParquetPages, AnEncryptedFooterIsUnsupportedAndSaysWhy) {
  std::string file = as_parquet(*some_table(8));
  file.replace(file.size() - 4, 4, "PARE");
  const Status status = open_table(arrow_codecs().parquet(), file).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("encrypted"), std::string::npos);
}

TEST(ParquetPages, AFooterLongerThanTheFileIsCorruptBeforeAnythingIsFetched) {
  std::string file = as_parquet(*some_table(9));
  for (const uint32_t claim : {uint32_t{0}, static_cast<uint32_t>(file.size() - 11), UINT32_MAX}) {
    std::memcpy(file.data() + file.size() - 8, &claim, sizeof claim);
    const auto bytes = arrow_codecs().parquet().index_tail_bytes(
        copy_of(std::string_view(file).substr(file.size() - 16)).span(), file.size());
    ASSERT_FALSE(bytes.ok()) << claim;
    EXPECT_EQ(bytes.status().code(), Code::kCorrupt);
    EXPECT_NE(bytes.status().message().find(std::to_string(claim)), std::string::npos) << bytes.status().message();
  }
}

}  // namespace
}  // namespace forebay
