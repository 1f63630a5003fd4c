// Tests values, records, schemas and shapes.
#include "base/record.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>

#include "base/chunk_source.h"
#include "base/schema.h"

namespace forebay {
namespace {

/// Counts how often it is computed. Fails if asked to.
class CountingDeferred final : public Deferred {
 public:
  CountingDeferred(int& written, Status status = {}) : written_(written), status_(std::move(status)) {}
  DType dtype() const override { return DType::kInt16; }
  Shape shape() const override { return {3}; }
  Status write(std::span<uint8_t> out, WorkMemory&) override {
    ++written_;
    EXPECT_EQ(out.size(), 6u);
    std::fill(out.begin(), out.end(), uint8_t{7});
    return status_;
  }
  std::unique_ptr<Deferred> clone() const override { return std::make_unique<CountingDeferred>(*this); }

 private:
  int& written_;
  const Status status_;
};

Buffer text_buffer(std::string_view text) {
  Buffer buffer = Buffer::allocate(text.size());
  std::memcpy(buffer.data(), text.data(), text.size());
  return buffer;
}

TEST(Value, a_deferred_one_is_computed_once_and_says_before_what_it_will_be) {
  int written = 0;
  Value value = Value::of(std::make_unique<CountingDeferred>(written));
  EXPECT_EQ(value.dtype(), DType::kInt16);
  EXPECT_EQ(value.shape(), (Shape{3}));
  EXPECT_EQ(value.nbytes(), 6u);
  EXPECT_EQ(written, 0);
  WorkMemory memory;
  ASSERT_TRUE(value.materialize(memory).ok());
  ASSERT_TRUE(value.materialize(memory).ok());
  EXPECT_EQ(written, 1);
  EXPECT_EQ(value.tensor.data<uint8_t>()[5], 7);
  EXPECT_EQ(memory.reserved(), 6u);
}

TEST(Value, memory_is_reserved_before_a_deferred_one_is_computed) {
  int written = 0;
  Value value = Value::of(std::make_unique<CountingDeferred>(written));
  WorkMemory little(5);
  EXPECT_EQ(value.materialize(little).bytes_needed(), 6u);
  EXPECT_EQ(written, 0);
  WorkMemory enough(6);
  EXPECT_TRUE(value.materialize(enough).ok()) << "it is as it was, and can be tried again";
}

TEST(Value, one_that_fails_to_be_computed_stays_deferred) {
  int written = 0;
  Value value = Value::of(std::make_unique<CountingDeferred>(written, corrupt("torn")));
  WorkMemory memory;
  EXPECT_EQ(value.materialize(memory).code(), Code::kCorrupt);
  EXPECT_NE(value.deferred, nullptr);
  EXPECT_TRUE(value.tensor.buffer.empty()) << "nobody can take half a result for a whole one";
}

TEST(Value, a_copy_shares_memory_and_has_a_computation_of_its_own) {
  int written = 0;
  Value deferred = Value::of(std::make_unique<CountingDeferred>(written));
  Value copy = deferred.copy();
  WorkMemory memory;
  ASSERT_TRUE(copy.materialize(memory).ok());
  EXPECT_NE(deferred.deferred, nullptr);
  const Value text = Value::of_text(text_buffer("abc"));
  EXPECT_EQ(text.copy().bytes.data(), text.bytes.data());
  EXPECT_EQ(text.copy().kind, FieldKind::kText);
}

TEST(Value, is_written_as_its_bytes) {
  WorkMemory memory;
  std::string out(3, '?');
  Value text = Value::of_bytes(text_buffer("abc"));
  ASSERT_TRUE(text.write({reinterpret_cast<uint8_t*>(out.data()), 3}, memory).ok());
  EXPECT_EQ(out, "abc");
  Value nothing = Value::of_bytes(Buffer());
  EXPECT_EQ(nothing.nbytes(), 0u);
  EXPECT_TRUE(nothing.write({}, memory).ok());
}

Field field_named(std::string name, FieldKind kind, Shape shape = {}) {
  Field field;
  field.name = std::move(name);
  field.kind = kind;
  field.shape = shape;
  return field;
}

TEST(Schema, is_said_field_by_field) {
  const Schema schema({field_named("image", FieldKind::kTensor, {Shape::kUnknown, Shape::kUnknown, 3}),
                       field_named("label", FieldKind::kTensor), field_named("tags", FieldKind::kTextList),
                       field_named("made", FieldKind::kAny), field_named("row", FieldKind::kTensor, {4})});
  EXPECT_EQ(schema.to_string(),
            "image: uint8 (?, ?, 3), label: uint8 (), tags: lists of text, made: any, row: uint8 (4,)");
  EXPECT_EQ(schema.names(), "image, label, tags, made, row");
  EXPECT_EQ(Schema().to_string(), "");
}

TEST(Schema, finds_fields_by_their_whole_names) {
  Schema schema({field_named("a", FieldKind::kText), field_named("ab", FieldKind::kText)});
  EXPECT_EQ(schema.find("ab"), 1u);
  EXPECT_EQ(schema.find("abc"), std::nullopt);
  EXPECT_EQ(schema.find(""), std::nullopt);
  schema.erase(0);
  EXPECT_EQ(schema.find("ab"), 0u);
  EXPECT_EQ(schema.find("a"), std::nullopt);
}

TEST(Shape, knows_how_many_elements_it_has) {
  EXPECT_EQ(Shape().elements(), 1) << "a number alone";
  EXPECT_EQ((Shape{3, 4, 5}).elements(), 60);
  EXPECT_EQ((Shape{3, 0, 5}).elements(), 0);
  EXPECT_TRUE(Shape().fully_known());
  EXPECT_FALSE((Shape{3, Shape::kUnknown}).fully_known());
  EXPECT_NE((Shape{3}), (Shape{3, 1}));
}

TEST(DTypes, have_names_that_lead_back_to_them) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    names.insert(dtype_name(dtype));
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype);
    EXPECT_GE(dtype_size(dtype), 1u);
  }
  EXPECT_EQ(names.size(), kDTypeCount);
  for (const std::string_view none : {"", "int", "Float32", "float32 ", "complex64"})
    EXPECT_EQ(dtype_from_name(none), std::nullopt) << none;
}

TEST(Buffers, of_any_size_are_aligned_and_live_as_long_as_a_slice_of_them) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{4} << 20, (size_t{4} << 20) + 1}) {
    Buffer part;
    {
      Buffer buffer = Buffer::allocate(size);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u) << size;
      EXPECT_EQ(buffer.size(), size);
      std::memset(buffer.data(), 5, size);
      if (size > 0) part = buffer.slice(size - 1, 1);
    }
    if (size > 0) {
      EXPECT_EQ(part.data()[0], 5) << size;
    }
  }
}

/// Chunks of 3, 0, 0, 2 and 1 rows.
class FewChunks final : public ChunkSource {
 public:
  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return 6; }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t) const override { return ""; }
  int64_t chunks() const override { return 5; }
  int64_t chunk_begin(int64_t chunk) const override {
    return std::array<int64_t, 6>{0, 3, 3, 3, 5, 6}[static_cast<size_t>(chunk)];
  }
  std::string chunk_name(int64_t) const override { return ""; }
  ChunkCost chunk_cost(int64_t) const override { return {}; }
  ChunkFetch chunk_fetch(int64_t) const override { return {}; }
  Result<Columns> decode(int64_t, std::vector<Buffer>, WorkMemory&) const override { return Columns(); }
  std::optional<Hash128> chunk_identity(int64_t chunk) const override {
    if (chunk == 4) return std::nullopt;
    return Hash128{1, static_cast<uint64_t>(chunk)};
  }
  Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string>) const override {
    return std::shared_ptr<const ChunkSource>();
  }

 private:
  const Schema schema_;
};

TEST(ChunkSource, a_row_is_known_by_its_chunk_and_its_place_there) {
  const FewChunks source;
  std::set<std::string> identities;
  for (int64_t id = 0; id < 5; ++id) {
    const auto identity = source.identity(id);
    ASSERT_TRUE(identity) << id;
    identities.insert(identity->hash.to_string());
    const int64_t chunk = id < 3 ? 0 : 3;  // chunks without rows hold no id
    Hasher hasher;
    hasher.update_value(uint64_t{1});
    hasher.update_value(static_cast<uint64_t>(chunk));
    hasher.update_value(id - source.chunk_begin(chunk));
    EXPECT_EQ(identity->hash, hasher.digest()) << id;
  }
  EXPECT_EQ(identities.size(), 5u);
  EXPECT_FALSE(source.identity(5)) << "of a chunk whose version nobody knows";
  EXPECT_EQ(source.fewest_rows(), 0);
}

}  // namespace
}  // namespace forebay
