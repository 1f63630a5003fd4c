#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/schema.h"
#include "ops/column/series.h"

// The result fields of `aggregate`, known before any row is read.

namespace forebay {

/// The arguments of `aggregate`.
struct AggregateSpec {
  std::vector<std::string> functions, fields;
  std::string times;
  int64_t axis = 0, every = 0;  ///< length of a piece; 0: the whole axis
};

/// The series in a sample of known shape: outer × pieces × length × inner.
struct SeriesLayout {
  int64_t outer = 1, pieces = 1, length = 0, inner = 1;
  int64_t series() const { return outer * pieces * inner; }
};

/// Index of the field's axis; a negative `axis` counts from the end. Empty if the field has no such
/// axis.
std::optional<size_t> axis_of(const Field& field, int64_t axis);
SeriesLayout layout_of(const Field& field, size_t axis, int64_t every);

/// "current_rms", "voltage_current_mean".
std::string aggregate_name(const std::string& field, const std::string& times, const std::string& function);
/// The result field of one function. The field must have no series_problem().
Field aggregated(const Field& field, const AggregateSpec& options, const std::string& function);
/// Why a field of numbers has no series to aggregate, and the remedy; both are empty if it has.
std::pair<std::string, std::string> series_problem(const Field& field, const AggregateSpec& options);

}  // namespace forebay
