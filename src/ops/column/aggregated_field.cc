#include "ops/column/aggregated_field.h"

#include <fmt/format.h>

#include "base/columns.h"

namespace forebay {

namespace {

/// The shape of a function's result.
Shape aggregated_shape(const Field& field, size_t axis, int64_t every, SeriesFunction function) {
  if (keeps_length(function)) return field.shape;
  Shape shape;
  for (size_t k = 0; k < field.shape.rank(); ++k) {
    if (k != axis) shape.push_back(field.shape[k]);
    if (k == axis && every > 0) shape.push_back(field.shape[k] / every);
  }
  return shape;
}

}  // namespace

std::string aggregate_name(const std::string& field, const std::string& times, const std::string& function) {
  return times.empty() ? field + "_" + function : field + "_" + times + "_" + function;
}

std::optional<size_t> axis_of(const Field& field, int64_t axis) {
  const auto rank = static_cast<int64_t>(field.shape.rank());
  const int64_t counted = axis < 0 ? axis + rank : axis;
  return counted < 0 || counted >= rank ? std::nullopt : std::optional(static_cast<size_t>(counted));
}

SeriesLayout layout_of(const Field& field, size_t axis, int64_t every) {
  SeriesLayout layout;
  for (size_t k = 0; k < axis; ++k) layout.outer *= field.shape[k];
  for (size_t k = axis + 1; k < field.shape.rank(); ++k) layout.inner *= field.shape[k];
  layout.length = every > 0 ? every : field.shape[axis];
  layout.pieces = every > 0 ? field.shape[axis] / every : 1;
  return layout;
}

Field aggregated(const Field& field, const AggregateSpec& options, const std::string& function) {
  const SeriesFunction of = *series_function(function);
  Field made;
  made.name = aggregate_name(field.name, options.times, function);
  // Products are float64 for every type: a product of integers may not fit their type.
  made.dtype = options.times.empty() ? series_dtype(of, field.dtype) : DType::kFloat64;
  made.fetched = field.fetched;
  if (!is_ragged(field)) made.shape = aggregated_shape(field, *axis_of(field, options.axis), options.every, of);
  if (is_ragged(field) && keeps_length(of)) made.shape = field.shape;
  return made;
}

std::pair<std::string, std::string> series_problem(const Field& field, const AggregateSpec& options) {
  if (is_ragged(field)) {
    if (field.shape.rank() > 1)
      return {"rows of different lengths are aggregated if they are numbers of one axis",
              "put .pad(…, length=…) before, or compute it in .map"};
    if (options.every > 0)
      return {"rows of different lengths have no pieces of one length",
              "leave every= out, or put .pad(…, length=…) before"};
    return options.axis == 0 || options.axis == -1
               ? std::pair<std::string, std::string>()
               : std::pair<std::string, std::string>("there is one axis", "leave axis= out");
  }
  if (!field.fixed_shape()) return {"its shape is not known", "use a field of known shape"};
  const std::optional<size_t> axis = axis_of(field, options.axis);
  if (!axis) return {fmt::format("it has no axis {}", options.axis), fmt::format("it has {} axes", field.shape.rank())};
  const int64_t length = field.shape[*axis];
  if (length == 0) return {"there is nothing along this axis", "leave it out"};
  if (options.every > 0 && length % options.every != 0)
    return {fmt::format("its {} elements are no multiple of every={}", length, options.every),
            "give one that divides it, or cut it by .window before"};
  return {};
}

}  // namespace forebay
