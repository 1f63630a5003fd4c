#include "loader/run/sample_labels.h"

#include <utility>

#include <fmt/format.h>

#include "base/source.h"
#include "base/whole_number.h"
#include "loader/compile/untouched_field.h"
#include "loader/describe/check.h"
#include "loader/describe/sources.h"
#include "pipeline/branches.h"

namespace forebay {

namespace {

Status unknown_label(const std::string& name, const std::string& others) {
  return invalid_argument(
      fmt::format("rehearse: the source has no field '{}' that is known before a sample is made; give by=\"\" (in "
                  "Python by=None), so that all are of one class{}{}",
                  name, others.empty() ? "" : ", or another field: ", others));
}

Status unfit_label(const std::string& name) {
  return invalid_argument(
      fmt::format("rehearse: the field '{}' is neither a whole number nor a text, which tell classes; give by=\"\" (in "
                  "Python by=None), so that all are of one class, or another field",
                  name));
}

}  // namespace

SourceFields::SourceFields(const Description& branch, const Source& source)
    : branch_(branch), source_(source), steps_(source_steps(branch)),
      inference_(infer(branch, source.schema(), catalog())) {}

std::optional<size_t> SourceFields::find(const std::string& name) const {
  return untouched_field(branch_, inference_, source_, name, steps_);
}

bool SourceFields::are_of_user_code() const { return is_source(branch_.steps().front(), SourceKind::kUserCode); }

Result<SampleLabels> SampleLabels::of_field(const std::string& field, const SourceFields& fields) {
  if (field.empty()) return SampleLabels();
  const bool user_code = fields.are_of_user_code();
  if (user_code || !fields.schema().find(field)) return unknown_label(field, user_code ? "" : fields.schema().names());
  SampleLabels labels;
  labels.field_ = fields.find(field);
  labels.name_ = field;
  if (labels.field_) return labels;
  return invalid_argument(
      fmt::format("rehearse: the field '{}' must be read to be known; classes are told by fields of the index", field));
}

SampleLabels SampleLabels::of_classes(std::shared_ptr<const SampleClasses> classes) {
  SampleLabels labels;
  labels.classes_ = std::move(classes);
  return labels;
}

Result<std::string> SampleLabels::field_to_read(const std::string& field, const SourceFields& fields) {
  if (field.empty() || fields.source().as_chunks() == nullptr) return std::string();
  const auto number = fields.schema().find(field);
  if (!number) return unknown_label(field, fields.schema().names());
  if (!SampleClasses::can_be_of(fields.schema()[*number])) return unfit_label(field);
  return field;
}

Result<std::vector<int64_t>> SampleLabels::of(const Source& source, std::span<const int64_t> indices,
                                              std::span<const int64_t> ids) const {
  std::vector<int64_t> labels(ids.size());
  for (size_t i = 0; classes_ && i < ids.size(); ++i) labels[i] = classes_->of(indices[i]);
  if (!field_) return labels;
  if (gathers(source)) {
    FOREBAY_RETURN_IF_ERROR(source.as_samples()->gather(*field_, ids, reinterpret_cast<uint8_t*>(labels.data())));
    return labels;
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    Record record;
    FOREBAY_RETURN_IF_ERROR(source.as_samples()->load(ids[i], Buffer(), record));
    FOREBAY_ASSIGN(labels[i], label(record));
  }
  return labels;
}

Result<int64_t> SampleLabels::of_record(const Source& source, int64_t number) const {
  if (!field_) return int64_t{0};
  Record record;
  if (!source.as_samples()->load(number, Buffer(), record).ok()) return kClassOfDamaged;
  return label(record);
}

Result<int64_t> SampleLabels::label(Record& record) const {
  Value& value = record[*field_];
  WorkMemory memory;
  FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
  if (const std::optional<int64_t> number = whole_number(value)) return *number;
  if (value.kind == FieldKind::kText || value.kind == FieldKind::kBytes)
    return class_of_text({reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()});
  return unfit_label(name_);
}

bool SampleLabels::gathers(const Source& source) const {
  const SampleSource* const samples = source.as_samples();
  if (samples == nullptr || !samples->gathers(*field_)) return false;
  const Field& field = source.schema()[*field_];
  return field.dtype == DType::kInt64 && field.shape.rank() == 0;
}

}  // namespace forebay
