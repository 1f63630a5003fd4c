#include "pipeline/operator.h"

#include <utility>

#include "base/columns.h"
#include "pipeline/part_fields.h"

namespace forebay {

namespace {

// An operator of a part of a zip. It gets the values of its part alone.
class PartOp final : public RecordOp {
 public:
  PartOp(PartFields fields, std::unique_ptr<RecordOp> op) : fields_(std::move(fields)), op_(std::move(op)) {}

  Status apply(Record& record, const SampleContext& context) const override {
    Record own = fields_.take(record);
    FOREBAY_RETURN_IF_ERROR(op_->apply(own, context));
    fields_.put(record, std::move(own));
    return {};
  }

 private:
  const PartFields fields_;
  const std::unique_ptr<RecordOp> op_;
};

class PartColumnOp final : public ColumnOp {
 public:
  PartColumnOp(PartFields fields, std::unique_ptr<ColumnOp> op) : fields_(std::move(fields)), op_(std::move(op)) {}

  Status apply(Columns& columns, WorkMemory& memory) const override {
    Columns own{fields_.own(), columns.rows, fields_.take(columns.values), columns.bad_rows};
    FOREBAY_RETURN_IF_ERROR(op_->apply(own, memory));
    columns.schema = fields_.with(own.schema);
    columns.bad_rows = std::move(own.bad_rows);
    fields_.put(columns.values, std::move(own.values));
    return {};
  }

 private:
  const PartFields fields_;
  const std::unique_ptr<ColumnOp> op_;
};

}  // namespace

Json OpDef::given(const OpSpec& op, ArgUse use) const {
  for (const ArgDef& arg : args) {
    if (arg.use != use) continue;
    const auto found = op.args.find(arg.name);
    return found == op.args.end() || found->is_null() ? arg.default_value : *found;
  }
  return nullptr;
}

FieldUse OpDef::used(const OpSpec& op, const Schema& before) const {
  if (!uses) return {};
  if (op.part.empty()) return uses(op, before);
  const Schema own = PartFields(before, op.part).own();
  FieldUse use = uses(op, own);
  // A function that names no fields gets those of its own part only.
  if (role == OpRole::kFunction && use.reads.empty())
    for (const Field& field : own) use.reads.push_back(field.name);
  for (auto* names : {&use.reads, &use.makes, &use.optional})
    for (std::string& field : *names) field = name_in_zip(op.part, field);
  // A choice drops fields of its own part only.
  for (size_t i = 0; role == OpRole::kChoice && i < before.size(); ++i)
    if (!name_in_part(op.part, before[i].name)) use.reads.push_back(before[i].name);
  if (!use.or_else.empty()) use.or_else = name_in_zip(op.part, use.or_else);
  return use;
}

void OpDef::follow(const OpSpec& op, Schema& schema, std::vector<Problem>& problems) const {
  if (!infer) return;
  if (op.part.empty()) return infer(op, schema, problems);
  const PartFields fields(schema, op.part);
  Schema own = fields.own();
  infer(op, own, problems);
  schema = fields.with(own);
}

Result<std::unique_ptr<RecordOp>> OpDef::make(const OpSpec& op, const Schema& before, uint32_t random_index) const {
  if (op.part.empty()) return compile(op, before, random_index);
  PartFields fields(before, op.part);
  FOREBAY_ASSIGN(std::unique_ptr<RecordOp> made, compile(op, fields.own(), random_index));
  if (!made) return made;
  return std::unique_ptr<RecordOp>(std::make_unique<PartOp>(std::move(fields), std::move(made)));
}

Result<std::unique_ptr<ColumnOp>> OpDef::make_columns(const OpSpec& op, const Schema& before) const {
  if (!compile_columns) return std::unique_ptr<ColumnOp>();
  if (op.part.empty()) return compile_columns(op, before);
  PartFields fields(before, op.part);
  FOREBAY_ASSIGN(std::unique_ptr<ColumnOp> made, compile_columns(op, fields.own()));
  if (!made) return made;
  return std::unique_ptr<ColumnOp>(std::make_unique<PartColumnOp>(std::move(fields), std::move(made)));
}

}  // namespace forebay
