#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/schema.h"
#include "ops/column/series.h"

// What `aggregate` makes of a field: known before any row is.

namespace forebay {

struct AggregateWish {
  std::vector<std::string> functions, fields;
  std::string times;
  int64_t axis = 0, every = 0;  ///< 0: the whole axis
};

/// How series lie in a sample of known shape: outer × pieces × length × inner.
struct SeriesLayout {
  int64_t outer = 1, pieces = 1, length = 0, inner = 1;
  int64_t series() const { return outer * pieces * inner; }
};

/// The field's own axis, counted from its end where it is negative; nothing where it has none such.
std::optional<size_t> axis_of(const Field& field, int64_t axis);
SeriesLayout layout_of(const Field& field, size_t axis, int64_t every);

/// "current_rms", "voltage_current_mean".
std::string aggregate_name(const std::string& field, const std::string& times, const std::string& function);
/// What one function gives of a field that is fit.
Field aggregated(const Field& field, const AggregateWish& wish, const std::string& function);
/// What is wrong with a field of numbers, and what to do about it; empty where nothing is.
std::pair<std::string, std::string> unfit_for_series(const Field& field, const AggregateWish& wish);

}  // namespace forebay
