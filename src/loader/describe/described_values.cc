#include "loader/describe/described_values.h"

#include <cmath>
#include <limits>
#include <variant>

#include "loader/describe/file_hash.h"
#include "loader/describe/given_args.h"
#include "pipeline/description.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

// Whole numbers are written as integers in every language, so that equal pipelines have equal
// fingerprints. Infinities and NaN are written as words, since JSON has no numbers for them.
Json number_json(double value) {
  // A double represents each integer up to this one exactly. Larger values stay floats.
  constexpr double kExact = 0x1p53;
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value == std::floor(value) && std::abs(value) <= kExact ? Json(static_cast<int64_t>(value)) : Json(value);
}

// Replaces infinities and NaN anywhere in an argument. Finite numbers stay as they are.
Json with_words(Json value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) return number_json(value.get<double>());
  if (value.is_structured()) {
    for (Json& one : value) one = with_words(std::move(one));
  }
  return value;
}

}  // namespace

Json field_json(const Fields& fields) {
  if (fields.empty()) return nullptr;
  return fields.size() == 1 ? Json(fields.front()) : Json(fields);
}

Json size_json(const ImageSize& size) {
  if (size.empty()) return nullptr;
  return size.size() == 1 ? Json(size.front()) : Json(size);
}

Json range_json(const std::vector<double>& range) {
  if (range.empty()) return nullptr;
  return range.size() == 1 ? Json(range.front()) : Json(range);
}

Json text_json(const TextByField& text) {
  return std::visit([](const auto& one) { return Json(one); }, text);
}

Json weights_json(const Weights& weights) {
  if (const auto* numbers = std::get_if<std::vector<double>>(&weights)) return Json(*numbers);
  return text_or_none(std::get<std::string>(weights));
}

Json by_field_json(const IntByField& number) {
  return std::visit([](const auto& one) { return Json(one); }, number.value);
}

Json by_field_json(const FloatByField& number) {
  return std::visit([](const auto& one) { return Json(one); }, number.value);
}

Json by_field_json(const std::optional<IntByField>& number) { return number ? by_field_json(*number) : Json(); }

Json text_or_none(std::string text) { return text.empty() ? Json() : Json(std::move(text)); }

Json value_json(const TableValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return number_json(*number);
  return std::visit([](const auto& one) { return Json(one); }, value);
}

Json byte_size_json(const ByteSize& size) {
  return std::visit([](const auto& value) { return Json(value); }, size);
}

Json byte_size_json(const std::optional<ByteSize>& size) { return size ? byte_size_json(*size) : Json(); }

Json limit_json(std::string_view name, std::optional<double> value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return value && *value != (name == "min" ? -kInfinity : kInfinity) ? number_json(*value) : Json();
}

Json hash_json(std::string given, const std::string& path) {
  return text_or_none(given.empty() ? file_hash(path) : std::move(given));
}

Json unless_default(Json value, const Json& default_value) { return value == default_value ? Json() : value; }

Pipeline with_step(const Pipeline& pipeline, std::string name, std::initializer_list<std::pair<const char*, Json>> args,
                   std::shared_ptr<void> attachment, std::string attachment_name) {
  OpSpec op{std::move(name), with_words(given_args(args)), std::move(attachment), std::move(attachment_name)};
  return Pipeline(std::make_shared<const Description>(pipeline.description().append(std::move(op))));
}

}  // namespace forebay
