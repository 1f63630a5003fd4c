#include "pipeline/field_forms.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pipeline/field_rows.h"

namespace forebay {

namespace {

void make_ragged(BatchField& field, int64_t rows) {
  const int64_t length = field.values.shape[1];
  field.kind = BatchField::Kind::kRagged;
  field.values.shape = with_first(rows * length, without_first(without_first(field.values.shape)));
  field.offsets = Tensor::allocate(DType::kInt64, Shape{rows + 1});
  for (int64_t row = 0; row <= rows; ++row) field.offsets.data<int64_t>()[row] = row * length;
}

bool holds_strings(BatchField::Kind kind) {
  return kind == BatchField::Kind::kBytesList || kind == BatchField::Kind::kTextList;
}

Tensor zeros(int64_t count) {
  Tensor made = Tensor::allocate(DType::kInt64, Shape{count});
  std::fill_n(made.data<int64_t>(), count, 0);
  return made;
}

// Lists without elements do not tell the type of their elements.
bool all_lists_empty(const BatchField& field) {
  if (field.kind == BatchField::Kind::kRagged) return field.values.shape[0] == 0;
  return field.kind == BatchField::Kind::kDense && field.values.shape.rank() == 2 && field.values.shape[1] == 0;
}

void make_empty_lists(BatchField& field, BatchField::Kind kind, int64_t rows) {
  field.kind = kind;
  field.values = Tensor::allocate(DType::kUint8, Shape{0});
  field.offsets = zeros(rows + 1);
  field.string_offsets = zeros(1);
}

}  // namespace

FieldForms::FieldForms(const ExecutionPlan& plan, int64_t batch_size, std::set<std::string> ragged)
    : batch_size_(batch_size), ragged_(std::move(ragged)) {
  for (const OutputField& output : plan.outputs()) {
    // The plan decides the form of these fields, the same in every batch.
    if (output.field.kind != FieldKind::kAny) plan_decided_.insert(output.field.name);
    if (output.field.ragged) ragged_.insert(output.field.name);
    if (output.field.pad_value) padded_.insert(output.field.name);
  }
}

Status FieldForms::unify(Batch& batch) {
  if (batch.size() == 0) {
    add_empty(batch);
    return {};
  }
  for (BatchField& field : batch.fields) {
    if (!is_made_by_user_code(field.name)) continue;
    FOREBAY_RETURN_IF_ERROR(unify_rows(field, batch.size()));
    forms_.try_emplace(field.name, Form{field.kind, field.values.dtype, without_first(field.values.shape)});
  }
  return {};
}

Status FieldForms::unify_rows(BatchField& field, int64_t rows) {
  const auto found = forms_.find(field.name);
  const Form* const form = found == forms_.end() ? nullptr : &found->second;
  if (form != nullptr && holds_strings(form->kind) && all_lists_empty(field)) {
    make_empty_lists(field, form->kind, rows);
    return {};
  }
  const bool array = is_array(field);
  if (!array && field.kind != BatchField::Kind::kRagged) return {};
  if (array && must_be_ragged(field.name, form)) make_ragged(field, rows);
  if (form == nullptr || batch_size_ == 1) return {};
  return form->kind == BatchField::Kind::kRagged ? check_ragged(field, *form) : check_array(field, *form);
}

bool FieldForms::is_array(const BatchField& field) const {
  return field.kind == BatchField::Kind::kDense && field.values.shape.rank() >= 2 && !padded_.contains(field.name);
}

bool FieldForms::must_be_ragged(const std::string& name, const Form* form) const {
  return ragged_.contains(name) || (form != nullptr && form->kind == BatchField::Kind::kRagged);
}

// The error of a field whose rows were ragged so far, if they differ in more than their first axis.
Status FieldForms::check_ragged(const BatchField& field, const Form& form) {
  const Shape row = without_first(field.values.shape);
  if (form.row == row) return {};
  return invalid_argument(
      fmt::format("the field '{}' had rows of {} values so far, and here they are of {}: the first axis alone may "
                  "differ; crop, resize or pad the others",
                  field.name, form.row.to_string(), row.to_string()));
}

// The error of a field that was an array so far, if it is none now or its rows have another length.
// Arrays of more axes may have another length in each batch, such as videos of one length a batch.
Status FieldForms::check_array(const BatchField& field, const Form& form) {
  if (form.kind != BatchField::Kind::kDense || form.row.rank() == 0) return {};
  const Shape& shape = field.values.shape;
  if (field.kind == BatchField::Kind::kDense && (shape.rank() > 2 || form.row[0] == shape[1])) return {};
  return invalid_argument(fmt::format(
      "all rows of the field '{0}' had {1} values so far, and now some have not: its batches would turn "
      "from arrays into (values, offsets); put .pad(\"{0}\", value) before .batch, or give .batch(ragged=\"{0}\")",
      field.name, form.row[0]));
}

// Adds the fields of user code to a batch whose rows were all skipped, in the form that they had in
// earlier batches.
void FieldForms::add_empty(Batch& batch) const {
  for (const auto& [name, form] : forms_) {
    auto field =
        std::find_if(batch.fields.begin(), batch.fields.end(), [&](const auto& other) { return other.name == name; });
    if (field == batch.fields.end()) field = batch.fields.insert(field, BatchField());
    field->name = name;
    field->kind = form.kind;
    if (holds_strings(form.kind)) {
      make_empty_lists(*field, form.kind, 0);
      continue;
    }
    Shape shape = with_first(0, form.row);
    if (form.kind != BatchField::Kind::kDense) field->offsets = zeros(1);
    if (form.kind == BatchField::Kind::kDense && padded_.contains(name) && shape.rank() > 1) shape[1] = 0;
    field->values = Tensor::allocate(form.dtype, shape);
    field->lengths.clear();
  }
}

}  // namespace forebay
