#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace forebay {

/// How to treat NaN, Infinity and -Infinity, which Python writes but JSON does not allow.
enum class NanPolicy : uint8_t {
  kError,  ///< the record is a data error
  kKeep,   ///< the values are kept as numbers of float fields
  kNull,   ///< the values are read as null
};

/// Parses "error", "keep" or "null"; nullopt for any other word.
std::optional<NanPolicy> nan_policy(std::string_view word);

/// Position of the first such value outside of strings.
std::optional<size_t> find_nan(std::string_view json);

/// An error message such as "'NaN' at character 12 is no JSON", followed by "; " and the remedy.
/// Empty if there is no such value.
std::string nan_problem(std::string_view json);

/// Rewrites `json` so that a JSON parser accepts it. kNull puts null in place of each such value;
/// kKeep puts a number that kept_nan() recognises. Returns nullopt if there is no such value, so
/// most records are not copied.
std::optional<std::string> with_nan_replaced(std::string_view json, NanPolicy policy);

/// The value that a number written by with_nan_replaced() stands for; nullopt for other numbers.
std::optional<double> kept_nan(std::string_view written);

}  // namespace forebay
