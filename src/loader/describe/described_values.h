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

// Conversions of C++ arguments to the values of a description. The values have the form that they
// have from Python and JSON, so that equal pipelines have equal fingerprints. An argument that was
// not given is null.

namespace forebay {

/// Returns a single name as a text, several names as a list, and null for none.
Json field_json(const Fields& fields);
/// Returns the side of a square, or [height, width]; null for no size.
Json size_json(const ImageSize& size);
/// Returns a single number as it is, several numbers as a list, and null for none.
Json range_json(const std::vector<double>& range);
Json text_json(const TextByField& text);
/// Returns null for no weights.
Json weights_json(const Weights& weights);
Json by_field_json(const IntByField& number);
Json by_field_json(const FloatByField& number);
/// Returns null for no number.
Json by_field_json(const std::optional<IntByField>& number);
/// Returns null for an empty text.
Json text_or_none(std::string text);
Json value_json(const TableValue& value);
Json byte_size_json(const ByteSize& size);
/// Returns null for no size.
Json byte_size_json(const std::optional<ByteSize>& size);
/// Returns a lower limit if `name` is "min", or an upper one if it is "max"; null for a limit that
/// limits nothing.
Json limit_json(std::string_view name, std::optional<double> value);
/// Returns the given hash, or else that of the file; null if the file cannot be read.
Json hash_json(std::string given, const std::string& path);
/// Returns null if the value is the default.
Json unless_default(Json value, const Json& default_value);

template <typename T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

/// Returns the pipeline with one more step. Arguments that are null are left out.
Pipeline with_step(const Pipeline& pipeline, std::string name, std::initializer_list<std::pair<const char*, Json>> args,
                   std::shared_ptr<void> attachment = nullptr, std::string attachment_name = "");

}  // namespace forebay
