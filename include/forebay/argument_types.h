#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace forebay {

/// Names of fields an operator works on; one draw is shared by all of them.
using Fields = std::vector<std::string>;
/// One number for a square, or {height, width}.
using ImageSize = std::vector<int64_t>;
/// Symmetric around the identity (one number) or {low, high}.
using JitterRange = std::vector<double>;
/// One text for all fields, or field → text.
using TextByField = std::variant<std::string, std::map<std::string, std::string>>;
/// The name of a field that has the weights (empty: all are alike), or one number for each sample.
using Weights = std::variant<std::string, std::vector<double>>;
/// One number for all fields, or field → number. A class, since a variant takes no int for a
/// double.
template <typename Number>
struct NumberByField {
  NumberByField(Number number) : value(number) {}
  NumberByField(std::map<std::string, Number> by_field) : value(std::move(by_field)) {}
  std::variant<Number, std::map<std::string, Number>> value;
};
using IntByField = NumberByField<int64_t>;
using FloatByField = NumberByField<double>;
/// Bytes as a number or as a text such as "2GiB"; where a budget is meant, 0 is none.
using ByteSize = std::variant<uint64_t, std::string>;

}  // namespace forebay
