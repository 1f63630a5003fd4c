#include "format/table/table_index.h"

#include <gtest/gtest.h>

#include "format/table/open_table_test_support.h"
#include "store/slow/slow_store.h"

namespace forebay {

using namespace table_test;  // NOLINT: these tests are written in its words

namespace {

/// Files of the store whose sizes are not known yet.
DataFiles unsized(std::shared_ptr<Store> store, const Names& keys) {
  DataFiles files{std::move(store), "", {}};
  for (const std::string& key : keys) files.files.push_back({key, {}, 0});
  return files;
}

IndexOptions by(const TableCodec& codec, Names filter_columns = {}, NullPolicy nulls = {}) {
  IndexOptions options;
  options.codec = &codec;
  options.reading = std::move(nulls);
  options.filter_columns = std::move(filter_columns);
  return options;
}

/// The fake format, but with an index that also needs the first bytes, and without support for
/// changing its null policy.
class HeadedCodec final : public TableCodec {
 public:
  explicit HeadedCodec(FakeCounts* counts) : inner_(counts) {}
  Result<uint64_t> index_tail_bytes(std::span<const uint8_t> tail, uint64_t size) const override {
    return inner_.index_tail_bytes(tail, size);
  }
  Result<std::vector<ByteRange>> index_ranges(std::span<const uint8_t>, uint64_t,
                                              std::span<const TableFile::Piece> have) const override {
    if (!have.empty()) return std::vector<ByteRange>();
    return std::vector<ByteRange>{{0, 4}, {6, 2}};
  }
  Result<std::shared_ptr<const TableFile>> open(Buffer tail, uint64_t size, const TableReading& reading,
                                                std::span<const TableFile::Piece> more) const override {
    std::string bytes;
    for (const TableFile::Piece& piece : more)
      bytes.append(reinterpret_cast<const char*>(piece.bytes.data()), piece.bytes.size());
    if (!bytes.starts_with("HEAD")) return corrupt("the head is missing");
    FOREBAY_ASSIGN(auto inner, inner_.open(std::move(tail), size, reading, {}));
    return std::shared_ptr<const TableFile>(std::make_shared<Fixed>(std::move(inner)));
  }

 private:
  struct Fixed final : TableFile {
    explicit Fixed(std::shared_ptr<const TableFile> of) : inner(std::move(of)) {}
    const Schema& schema() const override { return inner->schema(); }
    int64_t groups() const override { return inner->groups(); }
    int64_t rows(int64_t group) const override { return inner->rows(group); }
    std::vector<ByteRange> ranges(int64_t group, std::span<const size_t> fields) const override {
      return inner->ranges(group, fields);
    }
    ChunkCost cost(int64_t group, std::span<const size_t> fields) const override { return inner->cost(group, fields); }
    FieldBounds bounds(int64_t group, size_t field) const override { return inner->bounds(group, field); }
    Result<Columns> decode(int64_t group, std::span<const size_t> fields, std::span<const Piece> pieces,
                           WorkMemory& memory) const override {
      return inner->decode(group, fields, pieces, memory);
    }
    const std::shared_ptr<const TableFile> inner;
  };
  const FakeCodec inner_;
};

}  // namespace

TEST(TableIndex, sizes_that_nobody_knew_are_known_then) {
  const auto store = memory_store();
  const std::string bytes = table(0, {2, 1}).to_bytes();
  store->put("a", bytes);
  FakeCounts counts;
  const FakeCodec codec(&counts);
  DataFiles files = unsized(store, {"a"});
  const auto opened = read_indices(files, by(codec), {});
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  EXPECT_EQ(files.files[0].size, bytes.size());
  EXPECT_EQ(opened->files[0].file->groups(), 2);
  EXPECT_EQ(opened->files[0].masked, nullptr) << "nobody filters";
}

TEST(TableIndex, a_filter_sees_nulls_whatever_the_user_wants_of_them) {
  const auto store = memory_store();
  store->put("a", "HEAD...." + table(0, {2}).to_bytes());
  const FakeCodec plain(nullptr);
  const HeadedCodec headed(nullptr);
  NullPolicy masks;
  masks.kind = NullPolicy::Kind::kMask;
  for (const TableCodec* codec : {static_cast<const TableCodec*>(&plain), static_cast<const TableCodec*>(&headed)}) {
    DataFiles files = unsized(store, {"a"});
    const auto errors = read_indices(files, by(*codec, {"a"}), {}).value();
    EXPECT_EQ(errors.files[0].file->schema().names(), "a, b, t");
    EXPECT_EQ(errors.files[0].masked->schema().names(), "a, a" + std::string(kFilterMaskEnding) + ", b, t");
    const auto masked = read_indices(files, by(*codec, {"a"}, masks), {}).value();
    EXPECT_EQ(masked.files[0].file, masked.files[0].masked) << "one and the same";
  }
}

TEST(TableIndex, what_an_index_wants_besides_the_end_of_the_file_is_read) {
  const auto store = memory_store();
  store->put("a", "HEAD...." + table(0, {2}).to_bytes());
  store->put("b", "....HEAD" + table(0, {2}).to_bytes());
  const HeadedCodec codec(nullptr);
  DataFiles good = unsized(store, {"a"}), bad = unsized(store, {"a", "b"});
  EXPECT_TRUE(read_indices(good, by(codec), {}).ok());
  expect_error(read_indices(bad, by(codec), {}).status(), Code::kCorrupt,
               {"memory:b", "the head is missing", "restore the file"});
}

TEST(TableIndex, ten_bad_files_are_named_in_their_order_and_the_rest_counted) {
  const auto store = memory_store();
  Names keys;
  for (int i = 0; i < 15; ++i) {
    keys.push_back(fmt::format("f{:02}", i));
    if (i == 0) store->put(keys.back(), table(0, {1}).to_bytes());
    if (i % 3 == 1) store->put(keys.back(), "this is no table");
    if (i % 3 == 2) store->put(keys.back(), std::string_view());
  }
  const FakeCodec codec(nullptr);
  DataFiles files = unsized(store, keys);
  const Status status = read_indices(files, by(codec), {}).status();
  expect_error(status, Code::kCorrupt,
               {"14 of 15 files cannot be read:\n  memory:f01: ", "f02: the file is empty (0 bytes)",
                "memory:f03: ", "memory:f10: ", "and 4 more"});
  EXPECT_EQ(status.message().find("f11"), std::string::npos) << status.message();
  DataFiles gone = unsized(store, {"f00", "f03"});
  expect_error(read_indices(gone, by(codec), {}).status(), Code::kNotFound, {"memory:f03", "leave it out"});
}

TEST(TableIndex, a_store_that_does_not_answer_is_no_bad_file) {
  const auto store = memory_store();
  store->put("a", table(0, {1}).to_bytes());
  const FakeCodec codec(nullptr);
  DataFiles failing = unsized(slow_store(store, {.error_rate = 1}), {"a"});
  const Status status = read_indices(failing, by(codec), {}).status();
  expect_error(status, Code::kUnavailable, {"memory:a"});
  EXPECT_EQ(status.message().find("restore"), std::string::npos);
  std::stop_source stopped;
  stopped.request_stop();
  DataFiles files = unsized(store, {"a"});
  EXPECT_EQ(read_indices(files, by(codec), stopped.get_token()).status().code(), Code::kCancelled);
}

TEST(TableIndex, an_index_cut_at_any_byte_is_told_and_nothing_else_happens) {
  const auto store = memory_store();
  const std::string whole = table(0, {2}).to_bytes();
  const FakeCodec codec(nullptr);
  for (size_t size = 0; size < whole.size(); ++size) {
    store->put("a", whole.substr(0, size));
    DataFiles files = unsized(store, {"a"});
    EXPECT_EQ(read_indices(files, by(codec), {}).status().code(), Code::kCorrupt) << size;
  }
}

}  // namespace forebay
