#include "cache/entry_form.h"

#include <random>

#include "cache/cache_test_support.h"
#include "forebay/string_list.h"

namespace forebay {
namespace {

/// Adds a column of lists of strings after the others.
Columns columns_with_tags(uint64_t seed, int64_t rows) {
  Columns columns = columns_of_seed(seed, rows);
  std::string runs;
  std::vector<int64_t> ends = {0};
  for (int64_t row = 0; row < rows; ++row) {
    const std::string text = "tag " + std::to_string(seed * 1000 + static_cast<uint64_t>(row));
    const std::vector<std::string_view> tags(static_cast<size_t>(row % 3), text);
    const Tensor run = StringList::pack(tags).value();
    runs.append(reinterpret_cast<const char*>(run.buffer.data()), run.nbytes());
    ends.push_back(static_cast<int64_t>(runs.size()));
  }
  columns.schema.push_back(field_of("tags", FieldKind::kTextList));
  columns.values.push_back({buffer_of(runs), buffer_of(ends)});
  return columns;
}

class EveryCompression : public testing::TestWithParam<Compression> {};
INSTANTIATE_TEST_SUITE_P(EntryForm, EveryCompression,
                         testing::Values(Compression::kNone, Compression::kZstd, Compression::kLz4));

TEST_P(EveryCompression, WhatIsReadBackIsWhatWasKept) {
  for (const int64_t rows : {0, 1, 2, 77, 5000}) {
    const Columns columns = columns_with_tags(3, rows);
    const auto entry = encode_entry(id_of(1), columns, GetParam());
    ASSERT_TRUE(entry.ok()) << entry.status().to_string();
    const auto back = decode_entry(id_of(1), *entry);
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    EXPECT_TRUE(same_columns(columns, *back)) << rows << " rows";
  }
}

TEST_P(EveryCompression, EqualColumnsGiveEqualBytes) {
  const auto one = encode_entry(id_of(1), columns_of_seed(3, 100), GetParam());
  const auto other = encode_entry(id_of(1), columns_of_seed(3, 100), GetParam());
  ASSERT_EQ(one->size(), other->size());
  EXPECT_EQ(std::memcmp(one->data(), other->data(), one->size()), 0);
}

TEST_P(EveryCompression, AFlippedBitAnywhereIsFound) {
  Buffer entry = *encode_entry(id_of(1), columns_of_seed(3, 50), GetParam());
  for (size_t byte = 0; byte < entry.size(); ++byte) {
    const uint8_t before = entry.data()[byte];
    entry.data()[byte] ^= static_cast<uint8_t>(1 << (byte % 8));
    const auto back = decode_entry(id_of(1), entry);
    ASSERT_FALSE(back.ok()) << "byte " << byte;
    EXPECT_EQ(back.status().code(), Code::kCorrupt);
    entry.data()[byte] = before;
  }
  EXPECT_TRUE(decode_entry(id_of(1), entry).ok());
}

TEST_P(EveryCompression, AnEntryThatIsCutShortOrTooLongIsFound) {
  const Buffer entry = *encode_entry(id_of(1), columns_of_seed(3, 50), GetParam());
  for (size_t size = 0; size < entry.size(); size += size < 200 ? 1 : 61)
    EXPECT_EQ(decode_entry(id_of(1), entry.slice(0, size)).status().code(), Code::kCorrupt) << size;
  Buffer longer = Buffer::allocate(entry.size() + 64);
  std::memset(longer.data(), 0, longer.size());
  std::memcpy(longer.data(), entry.data(), entry.size());
  EXPECT_EQ(decode_entry(id_of(1), longer).status().code(), Code::kCorrupt);
}

TEST_P(EveryCompression, LiesBehindRightChecksumsAreFoundOrHarmless) {
  const Buffer entry = *encode_entry(id_of(1), columns_with_tags(3, 200), GetParam());
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    Buffer changed = Buffer::allocate(entry.size());
    std::memcpy(changed.data(), entry.data(), entry.size());
    const size_t described = std::min<size_t>(entry.size(), 64 + 512);
    for (uint64_t flips = random() % 3 + 1; flips > 0; --flips)
      changed.data()[random() % described] = static_cast<uint8_t>(random() % 4 == 0 ? 255 : random());
    reseal_entry(changed);
    const auto back = decode_entry(id_of(1), changed);
    if (!back.ok()) continue;
    ASSERT_TRUE(back->check().ok());
    for (int64_t row = 0; row < std::min<int64_t>(back->rows, 200); ++row) (void)back->row(row);
  }
}

TEST(EntryForm, AListOfStringsThatReachesBeyondItsRowIsFound) {
  Buffer entry = *encode_entry(id_of(1), columns_with_tags(3, 20), Compression::kNone);
  const Columns columns = *decode_entry(id_of(1), entry);
  Buffer runs = columns.values[3].values;             // a part of the entry
  runs.data()[columns.values[3].offset()[1]] = 0xf0;  // where the first string of the row begins
  reseal_entry(entry);
  const auto back = decode_entry(id_of(1), entry);
  ASSERT_FALSE(back.ok());
  EXPECT_EQ(back.status().code(), Code::kCorrupt);
  EXPECT_NE(back.status().message().find("'tags'"), std::string::npos) << back.status().message();
}

TEST(EntryForm, AnEntryUnderAnotherNameIsFound) {
  const Buffer entry = *encode_entry(id_of(1), columns_of_seed(3, 5), Compression::kNone);
  EXPECT_EQ(decode_entry(id_of(2), entry).status().code(), Code::kCorrupt);
}

TEST(EntryForm, NothingIsCopiedWhereNothingIsPacked) {
  const Buffer entry = *encode_entry(id_of(1), columns_of_seed(3, 500), Compression::kNone);
  const Columns back = *decode_entry(id_of(1), entry);
  for (const ColumnValues& column : back.values) {
    EXPECT_GE(column.values.data(), entry.data());
    EXPECT_LE(column.values.data() + column.values.size(), entry.data() + entry.size());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(column.values.data()) % 64, 0u);
  }
}

TEST(EntryForm, BytesAtAnyAddressAreRead) {
  const Buffer entry = *encode_entry(id_of(1), columns_of_seed(3, 500), Compression::kNone);
  Buffer moved = Buffer::allocate(entry.size() + 3);
  std::memcpy(moved.data() + 3, entry.data(), entry.size());
  const auto back = decode_entry(id_of(1), moved.slice(3, entry.size()));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(same_columns(columns_of_seed(3, 500), *back));
}

TEST(EntryForm, PartsOfSharedColumnsAreKeptWithoutTheRest) {
  Columns part = columns_of_seed(3, 1000);
  const Columns whole = part;
  part.rows = 10;  // rows 500 to 509, whose offsets begin in the middle
  part.values[0].values = part.values[0].values.slice(500 * 8, 10 * 8);
  for (size_t i : {1u, 2u}) part.values[i].offsets = part.values[i].offsets.slice(500 * 8, 11 * 8);
  const Buffer entry = *encode_entry(id_of(1), part, Compression::kNone);
  EXPECT_LT(entry.size(), 2000u);
  const Columns back = *decode_entry(id_of(1), entry);
  for (int64_t row = 0; row < 10; ++row) {
    EXPECT_EQ(back.row(row)[2].bytes.size(), whole.row(500 + row)[2].bytes.size());
    EXPECT_TRUE(std::equal(back.row(row)[2].bytes.span().begin(), back.row(row)[2].bytes.span().end(),
                           whole.row(500 + row)[2].bytes.span().begin()));
  }
}

TEST(EntryForm, BadRowsKeepTheirErrors) {
  Columns columns = columns_of_seed(3, 5);
  auto bad = std::make_shared<std::map<int64_t, Status>>();
  bad->emplace(
      3, corrupt("a null").with_key("part-1.parquet").with_operator("parquet").with_sample(17).with_range({5, 6}));
  columns.bad_rows = bad;
  const Columns back = *decode_entry(id_of(1), *encode_entry(id_of(1), columns, Compression::kNone));
  ASSERT_TRUE(back.bad_rows);
  ASSERT_EQ(back.bad_rows->size(), 1u);
  EXPECT_EQ(back.bad_rows->at(3).to_string(), bad->at(3).to_string());
}

TEST(EntryForm, AnExceptionOfUserCodeIsNotKept) {
  Columns columns = columns_of_seed(3, 5);
  auto bad = std::make_shared<std::map<int64_t, Status>>();
  bad->emplace(3, Status(Code::kUser, "boom").with_payload(std::make_shared<int>(1)));
  columns.bad_rows = bad;
  EXPECT_EQ(encode_entry(id_of(1), columns, Compression::kNone).status().code(), Code::kUnsupported);
}

TEST(EntryForm, FieldsKeepAllThatIsKnownOfThem) {
  Columns columns;
  columns.rows = 1;
  Field image = field_of("image", FieldKind::kTensor, DType::kUint8, {2, 3, 3});
  image.image = image.layout_chosen = image.normalized = true;
  image.pad_value = -1.5;
  image.pad_length = 9;
  columns.schema = Schema({image});
  columns.values = {{buffer_of(std::string(18, 'x')), {}}};
  const Columns back = *decode_entry(id_of(1), *encode_entry(id_of(1), columns, Compression::kNone));
  const Field& field = back.schema[0];
  EXPECT_TRUE(field.image && field.layout_chosen && field.normalized && !field.channels_first && !field.fetched);
  EXPECT_EQ(field.pad_value, -1.5);
  EXPECT_EQ(field.pad_length, 9);
}

TEST(EntryForm, ColumnsThatCompressAreSmallerAndNeverUnpackToMoreThanTheBound) {
  Columns columns;
  columns.rows = 1 << 20;
  columns.schema = Schema({field_of("zero", FieldKind::kTensor, DType::kInt64, {})});
  Buffer zeros = Buffer::allocate(size_t{8} << 20);
  std::memset(zeros.data(), 0, zeros.size());
  columns.values = {{zeros, {}}};
  for (const Compression compression : {Compression::kZstd, Compression::kLz4}) {
    const Buffer entry = *encode_entry(id_of(1), columns, compression);
    EXPECT_LT(entry.size(), zeros.size() / 100);
    EXPECT_GE(entry.size() * kMaxExpansion, zeros.size());
    EXPECT_TRUE(
        same_columns({columns.schema, 0, columns.values}, {decode_entry(id_of(1), entry)->schema, 0, columns.values}));
    EXPECT_EQ(decode_entry(id_of(1), entry)->values[0].values.size(), zeros.size());
  }
}

}  // namespace
}  // namespace forebay
