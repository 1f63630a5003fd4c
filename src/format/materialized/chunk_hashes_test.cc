#include "format/materialized/chunk_hashes.h"

#include "format/materialized/index_columns.h"
#include "format/materialized/materialized_test_support.h"
#include "format/materialized/shard_identities.h"

#ifdef FOREBAY_WITH_ARROW

namespace forebay {
namespace {

using namespace materialized_test;

Buffer offsets_of(std::vector<int64_t> values) {
  return buffer_of({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t)});
}

Columns two_columns(const std::string& text, int64_t first) {
  Columns columns;
  columns.rows = 2;
  columns.schema.push_back(stored("n", FieldKind::kTensor, DType::kInt16).field);
  columns.values.push_back({buffer_of("abcd"), {}});
  columns.schema.push_back(stored("t", FieldKind::kText).field);
  columns.values.push_back(
      {buffer_of(std::string(static_cast<size_t>(first), '-') + text), offsets_of({first, first + 1, first + 4})});
  return columns;
}

std::vector<StoredField> both() {
  return {stored("n", FieldKind::kTensor, DType::kInt16), stored("t", FieldKind::kText)};
}

TEST(ChunkHashes, AreThoseOfTheValuesWhereverTheyBegin) {
  const Columns a = two_columns("wxyz", 0), b = two_columns("wxyz", 5), c = two_columns("wxyq", 0);
  EXPECT_EQ(column_hash(a.schema[1], a.values[1], 2), column_hash(b.schema[1], b.values[1], 2));
  EXPECT_NE(column_hash(a.schema[1], a.values[1], 2), column_hash(c.schema[1], c.values[1], 2));
}

TEST(ChunkHashes, ChangedValuesAreCorruptByColumn) {
  const std::vector<Columns> chunks{two_columns("wxyz", 0), two_columns("1234", 3)};
  const Buffer file = *write_chunk_hashes(both(), chunks, real_codecs());
  ChunkHashes hashes(both());
  ASSERT_TRUE(hashes.add(*columns_of_index(file, real_codecs())).ok());
  ASSERT_TRUE(hashes.add(*columns_of_index(file, real_codecs())).ok()) << "of the next shard";
  EXPECT_EQ(hashes.chunks(), 4U);
  for (const int64_t chunk : {0, 2}) {
    EXPECT_TRUE(hashes.check(chunk, chunks[0]).ok());
    const Status other = hashes.check(chunk + 1, chunks[0]);
    EXPECT_EQ(other.code(), Code::kCorrupt);
    EXPECT_NE(other.to_string().find("'t'"), std::string::npos) << "and not 'n', which is the same in both";
  }
}

TEST(ChunkHashes, AnIndexWithoutThemIsCorrupt) {
  ChunkHashes hashes(both());
  EXPECT_EQ(hashes.add(two_columns("wxyz", 0)).code(), Code::kCorrupt);
}

TEST(ShardIdentities, AreReadAsTheyWereOrNotAtAll) {
  const ShardIdentities identities{Hash128{1, 2}, std::nullopt, Hash128{0, 7}};
  const Buffer file = *write_identities(identities, real_codecs());
  EXPECT_EQ(read_identities(file, 3, real_codecs()), identities);
  EXPECT_EQ(read_identities(file, 4, real_codecs()), ShardIdentities(4)) << "of another shard";
  for (const size_t size : {size_t{0}, size_t{9}, file.size() / 2, file.size() - 1})
    EXPECT_EQ(read_identities(file.slice(0, size), 3, real_codecs()), ShardIdentities(3)) << size;
}

}  // namespace
}  // namespace forebay

#endif
