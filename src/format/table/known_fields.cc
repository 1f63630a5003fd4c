#include "format/table/known_fields.h"

#include <fmt/format.h>

namespace forebay {

namespace {

FieldKind element_kind(FieldKind kind) {
  if (kind == FieldKind::kTextList) return FieldKind::kText;
  return kind == FieldKind::kBytesList ? FieldKind::kBytes : kind;
}

}  // namespace

ColumnType field_column_type(const TableFile& file, size_t at) {
  const Field& field = file.schema()[at];
  return {element_kind(field.kind), field.dtype, file.time_type(at)};
}

std::string field_type_text(const TableFile& file, size_t at) {
  const Field& field = file.schema()[at];
  const auto time = file.time_type(at);
  if (time)
    return fmt::format("{} {}", column_type_word({FieldKind::kTensor, field.dtype, time}), field.shape.to_string());
  // The text of a field is "name: type".
  return field.to_string().substr(field.name.size() + 2);
}

TableColumn::Role field_role(const TableFile& file, size_t at) {
  if (file.origin(at).values == at) return TableColumn::Role::kValues;
  return file.is_mask(at) ? TableColumn::Role::kMask : TableColumn::Role::kLengths;
}

bool is_all_null(const TableFile::Origin& origin) { return origin.untyped && !origin.in_lists; }

KnownFields::KnownFields(std::span<const std::shared_ptr<const TableFile>> files) : files_(files) {
  for (size_t file = 0; file < files.size(); ++file) {
    // Files of the same shape share the schema object.
    if (first_with_schema_.emplace(&files[file]->schema(), file).second) add(file);
  }
  // A struct that is null everywhere looks like a column without members.
  std::erase_if(order_, [&](const std::string& name) {
    const bool is_struct = fields_.at(name).untyped && structs_.contains(name);
    if (is_struct) fields_.erase(name);
    return is_struct;
  });
}

const KnownField* KnownFields::find(const std::string& name) const {
  const auto found = fields_.find(name);
  return found == fields_.end() ? nullptr : &found->second;
}

const std::vector<std::string>& KnownFields::members(const std::string& name) const {
  static const std::vector<std::string> none;
  const auto found = structs_.find(name);
  return found == structs_.end() ? none : found->second;
}

std::optional<size_t> KnownFields::index_of(size_t file, const std::string& name) const {
  const Schema& schema = files_[file]->schema();
  const KnownField* known = find(name);
  // Most files have a field at the same index, so the search is rarely needed.
  if (known != nullptr && known->at < schema.size() && schema[known->at].name == name) return known->at;
  return schema.find(name);
}

bool KnownFields::lacks(size_t file, const std::string& name) const {
  const auto at = index_of(file, name);
  return !at || is_all_null(files_[file]->origin(*at));
}

bool KnownFields::some_file_lacks(const std::string& name) const {
  for (size_t file = 0; file < files_.size(); ++file) {
    if (first_alike(file) == file && lacks(file, name)) return true;
  }
  return false;
}

std::string KnownFields::owner_of(const std::string& mask) const {
  if (const KnownField* known = find(mask); known != nullptr) {
    const TableFile& file = *files_[known->file];
    return file.schema()[file.origin(known->at).values].name;
  }
  return mask.substr(0, mask.size() - NullPolicy::kMaskEnding.size());
}

void KnownFields::add(size_t file) {
  const Schema& schema = files_[file]->schema();
  for (size_t at = 0; at < schema.size(); ++at) {
    const TableFile::Origin origin = files_[file]->origin(at);
    KnownField known{file, at, field_role(*files_[file], at), is_all_null(origin), {}};
    const auto [entry, is_new] = fields_.emplace(schema[at].name, known);
    if (is_new) {
      order_.push_back(schema[at].name);
      if (known.role == TableColumn::Role::kValues) {
        for (const std::string& name : origin.structs) structs_[name].push_back(schema[at].name);
      } else if (const auto owner = fields_.find(schema[origin.values].name); owner != fields_.end()) {
        add_dependent(owner->second, schema[at].name);
      }
    } else if (entry->second.untyped && !known.untyped) {
      known.dependents = std::move(entry->second.dependents);
      entry->second = std::move(known);
    }
  }
}

// The mask follows the values, whichever file has it first.
void KnownFields::add_dependent(KnownField& owner, const std::string& name) {
  const bool first = name.ends_with(NullPolicy::kMaskEnding) && !name.ends_with("_items_valid");
  owner.dependents.insert(first ? owner.dependents.begin() : owner.dependents.end(), name);
}

}  // namespace forebay
