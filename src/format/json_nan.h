#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace forebay {

/// What becomes of NaN, Infinity and -Infinity, which Python writes and JSON does not have.
enum class NanPolicy : uint8_t {
  kError,  ///< the record is bad
  kKeep,   ///< they are numbers of float fields
  kNull,   ///< they are null
};

/// "error", "keep", "null"; nothing for other words.
std::optional<NanPolicy> nan_policy(std::string_view word);

/// Where the first of them stands outside of strings.
std::optional<size_t> find_nan(std::string_view json);

/// "'NaN' at character 12 is no JSON", with the way out behind "; ". Empty where there is none.
std::string nan_problem(std::string_view json);

/// `json` as a parser of JSON takes it: by kNull with null in their place, by kKeep with numbers that kept_nan() knows again. Nothing
/// where it has none, so that most records are not copied.
std::optional<std::string> with_nan_replaced(std::string_view json, NanPolicy policy);

/// The value that the text of a number stands for, where with_nan_replaced() wrote it.
std::optional<double> kept_nan(std::string_view written);

}  // namespace forebay
