#include <algorithm>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

// The fields that stay: those that are given, once steps that nobody needs have been left out;
// otherwise all but `names`.
std::vector<std::string> staying_fields(const OpSpec& spec, const Schema& before) {
  if (const auto given = spec.args.find("fields"); given != spec.args.end() && !given->is_null())
    return field_list(*given);
  const auto left_out = spec.args.find("names");
  const std::vector<std::string> names =
      left_out == spec.args.end() ? std::vector<std::string>() : field_list(*left_out);
  std::vector<std::string> staying;
  for (const Field& field : before)
    if (std::ranges::find(names, field.name) == names.end()) staying.push_back(field.name);
  return staying;
}

std::vector<size_t> staying_indices(const OpSpec& spec, const Schema& before) {
  const std::vector<std::string> staying = staying_fields(spec, before);
  std::vector<size_t> indices;
  for (size_t i = 0; i < before.size(); ++i)
    if (std::ranges::find(staying, before[i].name) != staying.end()) indices.push_back(i);
  return indices;
}

// Indices ascend, so nothing is overwritten before it is moved.
template <typename T>
void keep_only(std::vector<T>& values, const std::vector<size_t>& indices) {
  for (size_t i = 0; i < indices.size(); ++i)
    if (indices[i] != i) values[i] = std::move(values[indices[i]]);
  values.resize(indices.size());
}

class LeaveOut final : public RecordOp {
 public:
  explicit LeaveOut(std::vector<size_t> staying) : staying_(std::move(staying)) {}
  Status apply(Record& record, const SampleContext&) const override {
    keep_only(record, staying_);
    return {};
  }

 private:
  const std::vector<size_t> staying_;
};

class LeaveOutColumns final : public ColumnOp {
 public:
  explicit LeaveOutColumns(std::vector<size_t> staying) : staying_(std::move(staying)) {}
  Status apply(Columns& columns, WorkMemory&) const override {
    std::vector<Field> fields(columns.schema.begin(), columns.schema.end());
    keep_only(fields, staying_);
    columns.schema = Schema(std::move(fields));
    keep_only(columns.values, staying_);
    return {};
  }

 private:
  const std::vector<size_t> staying_;
};

std::vector<ArgDef> leave_out_args() {
  return {{"names", ArgType::kFields, false, nullptr, "the fields to leave out, if there are any"},
          {"fields", ArgType::kFields, false, nullptr, "the fields that stay and are needed"}};
}

void infer_leave_out(const OpSpec& spec, Schema& schema, std::vector<Problem>& problems) {
  Problems wrong(problems);
  check_args(spec.args, leave_out_args(), wrong);
  if (wrong.any()) return;
  Schema after;
  for (const size_t i : staying_indices(spec, schema)) after.push_back(schema[i]);
  after.open_ended = schema.open_ended;
  schema = std::move(after);
}

}  // namespace

OpDef leave_out_op() {
  OpDef def;
  def.name = "leave_out";
  def.help = "All fields but those with these names.";
  def.args = leave_out_args();
  def.infer = infer_leave_out;
  def.compile = [](const OpSpec& spec, const Schema& before, uint32_t) -> Result<std::unique_ptr<RecordOp>> {
    return std::unique_ptr<RecordOp>(std::make_unique<LeaveOut>(staying_indices(spec, before)));
  };
  def.compile_columns = [](const OpSpec& spec, const Schema& before) -> Result<std::unique_ptr<ColumnOp>> {
    return std::unique_ptr<ColumnOp>(std::make_unique<LeaveOutColumns>(staying_indices(spec, before)));
  };
  def.role = OpRole::kChoice;
  def.made_by_sources = true;
  def.uses = [](const OpSpec& spec, const Schema& before) { return FieldUse{staying_fields(spec, before), {}}; };
  return def;
}

}  // namespace forebay
