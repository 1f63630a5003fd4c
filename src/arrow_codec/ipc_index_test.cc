// Tests the index of Arrow files: its contents, and that no number in it is trusted.
#include <arrow/ipc/reader.h>

#include "arrow_codec/codecs.h"
#include "arrow_codec/expected_cells.h"
#include "arrow_codec/ipc_footer.h"
#include "arrow_codec/made_tables.h"
#include "arrow_codec/table_test_support.h"

namespace forebay {
namespace {

using namespace arrow_codec_test;

constexpr uint64_t kEndBytes = 10;

std::shared_ptr<arrow::Table> numbers_and_words() {
  return table_of({{"n", from_json(arrow::int64(), "[1, null, 3, 4, 5]")},
                   {"w", from_json(arrow::utf8(), R"(["a", "bc", null, "", "def"])")}});
}

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string footer_of(const std::string& file) {
  int32_t length = 0;
  std::memcpy(&length, file.data() + file.size() - kEndBytes, sizeof length);
  return file.substr(file.size() - kEndBytes - static_cast<size_t>(length), static_cast<size_t>(length));
}

IpcFooter good_footer(const std::string& file) { return *read_ipc_footer(bytes_of(footer_of(file)), file.size()); }

std::string head_of(const std::string& file, const IpcBlock& block) {
  return file.substr(block.offset, block.head_bytes);
}

TEST(IpcFooter, HasABlockForEachBatchAndEachDictionary) {
  const std::string plain = as_arrow_file(*numbers_and_words(), 2);
  EXPECT_EQ(good_footer(plain).batches.size(), 3u);
  EXPECT_TRUE(good_footer(plain).dictionaries.empty());
  const auto words = arrow::json::DictArrayFromJSONString(arrow::dictionary(arrow::int8(), arrow::utf8()), "[0, 1, 0]",
                                                          R"(["a", "b"])")
                         .ValueOrDie();
  EXPECT_EQ(good_footer(as_arrow_file(*table_of({{"d", words}, {"e", words}}))).dictionaries.size(), 2u);
}

TEST(IpcFooter, AFileWithoutBatchesIsATableWithoutRows) {
  const auto none = table_of({{"n", from_json(arrow::int64(), "[]")}});
  const std::string file = as_arrow_file(*none);
  const auto table = open_table(arrow_codecs().arrow_file(), file);
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  EXPECT_EQ((*table)->schema().names(), "n");
  int64_t rows = 0;
  for (int64_t group = 0; group < (*table)->groups(); ++group) rows += (*table)->rows(group);
  EXPECT_EQ(rows, 0);
}

TEST(IpcFooter, CutAnywhereOrWithAnyByteChangedItIsCorruptOrStaysInsideOfTheFile) {
  const std::string file = as_arrow_file(*numbers_and_words(), 2);
  const std::string footer = footer_of(file);
  const auto check = [&](const std::string& bytes) {
    const auto read = read_ipc_footer(bytes_of(bytes), file.size());
    if (!read.ok()) {
      EXPECT_EQ(read.status().code(), Code::kCorrupt);
      return;
    }
    for (const auto* blocks : {&read->batches, &read->dictionaries}) {
      for (const IpcBlock& block : *blocks) {
        EXPECT_LE(block.offset, file.size());
        EXPECT_LE(block.head_bytes, file.size() - block.offset);
        EXPECT_LE(block.body_bytes, file.size() - block.offset - block.head_bytes);
      }
    }
  };
  for (size_t length = 0; length < footer.size(); ++length) check(footer.substr(0, length));
  for (size_t at = 0; at < footer.size(); ++at) {
    for (const char value : {'\0', '\x7f', '\xff', '\x80'}) {
      std::string damaged = footer;
      damaged[at] = value;
      check(damaged);
    }
  }
  EXPECT_FALSE(read_ipc_footer(bytes_of(footer.substr(0, 3)), file.size()).ok());
}

TEST(IpcFooter, ABatchBeyondTheEndOfTheFileIsCorruptWithItsPlace) {
  const std::string file = as_arrow_file(*numbers_and_words());
  const IpcBlock block = good_footer(file).batches.front();
  const auto cut = read_ipc_footer(bytes_of(footer_of(file)), block.offset + block.head_bytes + block.body_bytes - 1);
  ASSERT_EQ(cut.status().code(), Code::kCorrupt);
  EXPECT_NE(cut.status().message().find("at " + std::to_string(block.offset)), std::string::npos)
      << cut.status().message();
}

TEST(IpcBatchHead, SaysRowsAndBuffersInsideOfTheBody) {
  const std::string file = as_arrow_file(*numbers_and_words(), 2);
  int64_t rows = 0;
  for (const IpcBlock& block : good_footer(file).batches) {
    const auto head = read_ipc_batch_head(bytes_of(head_of(file, block)), block.body_bytes);
    ASSERT_TRUE(head.ok()) << head.status().to_string();
    rows += head->rows;
    EXPECT_FALSE(head->compressed);
    EXPECT_EQ(head->buffers.size(), 2u + 3u) << "bits and values; bits, offsets and bytes";
    for (const ByteRange& buffer : head->buffers) EXPECT_LE(buffer.offset + buffer.length, block.body_bytes);
  }
  EXPECT_EQ(rows, 5);
}

TEST(IpcBatchHead, SaysWhetherBodiesAreCompressed) {
  const std::string file = as_arrow_file(*numbers_and_words(), 9, arrow::Compression::LZ4_FRAME);
  const IpcBlock block = good_footer(file).batches.front();
  EXPECT_TRUE(read_ipc_batch_head(bytes_of(head_of(file, block)), block.body_bytes)->compressed);
}

TEST(IpcBatchHead, ABodyThatIsTooSmallForItsBuffersIsCorrupt) {
  const std::string file = as_arrow_file(*numbers_and_words());
  const IpcBlock block = good_footer(file).batches.front();
  const std::string head = head_of(file, block);
  uint64_t used = 0;
  const auto whole = read_ipc_batch_head(bytes_of(head), block.body_bytes);
  for (const ByteRange& buffer : whole->buffers) used = std::max(used, buffer.offset + buffer.length);
  EXPECT_TRUE(read_ipc_batch_head(bytes_of(head), used).ok());
  EXPECT_EQ(read_ipc_batch_head(bytes_of(head), used - 1).status().code(), Code::kCorrupt);
}

TEST(IpcBatchHead, CutAnywhereOrWithAnyByteChangedItIsCorruptOrStaysInsideOfTheBody) {
  const std::string file = as_arrow_file(*numbers_and_words());
  const IpcBlock block = good_footer(file).batches.front();
  const std::string head = head_of(file, block);
  const auto check = [&](const std::string& bytes) {
    const auto read = read_ipc_batch_head(bytes_of(bytes), block.body_bytes);
    if (!read.ok()) {
      EXPECT_EQ(read.status().code(), Code::kCorrupt);
      return;
    }
    EXPECT_GE(read->rows, 0);
    for (const ByteRange& buffer : read->buffers) {
      EXPECT_LE(buffer.offset, block.body_bytes);
      EXPECT_LE(buffer.length, block.body_bytes - buffer.offset);
    }
    for (const int64_t count : read->variadic_buffers) EXPECT_GE(count, 0);
  };
  for (size_t length = 0; length < head.size(); ++length) check(head.substr(0, length));
  for (size_t at = 0; at < head.size(); ++at) {
    for (const char value : {'\0', '\x7f', '\xff', '\x80'}) {
      std::string damaged = head;
      damaged[at] = value;
      check(damaged);
    }
  }
}

TEST(IpcBatchHead, AMessageOfAnotherKindIsNoBatch) {
  const auto words =
      arrow::json::DictArrayFromJSONString(arrow::dictionary(arrow::int8(), arrow::utf8()), "[0, 0]", R"(["a"])")
          .ValueOrDie();
  const std::string file = as_arrow_file(*table_of({{"d", words}}));
  const IpcBlock dictionary = good_footer(file).dictionaries.front();
  EXPECT_EQ(read_ipc_batch_head(bytes_of(head_of(file, dictionary)), dictionary.body_bytes).status().code(),
            Code::kCorrupt);
}

/// A file written with the options that `set` sets.
template <typename Set>
std::string arrow_file_with(const arrow::Table& table, int64_t rows_a_batch, Set set) {
  auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  set(options);
  auto writer = arrow::ipc::MakeFileWriter(out, table.schema(), options).ValueOrDie();
  EXPECT_TRUE(writer->WriteTable(table, rows_a_batch).ok());
  EXPECT_TRUE(writer->Close().ok());
  return bytes_of_stream(*out);
}

TEST(IpcFiles, OfOldWritersAreReadTheSame) {
  const auto table = numbers_and_words();
  const std::string old = arrow_file_with(*table, 2, [](auto& options) {
    options.write_legacy_ipc_format = true;
    options.metadata_version = arrow::ipc::MetadataVersion::V4;
  });
  const IpcBlock block = good_footer(old).batches.front();
  ASSERT_NE(head_of(old, block).substr(0, 4), "\xff\xff\xff\xff") << "this is not the old form";
  expect_file(arrow_codecs().arrow_file(), old, *table);
}

TEST(IpcFiles, OfAnyAlignmentAreReadTheSame) {
  const auto table = numbers_and_words();
  for (const int32_t alignment : {8, 64})
    expect_file(arrow_codecs().arrow_file(),
                arrow_file_with(*table, 2, [&](auto& options) { options.alignment = alignment; }), *table);
}

TEST(IpcFiles, BuffersThatDidNotShrinkAreStoredAsTheyAre) {
  // With a minimum saving, writers leave single buffers uncompressed and mark them by a length of
  // -1.
  const auto table = numbers_and_words();
  for (const auto compression : {arrow::Compression::ZSTD, arrow::Compression::LZ4_FRAME}) {
    const std::string file = arrow_file_with(*table, 2, [&](auto& options) {
      options.codec = arrow::util::Codec::Create(compression).ValueOrDie();
      options.min_space_savings = 0.9;
    });
    expect_file(arrow_codecs().arrow_file(), file, *table);
  }
}

TEST(IpcFiles, ACompressedBufferThatClaimsTooMuchIsRefusedBeforeMemoryIsTaken) {
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < 5000; ++i) ASSERT_TRUE(builder.Append(0).ok());
  std::string file =
      as_arrow_file(*table_of({{"z", builder.Finish().ValueOrDie()}}, false), 5000, arrow::Compression::ZSTD);
  const auto table = open_table(arrow_codecs().arrow_file(), file);
  ASSERT_TRUE(table.ok());
  const std::vector<size_t> fields = {0};
  const ByteRange range = (*table)->ranges(0, fields)[0];
  const int64_t claim = int64_t{1} << 40;  // the length that precedes each compressed buffer
  std::memcpy(file.data() + range.offset, &claim, sizeof claim);
  WorkMemory memory(1 << 20);
  const Status status = decode_group(**table, file, 0, fields, memory).status();
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(status.code() == Code::kOutOfBudget || status.code() == Code::kCorrupt) << status.to_string();
}

std::string as_arrow_stream(const arrow::Table& table, int64_t rows) {
  auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  auto writer = arrow::ipc::MakeStreamWriter(out, table.schema()).ValueOrDie();
  EXPECT_TRUE(writer->WriteTable(table, rows).ok() && writer->Close().ok());
  return bytes_of_stream(*out);
}

TEST(IpcFiles, AStreamIsReadAsTheFileOfTheSameBatches) {
  const auto table = numbers_and_words();
  const std::string file = as_arrow_file(*table, 7), stream = as_arrow_stream(*table, 7);
  // The end mark is optional.
  for (const std::string& bytes : {stream, stream.substr(0, stream.size() - 8)}) {
    const auto one = open_table(arrow_codecs().arrow_file(), file),
               other = open_table(arrow_codecs().arrow_file(), bytes);
    ASSERT_TRUE(other.ok()) << other.status().to_string();
    ASSERT_EQ((*one)->groups(), (*other)->groups());
    for (int64_t group = 0; group < (*one)->groups(); ++group)
      EXPECT_EQ(content_hash(*decode_group(**one, file, group)), content_hash(*decode_group(**other, bytes, group)));
  }
}

TEST(IpcFiles, AStreamThatWasCutOffOrChangedIsAnErrorOrTheSame) {
  const std::string stream = as_arrow_stream(*numbers_and_words(), 7);
  const auto whole = open_table(arrow_codecs().arrow_file(), stream);
  ASSERT_TRUE(whole.ok());
  int opened = 0;
  for (size_t size = 0; size < stream.size(); ++size) {
    const auto cut = open_table(arrow_codecs().arrow_file(), stream.substr(0, size));
    // Cut between two messages, it is a valid shorter stream.
    opened += cut.ok() ? 1 : 0;
  }
  EXPECT_LE(opened, (*whole)->groups() + 2);
  for (size_t at = 0; at < stream.size(); ++at) {
    std::string changed = stream;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    const auto table = open_table(arrow_codecs().arrow_file(), changed);
    for (int64_t group = 0; table.ok() && group < (*table)->groups(); ++group)
      (void)decode_group(**table, changed, group);
  }
  EXPECT_FALSE(open_table(arrow_codecs().arrow_file(), stream + stream).ok())
      << "bytes behind the end are not left out";
}

TEST(IpcFiles, NothingIsReadForNoFields) {
  const std::string file = as_arrow_file(*numbers_and_words());
  const auto table = open_table(arrow_codecs().arrow_file(), file);
  ASSERT_TRUE(table.ok());
  EXPECT_TRUE((*table)->ranges(0, {}).empty());
  WorkMemory nothing(0);
  const auto columns = (*table)->decode(0, {}, {}, nothing);
  ASSERT_TRUE(columns.ok()) << columns.status().to_string();
  EXPECT_EQ(columns->rows, 5);
}

TEST(IpcFiles, AFieldIsReadWithoutTheBytesOfTheOthers) {
  const auto table = table_of(
      {{"a", from_json(arrow::int64(), "[1, 2, 3]")},
       {"u", from_json(arrow::utf8_view(), R"(["x", "a text that is not kept inline", ""])")},
       {"l", from_json(arrow::list(arrow::int32()), "[[1], [], [2, 3]]")},
       {"s", from_json(arrow::struct_({arrow::field("x", arrow::int8())}), R"([{"x": 1}, {"x": 2}, {"x": 3}])")},
       {"z", from_json(arrow::int64(), "[7, 8, 9]")}});
  const std::string file = as_arrow_file(*table);
  const auto opened = open_table(arrow_codecs().arrow_file(), file);
  ASSERT_TRUE(opened.ok());
  const auto whole = decode_group(**opened, file, 0);
  for (const size_t field : all_fields(**opened)) {
    const std::vector<size_t> one = {field};
    WorkMemory memory;
    const auto part = decode_group(**opened, file, 0, one, memory);  // passes only those ranges
    ASSERT_TRUE(part.ok()) << (*opened)->schema()[field].name << ": " << part.status().to_string();
    Columns expected;
    expected.rows = whole->rows;
    expected.schema.push_back(whole->schema[field]);
    expected.values = {whole->values[field]};
    EXPECT_EQ(content_hash(*part), content_hash(expected)) << (*opened)->schema()[field].name;
  }
}

}  // namespace
}  // namespace forebay
