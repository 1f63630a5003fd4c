#include "arrow_codec/parquet_writer.h"

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "arrow_codec/codecs.h"

namespace forebay {
namespace {

template <typename T>
Buffer memory_of(const std::vector<T>& values) {
  Buffer buffer = Buffer::allocate(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(buffer.data(), values.data(), buffer.size());
  return buffer;
}

Columns some_rows(int64_t first, int64_t rows) {
  Columns columns;
  columns.rows = rows;
  std::vector<int64_t> ids(static_cast<size_t>(rows));
  std::iota(ids.begin(), ids.end(), first);
  std::vector<float> pairs(static_cast<size_t>(rows) * 6);
  std::iota(pairs.begin(), pairs.end(), static_cast<float>(first));
  std::vector<int64_t> ends(static_cast<size_t>(rows) + 1);
  std::iota(ends.begin(), ends.end(), 0);
  Field id, pair, text;
  id.name = "id", id.dtype = DType::kInt64;
  pair.name = "pair", pair.dtype = DType::kFloat32, pair.shape = {2, 3};
  text.name = "text", text.kind = FieldKind::kText;
  columns.schema = Schema({id, pair, text});
  columns.values = {{memory_of(ids), {}},
                    {memory_of(pairs), {}},
                    {memory_of(std::vector<char>(static_cast<size_t>(rows), 'x')), memory_of(ends)}};
  return columns;
}

std::shared_ptr<const TableFile> opened(const Buffer& file) {
  return *arrow_codecs().parquet().open(file, file.size(), {});
}

TEST(ParquetWriter, EachGroupIsARowGroupWithTheSameValues) {
  for (const char* compression : {"", "lz4", "zstd"}) {
    const std::vector<Columns> groups{some_rows(0, 5), some_rows(5, 1), some_rows(6, 30)};
    const Result<Buffer> file = arrow_codecs().write_parquet_file(groups, compression);
    ASSERT_TRUE(file.ok()) << file.status().to_string();
    const auto table = opened(*file);
    ASSERT_EQ(table->groups(), 3);
    EXPECT_EQ(table->schema().to_string(), groups[0].schema.to_string());
    for (int64_t group = 0; group < 3; ++group) {
      const std::vector<size_t> fields{0, 1, 2};
      const TableFile::Piece all{0, *file};
      WorkMemory memory;
      const Result<Columns> columns = table->decode(group, fields, {&all, 1}, memory);
      ASSERT_TRUE(columns.ok()) << columns.status().to_string();
      EXPECT_EQ(content_hash(*columns), content_hash(groups[static_cast<size_t>(group)]));
    }
  }
}

TEST(ParquetWriter, EqualColumnsGiveEqualBytes) {
  const std::vector<Columns> groups{some_rows(0, 500)};
  const Buffer a = *write_parquet_columns(groups, "zstd"), b = *write_parquet_columns(groups, "zstd");
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size()), 0);
}

TEST(ParquetWriter, TextThatIsNoneIsTold) {
  std::vector<Columns> groups{some_rows(0, 2)};
  groups[0].values[2].values = memory_of(std::vector<char>{'\xff', '\xfe'});
  const Status status = write_parquet_columns(groups, "").status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.to_string().find("'text'"), std::string::npos);
}

}  // namespace
}  // namespace forebay
