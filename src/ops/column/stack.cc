#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ops/column/column.h"
#include "ops/column/interleave.h"
#include "ops/definition/registry.h"
#include "pipeline/catalog.h"

namespace forebay {
namespace {

constexpr size_t kMaxAxes = Shape::kMaxRank - 1;  // a batch adds one

std::string described(const Field& field) {
  if (!field.shape.rank()) return fmt::format("'{}' is {}", field.name, dtype_name(field.dtype));
  return fmt::format("'{}' is {} {}", field.name, dtype_name(field.dtype), field.shape.to_string());
}

bool alike(const Field& a, const Field& b) { return a.dtype == b.dtype && a.shape == b.shape; }

Field stacked(const Field& one, std::string name, size_t count) {
  Field field;
  field.name = std::move(name);
  field.dtype = one.dtype;
  field.shape = Shape{static_cast<int64_t>(count)};
  for (const int64_t dim : one.shape) field.shape.push_back(dim);
  return field;
}

class Stack final : public ColumnOp {
 public:
  Stack(std::vector<std::string> fields, std::string name) : fields_(std::move(fields)), name_(std::move(name)) {}

  Status apply(Columns& columns, WorkMemory& memory) const override {
    FOREBAY_ASSIGN(const std::vector<size_t> found, find(columns));
    const Field one = columns.schema[found[0]];
    const size_t piece = row_bytes(one), bytes = piece * found.size() * static_cast<size_t>(columns.rows);
    FOREBAY_RETURN_IF_ERROR(memory.reserve(bytes));
    ColumnValues made{Buffer::allocate(bytes), {}};
    std::vector<const uint8_t*> from;
    for (const size_t column : found) from.push_back(columns.values[column].values.data());
    if (piece > 0) interleave(from, piece, columns.rows, made.values.data());
    put(columns, found, stacked(one, name_, found.size()), std::move(made));
    return {};
  }

 private:
  // infer() has checked the fields, unless user code made them.
  Result<std::vector<size_t>> find(const Columns& columns) const {
    std::vector<size_t> found;
    for (const std::string& name : fields_) {
      FOREBAY_ASSIGN(const size_t column, find_column(columns, name, ColumnNeed::kNumbersAndBool));
      const Field& field = columns.schema[column];
      if (!field.fixed_shape() || field.shape.rank() >= kMaxAxes)
        return unsupported(fmt::format("the field {} cannot be stacked", field.to_string()));
      if (!found.empty() && !alike(columns.schema[found[0]], field)) {
        return unsupported(fmt::format("{} and {}; what is stacked has one type and one shape",
                                       described(columns.schema[found[0]]), described(field)));
      }
      found.push_back(column);
    }
    return found;
  }

  static void put(Columns& columns, std::vector<size_t> found, Field field, ColumnValues made) {
    std::sort(found.rbegin(), found.rend());
    for (const size_t column : found) {
      columns.schema.erase(column);
      columns.values.erase(columns.values.begin() + static_cast<std::ptrdiff_t>(column));
    }
    columns.schema.push_back(std::move(field));
    columns.values.push_back(std::move(made));
  }

  std::vector<std::string> fields_;
  std::string name_;
};

// Reports all fields that differ from the first in one problem.
void check_alike(const Schema& schema, const std::vector<size_t>& fields, Problems& problems) {
  const Field* first = nullptr;
  std::vector<std::string> other_types;
  std::string text;
  size_t differ = 0;
  for (const size_t index : fields) {
    const Field& field = schema[index];
    if (field.kind != FieldKind::kTensor) continue;
    if (first == nullptr) first = &field;
    if (alike(*first, field)) continue;
    if (differ++ < 5) text += ", " + described(field);
    if (field.dtype != first->dtype) other_types.push_back(field.name);
  }
  if (differ == 0) return;
  if (differ > 5) text += fmt::format(" and {} more", differ - 5);
  problems.add(fmt::format("{}{}: what is stacked has one type and one shape", described(*first), text),
               other_types.empty() ? "stack columns of one shape"
                                   : fmt::format("put .cast(\"{}\", field=[{}]) before .stack",
                                                 dtype_name(first->dtype), quoted_list(other_types)));
}

void check_shapes(const Schema& schema, const std::vector<size_t>& fields, Problems& problems) {
  for (const size_t index : fields) {
    const Field& field = schema[index];
    if (field.kind != FieldKind::kTensor) continue;
    if (!field.shape.fully_known()) {
      problems.add(fmt::format("the field {} differs in shape from row to row", field.to_string()),
                   "stack columns of one shape; lists go into a batch by themselves");
    } else if (field.shape.rank() >= kMaxAxes) {
      problems.add(fmt::format("the field '{}' has {} axes already", field.name, field.shape.rank()), "leave it out");
    }
  }
}

void infer_stack(const Args& args, Schema& schema, Problems& problems) {
  const std::vector<std::string> names = args.names("fields");
  const std::string name = args.text("name");
  if (name.empty()) problems.add("name is empty", "give the new field a name");
  const std::vector<size_t> fields = check_columns(names, ColumnNeed::kNumbersAndBool, "stack", schema, problems);
  if (schema.find(name) && std::find(names.begin(), names.end(), name) == names.end())
    problems.add(fmt::format("there is a field '{}' already", name), "give another name");
  check_shapes(schema, fields, problems);
  if (!problems.any()) check_alike(schema, fields, problems);
  if (fields.empty()) return;
  const bool known = !problems.any() && std::all_of(fields.begin(), fields.end(), [&](size_t index) {
    return schema[index].kind == FieldKind::kTensor;
  });
  Field field = stacked(schema[fields[0]], name, fields.size());
  if (!known) field.kind = FieldKind::kAny;
  std::vector<size_t> last_first = fields;
  std::sort(last_first.rbegin(), last_first.rend());
  for (const size_t index : last_first) schema.erase(index);
  if (!schema.find(name)) schema.push_back(std::move(field));
}

Result<std::unique_ptr<ColumnOp>> compile_stack(const Args& args, const Schema&) {
  return std::unique_ptr<ColumnOp>(std::make_unique<Stack>(args.names("fields"), args.text("name")));
}

FieldUse stack_uses(const OpSpec& spec, const Schema&) {
  const auto fields = spec.args.find("fields"), name = spec.args.find("name");
  return {fields == spec.args.end() ? std::vector<std::string>() : field_list(*fields),
          name == spec.args.end() ? std::vector<std::string>() : field_list(*name)};
}

}  // namespace

OpDef stack_op() {
  return make_op(
      {.name = "stack",
       .group = OpGroup::kColumn,
       .help = "Columns side by side in one field: k columns of shape s become one of shape (k, *s), and go.",
       .args = {{"fields", ArgType::kFields, true, nullptr,
                 "the columns, in the order they shall have; of one type and one shape. `check()` says which to "
                 "`.cast` before."},
                {"name", ArgType::kText, true, nullptr, "the new field. It stands behind the others."}},
       .infer = infer_stack,
       .compile_columns = compile_stack,
       .uses = stack_uses});
}

}  // namespace forebay
