#include "pipeline/run/row_answers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

const Value* find(const NamedValues& sample, const std::string& name) {
  const auto found = std::ranges::find(sample, name, &NamedValues::value_type::first);
  return found == sample.end() ? nullptr : &found->second;
}

Status at_row(Status status, const SampleName& row) { return std::move(status).with_sample(row.id).with_key(row.key); }

}  // namespace

RowAnswers::RowAnswers(size_t rows, std::vector<BatchField> kept) : kept_(std::move(kept)), rows_(rows), left_(rows) {}

bool RowAnswers::store(size_t row, const Schema& schema, Record record) {
  for (size_t i = 0; i < schema.size(); ++i) rows_[row].emplace_back(schema[i].name, std::move(record[i]));
  // Not relaxed, so that the last caller sees the answers of the others.
  return left_.fetch_sub(1) == 1;
}

Status RowAnswers::check_names(size_t row, const SampleOf& name_of) const {
  const NamedValues &first = rows_.front(), &other = rows_[row];
  const auto lacks = [](const NamedValues& in, const NamedValues& from) {
    return std::ranges::find_if(from, [&](const auto& one) { return find(in, one.first) == nullptr; });
  };
  const auto missing = lacks(other, first), added = lacks(first, other);
  if (missing == first.end() && added == other.end()) return {};
  const bool is_missing = missing != first.end();
  return at_row(invalid_argument(fmt::format("the function gave the field '{}' for {} and not for {}; give the same "
                                             "fields for all",
                                             is_missing ? missing->first : added->first,
                                             name_of(is_missing ? 0 : row).key, name_of(is_missing ? row : 0).key)),
                name_of(row));
}

Result<BatchField> RowAnswers::field(const std::string& name, const SampleOf& name_of) const {
  std::vector<const Value*> values;
  for (const NamedValues& row : rows_) values.push_back(find(row, name));
  Field any;
  any.name = name;
  any.kind = FieldKind::kAny;
  FOREBAY_ASSIGN(const Collation layout, plan_collation(name, any, values, name_of));
  // The form of a field must not depend on the rows that share a batch.
  if (layout.kind == BatchField::Kind::kRagged)
    return at_row(invalid_argument(fmt::format("the function gave arrays of different lengths as '{}'; give one length "
                                               "for all, or use .map_batch(fn), which may give (values, offsets)",
                                               name)),
                  name_of(0));
  const size_t rows = values.size();
  CollationMemory memory{Buffer::allocate(layout.value_bytes)};
  if (const size_t bytes = layout.offset_bytes(rows); bytes > 0) memory.offsets = Buffer::allocate(bytes);
  if (const size_t bytes = layout.string_offset_bytes(); bytes > 0) memory.string_offsets = Buffer::allocate(bytes);
  BatchField made = collate(layout, rows_of(values), memory);
  made.name = name;
  return made;
}

Result<std::vector<BatchField>> RowAnswers::fields(const SampleOf& name_of) const {
  for (size_t row = 1; row < rows_.size(); ++row) FOREBAY_RETURN_IF_ERROR(check_names(row, name_of));
  std::vector<BatchField> made;
  for (const BatchField& field : kept_)
    if (find(rows_.front(), field.name) == nullptr) made.push_back(field);
  for (const auto& [name, value] : rows_.front()) {
    FOREBAY_ASSIGN(made.emplace_back(), field(name, name_of));
  }
  return made;
}

}  // namespace forebay
