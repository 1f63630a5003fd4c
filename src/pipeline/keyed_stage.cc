#include "pipeline/keyed_stage.h"

#include <algorithm>

#include "pipeline/part_fields.h"

namespace forebay {

void KeyedStage::store(const Identity& entry, const Record& record, const Extras& extras, double seconds,
                       int64_t id) const {
  Schema fields;
  Record values;
  uint64_t bytes = 0;
  // A part has the same entries by itself.
  const auto in_own_part = [this](Field field) {
    field.name = name_in_part(part, field.name).value_or(field.name);
    return field;
  };
  const auto add = [&](Field field, const Value& value) {
    fields.push_back(std::move(field));
    values.push_back(value.copy());
    bytes += value.nbytes();
  };
  for (size_t i = 0; i < schema.size(); ++i) {
    if (in_entry[i]) add(in_own_part(schema[i]), record[i]);
  }
  for (const auto& [extra, value] : extras) {
    Field field;
    field.name = extra;
    field.kind = FieldKind::kAny;
    add(in_own_part(std::move(field)), value);
  }
  if (!cache->try_admit(entry.hash, bytes)) return;
  Result<Columns> columns = columns_of(fields, values);
  if (!columns.ok()) return;  // cannot be stored, such as a field that user code left out
  cache->put({entry.hash, id}, std::make_shared<const Columns>(std::move(*columns)), seconds,
             entry.lasting ? KeepIn::kAnyTier : KeepIn::kMemory);
  counters->add(1, bytes, bytes, 0);
}

bool KeyedStage::needs_before() const {
  return std::ranges::any_of(from_before, [](const auto& field) { return field.has_value(); });
}

Status KeyedStage::restore(const Columns& entry, Record& record, Extras& extras) const {
  Record before = std::move(record);
  Record values = entry.row(0);
  record.clear();
  size_t next = 0;
  for (size_t i = 0; i < schema.size(); ++i) {
    if (in_entry[i] && next >= values.size()) return corrupt("an entry of the cache has fewer fields than its place");
    if (in_entry[i]) {
      record.push_back(std::move(values[next++]));
    } else {
      record.push_back(from_before[i] ? std::move(before[*from_before[i]]) : Value());
    }
  }
  extras.clear();
  for (; next < values.size(); ++next)
    extras.emplace_back(name_in_zip(part, entry.schema[next].name), std::move(values[next]));
  return {};
}

}  // namespace forebay
