#include "format/materialized/mapped_shards.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "format/materialized/materialized_test_support.h"

#ifdef FOREBAY_WITH_ARROW

namespace forebay {
namespace {

using namespace materialized_test;
namespace fs = std::filesystem;

constexpr int64_t kRows = 40, kLength = 700;

Tensor row_tensor(int64_t id) { return tensor_of(DType::kUint16, {kLength / 2}, id); }

/// A local folder: a tensor in the range of each sample, a label in the index.
struct LocalFolder {
  fs::path root;
  MaterializedManifest manifest;

  explicit LocalFolder(std::vector<StoredField> more = {}) {
    std::string name = (fs::temp_directory_path() / "forebay-mapped-XXXXXX").string();
    root = ::mkdtemp(name.data());
    manifest.steps = R"([{"op":"arrays","args":{}}])";
    manifest.fields = {stored("x", FieldKind::kTensor, DType::kUint16, {kLength / 2}),
                       stored("label", FieldKind::kTensor, DType::kInt64)};
    manifest.fields[1].in_index = true;
    for (StoredField& field : more) manifest.fields.push_back(field);
    fs::create_directories(root / "_index");
    for (int64_t shard = 0; shard < 2; ++shard) {
      std::vector<Record> samples;
      for (int64_t id = shard * kRows / 2; id < (shard + 1) * kRows / 2; ++id) {
        samples.emplace_back();
        samples.back().push_back(Value::of(row_tensor(id)));
        samples.back().push_back(Value::of(tensor_of(DType::kInt64, {}, id)));
        for (size_t i = 0; i < more.size(); ++i) samples.back().push_back(Value::of_bytes(buffer_of("bytes")));
      }
      const ShardFiles files = write_sample_shard(manifest.fields, shard * kRows / 2, samples, real_codecs()).value();
      write(shard_file(shard, manifest.format), files.data.together().span());
      write(index_file(shard), files.index.span());
      manifest.shards.push_back(entry_of(files, kRows / 2));
      manifest.size += kRows / 2;
    }
    const std::string text = manifest.to_json();
    write("_manifest.json", {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  ~LocalFolder() { fs::remove_all(root); }

  void write(const std::string& name, std::span<const uint8_t> bytes) const {
    std::ofstream(root / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  std::shared_ptr<const Source> open() const {
    const StoreAndPath folder = open_store(root.string()).value();
    return open_materialized(folder, read_manifest(folder, {}).value(), real_codecs(), {}).value();
  }
  std::string shard(int64_t i) const { return (root / shard_file(i, manifest.format)).string(); }
  /// Changes a byte of a sample's range in place.
  void flip(int64_t id) const {
    const std::string path = shard(id / (kRows / 2));
    std::ifstream in(path, std::ios::binary);
    std::string whole((std::istreambuf_iterator<char>(in)), {});
    const Tensor values = row_tensor(id);
    const std::string wanted(reinterpret_cast<const char*>(values.buffer.data()), values.nbytes());
    const size_t at = whole.find(wanted);
    ASSERT_NE(at, std::string::npos);
    const int fd = ::open(path.c_str(), O_WRONLY);
    const char other = static_cast<char>(whole[at + 9] ^ 0x40);
    EXPECT_EQ(::pwrite(fd, &other, 1, static_cast<off_t>(at + 9)), 1);
    ::close(fd);
  }
};

std::vector<int64_t> ids_backwards() {
  std::vector<int64_t> ids;
  for (int64_t id = kRows; id-- > 0;) ids.push_back(id);
  return ids;
}

TEST(MappedShards, RowsOfOneLengthAreGatheredWithoutFetchingAndAreTheValues) {
  const LocalFolder folder;
  const auto source = folder.open();
  ASSERT_TRUE(source->as_samples()->gathers(0) && source->as_samples()->gathers(1));
  EXPECT_EQ(source->as_samples()->fetch(3).store, nullptr);
  EXPECT_FALSE(source->schema()[0].fetched);
  const std::vector<int64_t> ids = ids_backwards();
  std::vector<uint8_t> rows(ids.size() * kLength);
  std::vector<int64_t> labels(ids.size());
  ASSERT_TRUE(source->as_samples()->gather(0, ids, rows.data()).ok());
  ASSERT_TRUE(source->as_samples()->gather(1, ids, reinterpret_cast<uint8_t*>(labels.data())).ok());
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(std::memcmp(rows.data() + i * kLength, row_tensor(ids[i]).buffer.data(), kLength), 0) << ids[i];
    EXPECT_EQ(labels[i], *tensor_of(DType::kInt64, {}, ids[i]).data<int64_t>());
    const Result<Record> record = read_sample(*source, ids[i]);
    ASSERT_TRUE(record.ok());
    EXPECT_EQ(bytes_of_value((*record)[0]),
              std::string(reinterpret_cast<const char*>(rows.data() + i * kLength), kLength));
  }
}

TEST(MappedShards, IdentitiesAndVersionAreThoseOfTheSameFilesRead) {
  const LocalFolder folder;
  const auto mapped = folder.open();
  const StoreAndPath named{open_store(folder.root.string())->store, folder.root.string(), "elsewhere"};
  const auto read = open_materialized(named, *read_manifest(named, {}), real_codecs(), {}).value();
  ASSERT_TRUE(mapped->as_samples()->gathers(0));
  ASSERT_FALSE(read->as_samples()->gathers(0));
  EXPECT_EQ(mapped->version(), read->version());
  for (const int64_t id : {0, 19, 20, 39}) {
    EXPECT_EQ(mapped->identity(id), read->identity(id));
    expect_same(*read_sample(*mapped, id), *read_sample(*read, id));
  }
}

TEST(MappedShards, AFlippedBitIsTheSamplesOwn) {
  const LocalFolder folder;
  const auto source = folder.open();
  folder.flip(23);
  std::vector<uint8_t> rows(static_cast<size_t>(kRows * kLength));
  const Status gathered = source->as_samples()->gather(0, ids_backwards(), rows.data());
  EXPECT_EQ(gathered.code(), Code::kCorrupt);
  EXPECT_NE(gathered.to_string().find("sample 3"), std::string::npos) << gathered.to_string();
  for (int64_t id = 0; id < kRows; ++id) EXPECT_EQ(read_sample(*source, id).ok(), id != 23) << id;
}

TEST(MappedShards, AShardThatBecomesShorterIsNamedAndEndsNothing) {
  const LocalFolder folder;
  const auto source = folder.open();
  fs::resize_file(folder.shard(1), 100);
  EXPECT_TRUE(read_sample(*source, 5).ok());
  const Status status = read_sample(*source, 39).status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.to_string().find("part-00001.arrow"), std::string::npos) << status.to_string();
}

TEST(MappedShards, WhatIsNotInTheCacheOrHasSeveralFieldsInItsRangesIsRead) {
  const LocalFolder folder;
  for (int64_t shard = 0; shard < 2; ++shard) {
    const int fd = ::open(folder.shard(shard).c_str(), O_RDONLY);
    ::fdatasync(fd);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ::close(fd);
  }
  const std::vector<MappedShards::Shard> shards{{folder.shard(0), fs::file_size(folder.shard(0))},
                                                {folder.shard(1), fs::file_size(folder.shard(1))}};
  // A file system in memory keeps its pages in the cache.
  const bool left_the_cache = MappedShards::of(shards) == nullptr;
  EXPECT_EQ(folder.open()->as_samples()->gathers(0), !left_the_cache);
  const LocalFolder several({stored("more", FieldKind::kBytes)});
  EXPECT_FALSE(several.open()->as_samples()->gathers(0));
  EXPECT_TRUE(several.open()->as_samples()->gathers(1)) << "what is in the index is at hand in any case";
  const Record record = read_sample(*several.open(), 2).value();
  EXPECT_EQ(bytes_of_value(record[0]), bytes_of_value(Value::of(row_tensor(2))));
  EXPECT_EQ(bytes_of_value(record[2]), "bytes");
}

TEST(MappedShards, AFileOfAnotherLengthIsLeftToWhoReadsIt) {
  const LocalFolder folder;
  const std::vector<MappedShards::Shard> wrong{{folder.shard(0), fs::file_size(folder.shard(0)) + 1}},
      missing{{folder.shard(0) + "x", 1}};
  EXPECT_EQ(MappedShards::of(wrong), nullptr);
  EXPECT_EQ(MappedShards::of(missing), nullptr);
  EXPECT_EQ(MappedShards::of({}), nullptr);
}

}  // namespace
}  // namespace forebay

#endif
