#include <algorithm>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

class Select final : public RecordOp {
 public:
  explicit Select(std::vector<size_t> kept) : kept_(std::move(kept)) {}

  Status apply(Record& record, const SampleContext&) const override {
    // Indices ascend, so nothing is overwritten before it is moved.
    for (size_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i] != i) record[i] = std::move(record[kept_[i]]);
    }
    record.resize(kept_.size());
    return {};
  }

 private:
  std::vector<size_t> kept_;
};

class SelectColumns final : public ColumnOp {
 public:
  explicit SelectColumns(std::vector<std::string> names) : names_(std::move(names)) {}

  Status apply(Columns& columns, WorkMemory&) const override {
    Schema schema;
    std::vector<ColumnValues> values;
    for (size_t i = 0; i < columns.schema.size(); ++i) {
      if (std::find(names_.begin(), names_.end(), columns.schema[i].name) == names_.end()) continue;
      schema.push_back(columns.schema[i]);
      values.push_back(std::move(columns.values[i]));
    }
    columns.schema = std::move(schema);
    columns.values = std::move(values);
    return {};
  }

 private:
  std::vector<std::string> names_;
};

std::vector<size_t> kept_fields(const Args& args, const Schema& schema) {
  const std::vector<std::string> names = args.names("fields");
  std::vector<size_t> kept;
  for (size_t i = 0; i < schema.size(); ++i) {
    if (std::find(names.begin(), names.end(), schema[i].name) != names.end()) kept.push_back(i);
  }
  return kept;
}

void infer_select(const Args& args, Schema& schema, Problems& problems) {
  check_fields(args.names("fields"), schema, problems);
  Schema after;
  for (const size_t i : kept_fields(args, schema)) after.push_back(schema[i]);
  // Removing fields after a mistyped name would only cause more problems in later steps.
  if (!problems.any()) schema = std::move(after);
}

Result<std::unique_ptr<RecordOp>> compile_select(const Args& args, const Schema& before, uint32_t) {
  return std::unique_ptr<RecordOp>(std::make_unique<Select>(kept_fields(args, before)));
}

Result<std::unique_ptr<ColumnOp>> compile_select_columns(const Args& args, const Schema&) {
  return std::unique_ptr<ColumnOp>(std::make_unique<SelectColumns>(args.names("fields")));
}

}  // namespace

OpDef select_op() {
  return make_op({.name = "select",
                  .help = "Only these fields, in the order they had. What only the others needed is not read.",
                  .args = {{"fields", ArgType::kFields, true, nullptr, "names of the fields to keep", ArgForm::kList}},
                  .random = false,
                  .infer = infer_select,
                  .compile = compile_select,
                  .compile_columns = compile_select_columns,
                  .role = OpRole::kChoice});
}

}  // namespace forebay
