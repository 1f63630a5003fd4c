#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "codec/encode_image.h"
#include "forebay/string_list.h"
#include "format/materialized/open_materialized.h"
#include "format/materialized/sample_shard.h"
#include "format/materialized/sample_tar.h"
#include "format/table/load_codecs.h"
#include "store/memory/memory_store.h"

namespace forebay::materialized_test {

inline const TableCodecs& real_codecs() {
  static const TableCodecs* codecs = load_table_codecs().value();
  return *codecs;
}

inline StoredField stored(std::string name, FieldKind kind, DType dtype = DType::kUint8, Shape shape = {}) {
  StoredField made;
  made.field.name = std::move(name), made.field.kind = kind, made.field.dtype = dtype, made.field.shape = shape;
  return made;
}

inline Buffer buffer_of(std::string_view bytes) {
  Buffer buffer = Buffer::allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

/// A tensor whose bytes are a function of the seed.
inline Tensor tensor_of(DType dtype, Shape shape, int64_t seed) {
  Tensor tensor = Tensor::allocate(dtype, shape);
  for (size_t i = 0; i < tensor.nbytes(); ++i)
    tensor.buffer.data()[i] = static_cast<uint8_t>(dtype == DType::kBool ? (i + static_cast<size_t>(seed)) % 2
                                                                         : i * 31 + static_cast<size_t>(seed) * 7);
  return tensor;
}

/// Fields of every kind, some in the index: pictures of varying size, lists, texts, bytes, lists of
/// texts, and empty tensors.
inline std::vector<StoredField> all_kinds(bool string_lists = true) {
  std::vector<StoredField> fields{
      stored("pixels", FieldKind::kTensor, DType::kUint8, {Shape::kUnknown, Shape::kUnknown, 3}),
      stored("list", FieldKind::kTensor, DType::kInt16, {Shape::kUnknown}),
      stored("flags", FieldKind::kTensor, DType::kBool, {5}),
      stored("raw", FieldKind::kBytes),
      stored("text", FieldKind::kText),
      stored("label", FieldKind::kTensor, DType::kInt64),
      stored("none", FieldKind::kTensor, DType::kFloat32, {0, 4})};
  if (string_lists) fields.push_back(stored("names", FieldKind::kTextList));
  for (const size_t small : {1, 4, 5}) fields[small].in_index = true;
  if (string_lists) fields.back().in_index = true;
  return fields;
}

inline Record sample_of(int64_t id, bool string_lists = true) {
  Record record;
  record.push_back(Value::of(tensor_of(DType::kUint8, {1 + id % 4, 2 + id % 3, 3}, id)));
  record.push_back(Value::of(tensor_of(DType::kInt16, {id % 5}, id)));
  record.push_back(Value::of(tensor_of(DType::kBool, {5}, id)));
  record.push_back(Value::of_bytes(buffer_of(std::string(static_cast<size_t>(id % 7), static_cast<char>(id)))));
  record.push_back(Value::of_text(buffer_of("sample " + std::to_string(id) + " é")));
  record.push_back(Value::of(tensor_of(DType::kInt64, {}, id)));
  record.push_back(Value::of(tensor_of(DType::kFloat32, {0, 4}, id)));
  const std::vector<std::string_view> names{"a", "", "bcd"};
  if (string_lists)
    record.push_back(Value::of_list(FieldKind::kTextList,
                                    StringList::pack(std::span(names).first(static_cast<size_t>(id % 4)))->buffer));
  return record;
}

inline std::vector<Record> samples_of(int64_t first, int64_t count, bool string_lists = true) {
  std::vector<Record> samples;
  for (int64_t id = first; id < first + count; ++id) samples.push_back(sample_of(id, string_lists));
  return samples;
}

inline StoredShard entry_of(const ShardFiles& files, int64_t rows) {
  return {rows, files.data.size(), files.index.size(), files.data.hash(),
          hash128(files.index.data(), files.index.size())};
}

/// A folder in memory to which shards are added.
struct MadeFolder {
  std::shared_ptr<MemoryStore> store = memory_store();
  MaterializedManifest manifest;

  explicit MadeFolder(std::vector<StoredField> fields) {
    manifest.steps = R"([{"op":"arrays","args":{}}])";
    manifest.fields = std::move(fields);
  }
  void put(const ShardFiles& files, int64_t rows) {
    const auto shard = static_cast<int64_t>(manifest.shards.size());
    store->put("made/" + shard_file(shard, manifest.format), files.data.together());
    store->put("made/" + index_file(shard), files.index);
    manifest.shards.push_back(entry_of(files, rows));
    manifest.size += rows;
    store->put("made/_manifest.json", manifest.to_json());
  }
  Result<std::shared_ptr<const Source>> open() const {
    const StoreAndPath folder{store, "made", ""};
    FOREBAY_ASSIGN(MaterializedManifest read, read_manifest(folder, {}));
    return open_materialized(folder, std::move(read), real_codecs(), {});
  }
};

inline Result<Record> read_sample(const Source& source, int64_t id) {
  const SampleSource::Fetch fetch = source.as_samples()->fetch(id);
  Buffer fetched;
  if (fetch.store != nullptr) {
    FOREBAY_ASSIGN(fetched, read_wait(*fetch.store, fetch.request, {}));
  }
  Record record;
  FOREBAY_RETURN_IF_ERROR(source.as_samples()->load(id, std::move(fetched), record));
  WorkMemory memory;
  for (Value& value : record) FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
  return record;
}

inline std::string bytes_of_value(const Value& value) {
  const bool tensor = value.kind == FieldKind::kTensor;
  const Buffer& buffer = tensor ? value.tensor.buffer : value.bytes;
  const size_t size = tensor ? value.tensor.nbytes() : buffer.size();
  return {reinterpret_cast<const char*>(buffer.data()), size};
}

inline void expect_same(const Record& got, const Record& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].kind, wanted[i].kind) << i;
    EXPECT_EQ(bytes_of_value(got[i]), bytes_of_value(wanted[i])) << i;
    if (got[i].kind != FieldKind::kTensor) continue;
    EXPECT_EQ(got[i].tensor.dtype, wanted[i].tensor.dtype) << i;
    EXPECT_EQ(got[i].tensor.shape, wanted[i].tensor.shape) << i;
  }
}

}  // namespace forebay::materialized_test
