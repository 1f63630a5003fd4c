#pragma once

#include <cstdint>
#include <map>
#include <string>
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
/// Bytes as a number or as a text such as "2GiB"; where a budget is meant, 0 is none.
using ByteSize = std::variant<uint64_t, std::string>;

}  // namespace forebay
