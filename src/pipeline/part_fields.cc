#include "pipeline/part_fields.h"

#include <nlohmann/json.hpp>

namespace forebay {

std::string name_in_zip(const std::string& part, const std::string& field) {
  return part.empty() ? field : part + "/" + field;
}

std::optional<std::string> name_in_part(const std::string& part, std::string_view field) {
  if (part.empty()) return std::string(field);
  if (!field.starts_with(part + "/")) return std::nullopt;
  return std::string(field.substr(part.size() + 1));
}

Json names_in_part(const std::string& part, const Json& names) {
  if (part.empty()) return names;
  Json result = names.is_object() ? Json::object() : Json::array();
  for (const auto& [key, value] : names.items()) {
    const std::optional<std::string> to = name_in_part(part, value.get<std::string>());
    if (!to) continue;
    if (names.is_object())
      result[*name_in_part(part, key)] = *to;
    else
      result.push_back(*to);
  }
  return result;
}

PartFields::PartFields(const Schema& all, std::string part) : part_(std::move(part)), all_(all) {
  for (size_t i = 0; i < all.size(); ++i) {
    std::optional<std::string> name = name_in_part(part_, all[i].name);
    if (!name) continue;
    indices_.push_back(i);
    own_.push_back(all[i]);
    own_[own_.size() - 1].name = std::move(*name);
  }
  own_.open_ended = all.open_ended;
  first_ = indices_.empty() ? all.size() : indices_.front();
}

Schema PartFields::with(const Schema& own) const {
  std::vector<Field> fields(all_.begin(), all_.end());
  take(fields);
  std::vector<Field> changed(own.begin(), own.end());
  for (Field& field : changed) field.name = name_in_zip(part_, field.name);
  put(fields, std::move(changed));
  Schema schema(std::move(fields));
  // Functions of one part at a time may add fields: a part names all of them before it ends.
  schema.open_ended = own.open_ended;
  return schema;
}

}  // namespace forebay
