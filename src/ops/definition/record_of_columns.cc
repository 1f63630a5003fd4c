#include "ops/definition/record_of_columns.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace forebay {
namespace {

class RecordOfColumns final : public RecordOp {
 public:
  RecordOfColumns(std::unique_ptr<ColumnOp> op, const std::vector<std::string>& reads, const Schema& before,
                  const Schema& after)
      : op_(std::move(op)) {
    for (const std::string& name : reads) {
      const auto index = before.find(name);
      // Columns are found by name, so a field that is named twice is converted once.
      if (!index || std::find(inputs_.begin(), inputs_.end(), *index) != inputs_.end()) continue;
      inputs_.push_back(*index);
      input_schema_.push_back(before[*index]);
    }
    for (const Field& field : after) {
      const auto from = before.find(field.name);
      const bool passes = from && std::find(inputs_.begin(), inputs_.end(), *from) == inputs_.end();
      outputs_.push_back({field.name, passes ? from : std::nullopt});
    }
  }

  Status apply(Record& record, const SampleContext& context) const override {
    FOREBAY_ASSIGN(Columns columns, take_inputs(record, *context.memory));
    FOREBAY_RETURN_IF_ERROR(op_->apply(columns, *context.memory));
    // There is one row, so its error is the error of the sample.
    if (columns.bad_rows && !columns.bad_rows->empty()) return columns.bad_rows->begin()->second;
    Record made = columns.row(0), result;
    result.reserve(outputs_.size());
    for (const Output& output : outputs_) {
      if (output.passes) {
        result.push_back(std::move(record[*output.passes]));
        continue;
      }
      const auto index = columns.schema.find(output.name);
      if (!index) return internal_error(fmt::format("the operator did not make the field '{}'", output.name));
      result.push_back(std::move(made[*index]));
    }
    record = std::move(result);
    return {};
  }

 private:
  struct Output {
    std::string name;
    std::optional<size_t> passes;  // its index before the operator
  };

  Result<Columns> take_inputs(Record& record, WorkMemory& memory) const {
    Record inputs;
    Schema schema;
    inputs.reserve(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Value& value = record[inputs_[i]];
      if (value.kind == FieldKind::kAny) {
        if (input_schema_[i].optional) continue;
        return invalid_argument(fmt::format("this sample has no field '{}'", input_schema_[i].name));
      }
      schema.push_back(input_schema_[i]);
      FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
      // Copied, because the operator may change it and a failure must leave the record unchanged.
      inputs.push_back(value.copy());
    }
    return columns_of(schema, inputs);
  }

  std::unique_ptr<ColumnOp> op_;
  std::vector<size_t> inputs_;
  Schema input_schema_;
  std::vector<Output> outputs_;
};

}  // namespace

std::unique_ptr<RecordOp> record_of_columns(std::unique_ptr<ColumnOp> op, const std::vector<std::string>& reads,
                                            const Schema& before, const Schema& after) {
  return std::make_unique<RecordOfColumns>(std::move(op), reads, before, after);
}

}  // namespace forebay
