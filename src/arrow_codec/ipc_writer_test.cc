#include "arrow_codec/ipc_writer.h"

#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "arrow_codec/codecs.h"
#include "forebay/string_list.h"

namespace forebay {
namespace {

template <typename T>
Buffer buffer_of(const std::vector<T>& values) {
  Buffer buffer = Buffer::allocate(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(buffer.data(), values.data(), buffer.size());
  return buffer;
}

Field named(const std::string& name, FieldKind kind, DType dtype = DType::kUint8, Shape shape = {}) {
  Field field;
  field.name = name, field.kind = kind, field.dtype = dtype, field.shape = shape;
  return field;
}

Buffer characters(const std::string& text) { return buffer_of(std::vector<uint8_t>(text.begin(), text.end())); }

Buffer lists_of_two_rows(std::vector<int64_t>* offsets) {
  const std::vector<std::string_view> first{"a", "", "bcd"};
  const Tensor one = *StringList::pack(first), none = *StringList::pack({});
  std::vector<uint8_t> all(one.buffer.data(), one.buffer.data() + one.buffer.size());
  all.insert(all.end(), none.buffer.data(), none.buffer.data() + none.buffer.size());
  *offsets = {0, static_cast<int64_t>(one.buffer.size()), static_cast<int64_t>(all.size())};
  return buffer_of(all);
}

// Two rows of every kind of column. Offsets begin at `first`.
Columns two_rows(int64_t first = 0) {
  Columns columns;
  columns.rows = 2;
  const auto add = [&](Field field, Buffer values, Buffer offsets = {}) {
    columns.schema.push_back(std::move(field));
    columns.values.push_back({std::move(values), std::move(offsets)});
  };
  std::vector<float> picture(2 * 3 * 2);
  std::iota(picture.begin(), picture.end(), 0.5F);
  add(named("id", FieldKind::kTensor, DType::kInt64), buffer_of<int64_t>({7, -1}));
  add(named("picture", FieldKind::kTensor, DType::kFloat32, {3, 2}), buffer_of(picture));
  add(named("mask", FieldKind::kTensor, DType::kBool, {3}), buffer_of<uint8_t>({1, 0, 1, 0, 1, 0}));
  add(named("list", FieldKind::kTensor, DType::kInt16, {Shape::kUnknown}), buffer_of<int16_t>({9, 9, 1, 2, 3}),
      buffer_of<int64_t>({first, 2, 5}));
  add(named("text", FieldKind::kText), characters("xyné"), buffer_of<int64_t>({first, 2, 5}));
  add(named("bytes", FieldKind::kBytes), buffer_of<uint8_t>({255, 0, 254}), buffer_of<int64_t>({first, 3, 3}));
  std::vector<int64_t> offsets;
  Buffer runs = lists_of_two_rows(&offsets);
  add(named("names", FieldKind::kTextList), runs, buffer_of(offsets));
  return columns;
}

std::shared_ptr<const TableFile> opened(const Buffer& file) {
  const TableCodec& codec = arrow_codecs().arrow_file();
  const std::vector<ByteRange> wanted = *codec.index_ranges(file.span(), file.size(), {});
  const TableFile::Piece all{0, file};
  return *codec.open(file, file.size(), {}, {&all, 1});
}

Columns read_back(const TableFile& table, const Buffer& file, int64_t group) {
  std::vector<size_t> fields(table.schema().size());
  std::iota(fields.begin(), fields.end(), size_t{0});
  const TableFile::Piece all{0, file};
  WorkMemory memory;
  return *table.decode(group, fields, {&all, 1}, memory);
}

TEST(IpcWriter, EveryKindOfColumnComesBackAsItWas) {
  for (const std::string compression : {"", "lz4", "zstd"}) {
    for (const int64_t first : {0, 1}) {
      const std::vector<Columns> batches{two_rows(first), two_rows(0)};
      const Result<WrittenTable> written = write_ipc_file(batches, compression);
      ASSERT_TRUE(written.ok()) << written.status().to_string();
      const auto table = opened(written->bytes.together());
      ASSERT_EQ(table->groups(), 2);
      for (int64_t group = 0; group < 2; ++group) {
        const Columns back = read_back(*table, written->bytes.together(), group);
        EXPECT_EQ(back.schema.to_string(), batches[0].schema.to_string());
        EXPECT_EQ(content_hash(back), content_hash(batches[static_cast<size_t>(group)])) << compression << first;
      }
    }
  }
}

TEST(IpcWriter, ItTellsWhereValuesLie) {
  const std::vector<Columns> batches{two_rows(1), two_rows(0)};
  const WrittenTable written = *write_ipc_file(batches, "");
  const Buffer file = written.bytes.together();
  ASSERT_EQ(written.values.size(), 2u);
  for (size_t batch = 0; batch < 2; ++batch) {
    const Columns& columns = batches[batch];
    ASSERT_EQ(written.values[batch].size(), columns.schema.size());
    for (const char* name : {"id", "picture"}) {
      const size_t column = *columns.schema.find(name);
      const ByteRange& place = written.values[batch][column];
      ASSERT_GE(place.length, columns.values[column].values.size());
      EXPECT_EQ(std::memcmp(file.data() + place.offset, columns.values[column].values.data(),
                            columns.values[column].values.size()),
                0)
          << name;
    }
    const ByteRange& text = written.values[batch][*columns.schema.find("text")];
    EXPECT_EQ(file.data()[text.offset], batch == 0 ? 'y' : 'x') << "from the first row's on";
  }
}

TEST(IpcWriter, EqualColumnsGiveEqualBytes) {
  const std::vector<Columns> batches{two_rows(0)};
  const WrittenTable one = *write_ipc_file(batches, "zstd"), two = *write_ipc_file(batches, "zstd");
  EXPECT_EQ(one.bytes.hash(), two.bytes.hash());
}

TEST(IpcWriter, TextThatIsNoneIsNamed) {
  Columns columns;
  columns.rows = 1;
  columns.schema.push_back(named("key", FieldKind::kText));
  columns.values.push_back({buffer_of<uint8_t>({'a', 0xff}), buffer_of<int64_t>({0, 2})});
  const Result<WrittenTable> written = write_ipc_file({&columns, 1}, "");
  EXPECT_EQ(written.status().code(), Code::kInvalidArgument);
  EXPECT_NE(written.status().message().find("'key'"), std::string::npos);
}

}  // namespace
}  // namespace forebay
