#include <algorithm>

#include <fmt/format.h>

#include "base/work_memory.h"
#include "ops/definition/args.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

class PartNumber final : public RecordOp {
 public:
  explicit PartNumber(int64_t value) : value_(value) {}

  Status apply(Record& record, const SampleContext&) const override {
    Tensor made = Tensor::allocate(DType::kInt64, Shape{});
    *made.data<int64_t>() = value_;
    record.push_back(Value::of(std::move(made)));
    return {};
  }

 private:
  int64_t value_;
};

Field number_field(std::string name) {
  Field field;
  field.name = std::move(name);
  field.dtype = DType::kInt64;
  return field;
}

class PartNumberColumn final : public ColumnOp {
 public:
  PartNumberColumn(std::string name, int64_t value) : name_(std::move(name)), value_(value) {}

  Status apply(Columns& columns, WorkMemory& memory) const override {
    const auto rows = static_cast<size_t>(columns.rows);
    FOREBAY_RETURN_IF_ERROR(memory.reserve(rows * sizeof value_));
    ColumnValues made{Buffer::allocate(rows * sizeof value_), {}};
    std::fill_n(reinterpret_cast<int64_t*>(made.values.data()), rows, value_);
    columns.schema.push_back(number_field(name_));
    columns.values.push_back(std::move(made));
    return {};
  }

 private:
  std::string name_;
  int64_t value_;
};

void infer_part_number(const Args& args, Schema& schema, Problems& problems) {
  const std::string name = args.text("field");
  if (name.empty()) return problems.add("field is empty", "give the field for the number of the part a name");
  if (schema.find(name))
    return problems.add(fmt::format("there is a field '{}' already", name), "give another name with field=");
  schema.push_back(number_field(name));
}

Result<std::unique_ptr<RecordOp>> compile_part_number(const Args& args, const Schema&, uint32_t) {
  return std::unique_ptr<RecordOp>(std::make_unique<PartNumber>(args.integer("value")));
}

Result<std::unique_ptr<ColumnOp>> compile_part_number_column(const Args& args, const Schema&) {
  return std::unique_ptr<ColumnOp>(std::make_unique<PartNumberColumn>(args.text("field"), args.integer("value")));
}

FieldUse part_number_uses(const OpSpec& spec, const Schema&) {
  const auto field = spec.args.find("field");
  return {{}, field == spec.args.end() ? std::vector<std::string>() : field_list(*field)};
}

}  // namespace

OpDef part_number_op() {
  OpDef def = make_op({.name = "part_number",
                       .help = "A field with the same whole number in every sample: the part that it is of.",
                       .args = {{"field", ArgType::kText, true, nullptr, "name of the new field"},
                                {"value", ArgType::kInt, true, nullptr, "the number"}},
                       .infer = infer_part_number,
                       .compile = compile_part_number,
                       .compile_columns = compile_part_number_column,
                       .uses = part_number_uses});
  def.made_by_sources = true;
  return def;
}

}  // namespace forebay
