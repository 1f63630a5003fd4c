#pragma once

#include <optional>
#include <string>

#include "base/schema.h"
#include "pipeline/json_fwd.h"

namespace forebay {

/// A field as an argument of fill_missing, and back. Nothing if the JSON is not that of a field.
Json json_of_field(const Field& field);
std::optional<Field> field_of_json(const Json& json);

/// The reason why a field has no value of zeros: its type or shape is only known when a sample is
/// seen. Nothing if it has one.
std::optional<std::string> no_zeros(const Field& field);

/// The ending of the field that says whether a sample has the field before it.
inline constexpr const char* kValidEnding = "_valid";

}  // namespace forebay
