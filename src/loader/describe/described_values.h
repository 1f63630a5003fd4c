#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "forebay/pipeline.h"
#include "pipeline/json_fwd.h"

// Conversions of C++ arguments to the values of a description. They give the form that the other
// faces give, so that equal pipelines have equal fingerprints. Null says that nothing was given.

namespace forebay {

/// One name alone, several as a list, null for none.
Json field_json(const Fields& fields);
/// The side of a square, or {height, width}; null for none.
Json size_json(const ImageSize& size);
/// One number alone, several as a list, null for none.
Json range_json(const std::vector<double>& range);
Json text_json(const TextByField& text);
/// Null for an empty text.
Json text_or_none(std::string text);
Json value_json(const TableValue& value);
Json byte_size_json(const ByteSize& size);
/// Null for no size.
Json byte_size_json(const std::optional<ByteSize>& size);
/// A lower limit called "min" or an upper one called "max"; null for one that limits nothing.
Json limit_json(std::string_view name, std::optional<double> value);
/// The hash that was given, or else that of the file; null where the file cannot be read.
Json hash_json(std::string given, const std::string& path);
/// Null for the default.
Json unless_default(Json value, const Json& default_value);

template <typename T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

/// The pipeline with one more step. Arguments that are null are left out.
Pipeline with_step(const Pipeline& pipeline, std::string name, std::initializer_list<std::pair<const char*, Json>> args,
                   std::shared_ptr<void> attachment = nullptr, std::string attachment_name = "");

}  // namespace forebay
