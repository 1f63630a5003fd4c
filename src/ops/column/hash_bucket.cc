#define XXH_INLINE_ALL  // eight bytes are hashed in fewer cycles than a call takes
// Read by memcpy: xxHash 0.8.3 else reads an integer of 64 bits as two of 32, which aliasing rules forbid. Inlined, GCC then
// hashes what was there before the integer.
#define XXH_FORCE_MEMORY_ACCESS 0
#include <xxhash.h>

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "ops/column/column.h"
#include "ops/definition/element_types.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

// The upper 64 bits of the product give each bucket an equal share of hashes without a division.
int64_t bucket_of(uint64_t hash, uint64_t buckets) {
  __extension__ using Product = unsigned __int128;
  return static_cast<int64_t>(static_cast<uint64_t>((static_cast<Product>(hash) * buckets) >> 64));
}

class HashBucket final : public ElementwiseOp {
 public:
  HashBucket(std::vector<std::string> fields, int64_t buckets, int64_t salt)
      : ElementwiseOp(std::move(fields), ColumnNeed::kKeys), buckets_(static_cast<uint64_t>(buckets)),
        salt_(static_cast<uint64_t>(salt)) {}

 private:
  std::optional<DType> output_dtype(const Field&) const override { return DType::kInt64; }

  void make(size_t, const Columns& columns, size_t field, uint8_t* out) const override {
    const Field& is = columns.schema[field];
    if (is.kind != FieldKind::kTensor) return strings(columns.values[field], columns.rows, out);
    with_element(is.dtype, [&](auto type) {
      if constexpr (std::is_integral_v<decltype(type)>) integers<decltype(type)>(elements(columns, field), out);
    });
  }

  void strings(const ColumnValues& column, int64_t rows, uint8_t* out) const {
    const int64_t* offset = column.offset();
    auto* to = reinterpret_cast<int64_t*>(out);
    for (int64_t row = 0; row < rows; ++row) {
      const uint8_t* begin = column.values.data() + offset[row];
      const auto size = static_cast<size_t>(offset[row + 1] - offset[row]);
      to[row] = bucket_of(XXH3_64bits_withSeed(begin, size, salt_), buckets_);
    }
  }

  template <typename T>
  void integers(const Elements& in, uint8_t* out) const {
    map_elements<T, int64_t>(in.data, out, in.count, [buckets = buckets_, salt = salt_](T x) {
      // A number gets the same bucket in every integer type.
      const auto wide = static_cast<int64_t>(x);
      return bucket_of(XXH3_64bits_withSeed(&wide, sizeof wide, salt), buckets);
    });
  }

  uint64_t buckets_, salt_;
};

void infer_hash_bucket(const Args& args, Schema& schema, Problems& problems) {
  if (const int64_t buckets = args.integer("buckets"); buckets < 1)
    problems.add(fmt::format("buckets is {}", buckets), "give at least 1");
  for (const size_t index : check_columns(args.names("field"), ColumnNeed::kKeys, "hash_bucket", schema, problems)) {
    Field& field = schema[index];
    if (field.kind == FieldKind::kAny) continue;
    if (field.kind != FieldKind::kTensor) {
      field.shape = Shape{};
      field.image = false;  // an encoded picture is no longer a picture
    }
    field.kind = FieldKind::kTensor;
    field.dtype = DType::kInt64;
  }
}

Result<std::unique_ptr<ColumnOp>> compile_hash_bucket(const Args& args, const Schema&) {
  return std::unique_ptr<ColumnOp>(
      std::make_unique<HashBucket>(args.names("field"), args.integer("buckets"), args.integer("salt")));
}

}  // namespace

OpDef hash_bucket_op() {
  return make_op(
      {.name = "hash_bucket",
       .group = OpGroup::kColumn,
       .help = R"(Text, bytes or integers to int64 in [0, buckets): equal values always to equal buckets.

The bucket is `xxh3_64(value, seed=salt) * buckets >> 64`, where value is the UTF-8 text, the bytes, or the integer as eight little-endian
bytes (two's complement; smaller types and bool are widened first).)",
       .args = {{"buckets", ArgType::kInt, true, nullptr, "how many, at least 1"},
                column_arg("a column of text, bytes or integers, or a list of columns; lists and tensors go element by "
                           "element, text and bytes as a whole"),
                {"salt", ArgType::kInt, false, 0, "the seed of xxh3: another one lets other values share a bucket"}},
       .infer = infer_hash_bucket,
       .compile_columns = compile_hash_bucket,
       .each = true});
}

}  // namespace forebay
