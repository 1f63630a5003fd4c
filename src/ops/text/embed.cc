#include <cstring>

#include <fmt/format.h>

#include "format/files/mapped_file.h"
#include "format/npy_file.h"
#include "ops/definition/args.h"
#include "ops/definition/element_types.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

bool is_integer(DType dtype) { return dtype != DType::kBool && !is_floating(dtype); }

Shape rows_of(int64_t count, const Shape& table) {
  Shape shape{count};
  for (size_t i = 1; i < table.rank(); ++i) shape.push_back(table[i]);
  return shape;
}

class Embed final : public RecordOp {
 public:
  Embed(ArrayView table, size_t field, std::string name, std::optional<double> fill, int64_t length)
      : table_(std::move(table)), field_(field), name_(std::move(name)), fill_(fill), length_(length) {
    row_bytes_ = dtype_size(table_.dtype);
    for (size_t i = 1; i < table_.shape.rank(); ++i) row_bytes_ *= static_cast<size_t>(table_.shape[i]);
  }

  Status apply(Record& record, const SampleContext& context) const override {
    WorkMemory& memory = *context.memory;
    Value& value = record[field_];
    if (value.kind != FieldKind::kTensor || value.shape().rank() != 1 || !is_integer(value.dtype()))
      return unsupported(fmt::format("the field '{}' is no row of integers", name_));
    FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
    FOREBAY_ASSIGN(const std::vector<int64_t> ids, ids_of(value.tensor));
    FOREBAY_RETURN_IF_ERROR(memory.reserve(ids.size() * row_bytes_));
    Tensor made = Tensor::allocate(table_.dtype, rows_of(static_cast<int64_t>(ids.size()), table_.shape));
    const auto gather = [&] {
      uint8_t* out = made.buffer.data();
      for (const int64_t id : ids) {
        std::memcpy(out, table_.data + static_cast<size_t>(id) * row_bytes_, row_bytes_);
        out += row_bytes_;
      }
    };
    // Reads through the file object, which notices if the mapped file became shorter; direct access
    // would raise a signal.
    FOREBAY_RETURN_IF_ERROR(table_.file->read(gather));
    record.push_back(Value::of(std::move(made)));
    return {};
  }

 private:
  Result<std::vector<int64_t>> ids_of(const Tensor& tensor) const {
    std::vector<int64_t> ids(static_cast<size_t>(tensor.shape[0]));
    with_element(tensor.dtype, [&](auto type) {
      using T = decltype(type);
      if constexpr (std::is_integral_v<T>) {
        for (size_t i = 0; i < ids.size(); ++i)
          ids[i] = static_cast<int64_t>(load_element<T>(tensor.buffer.data(), static_cast<int64_t>(i)));
      }
    });
    // The batch pads ids, but has no rows of the table for them, so the table's row of the padding
    // id is used.
    if (fill_ && length_ > tensor.shape[0]) ids.resize(static_cast<size_t>(length_), static_cast<int64_t>(*fill_));
    const int64_t rows = table_.shape[0];
    for (size_t i = 0; i < ids.size(); ++i) {
      // Unsigned 64-bit ids above the signed range are negative here.
      if (ids[i] < 0 || ids[i] >= rows) {
        return corrupt(fmt::format("the field '{}' has the id {} at place {}, and the table has the rows 0 to {}",
                                   name_, ids[i], i, rows - 1));
      }
    }
    return ids;
  }

  const ArrayView table_;
  const size_t field_;
  const std::string name_;
  const std::optional<double> fill_;
  const int64_t length_;
  size_t row_bytes_ = 0;
};

void infer_embed(const Args& args, Schema& schema, Problems& problems) {
  if (!args.has("hash")) {
    problems.add(fmt::format("'{}' could not be read when the step was described, and its hash is not given",
                             args.text("table")),
                 "give the path of a .npy file, or hash= of the one that will be there");
  }
  const std::string into = args.text("into");
  if (into.empty() || schema.find(into))
    return problems.add(fmt::format("there is a field '{}' already", into), "give another name with into=");
  const std::vector<size_t> found = check_fields(std::vector<std::string>{args.text("field")}, schema, problems);
  if (found.empty()) return;
  const Field field = schema[found[0]];
  const bool row = field.kind == FieldKind::kTensor && field.shape.rank() == 1 && is_integer(field.dtype);
  if (field.kind != FieldKind::kAny && !row) {
    return problems.add(
        fmt::format("the field '{}' is {}, and .embed takes a row of integers", field.name, field.type_word()),
        "name the field that .tokenize made");
  }
  if (field.pad_value && field.pad_length == 0) {
    return problems.add(
        fmt::format("the field '{}' is padded to the longest of its batch, which no sample knows", field.name),
        fmt::format("give .pad(\"{}\", length=…)", field.name));
  }
  Field made;
  made.name = into;
  made.kind = FieldKind::kAny;  // known when the table is opened
  schema.push_back(std::move(made));
}

Result<std::unique_ptr<RecordOp>> compile_embed(const Args& args, const Schema& before, uint32_t) {
  const std::string path = args.text("table");
  FOREBAY_ASSIGN(const auto file, MappedFile::open(path));
  Hash128 is;
  FOREBAY_RETURN_IF_ERROR(file->read([&] { is = hash128(file->data(), file->size()); }));
  // Results depend on the contents of the table; a saved state must not continue with another one.
  if (is.to_string() != args.text("hash")) {
    return Status(
               Code::kStateMismatch,
               fmt::format(
                   "the table has changed since the pipeline was made: its hash is {}, not {}; make the step anew, or "
                   "restore the file",
                   is.to_string(), args.text("hash")))
        .with_key(path);
  }
  FOREBAY_ASSIGN(ArrayView table, map_npy_file(path));
  if (table.text || table.shape.rank() < 1)
    return invalid_argument("the table holds no rows of numbers; its first axis is the id").with_key(path);
  const size_t field = *before.find(args.text("field"));
  return std::unique_ptr<RecordOp>(std::make_unique<Embed>(std::move(table), field, args.text("field"),
                                                           before[field].pad_value, before[field].pad_length));
}

FieldUse embed_uses(const OpSpec& op, const Schema&) {
  const auto named = [&](const char* arg, const char* otherwise) {
    const Json given = op.args.value(arg, Json(otherwise));
    return given.is_string() ? given.get<std::string>() : std::string();
  };
  return {{named("field", "tokens")}, {named("into", "embedding")}};
}

}  // namespace

OpDef embed_op() {
  return make_op(
      {.name = "embed",
       .group = OpGroup::kText,
       .help = R"(A row of integers to the rows of a table at these places: (n,) to (n, ...), in the table's own type.

Corrupt, with the id and its place, for an id that the table does not have.)",
       .args = {{"table", ArgType::kPath, true, nullptr, "a .npy file; its first axis is the id", ArgForm::kPlain,
                 ArgUse::kPlace},
                implied({"field", ArgType::kText, false, "tokens",
                         "the field of integers, which stays; padded with `.pad(field, length=...)` where rows differ "
                         "in length"}),
                implied({"into", ArgType::kText, false, "embedding", "name of the field of rows"}),
                {"hash", ArgType::kFileHash, false, nullptr,
                 "xxh3-128 of the file, part of the pipeline's fingerprint; by default the file is read now. A loader "
                 "refuses another file with StateMismatch."}},
       .infer = infer_embed,
       .compile = compile_embed,
       .uses = embed_uses});
}

}  // namespace forebay
