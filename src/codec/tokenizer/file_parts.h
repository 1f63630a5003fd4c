#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "forebay/result.h"

/// Functions that the readers of a tokenizer.json share.
namespace forebay::tokenizer_file {

/// The Unsupported error for a tokenizer with a part that is not built in, and a remedy. `part`
/// completes the sentence "the tokenizer …".
Status unsupported_tokenizer(const std::string& part);
/// The Corrupt error for a malformed file; `what` describes the problem.
Status malformed_tokenizer(const std::string& what);

/// The member of an object; null if it is absent, or if `of` is not an object.
const nlohmann::json& member(const nlohmann::json& of, const char* name);
std::string text_of(const nlohmann::json& value);  ///< empty if it is not a string
std::string type_of(const nlohmann::json& part);   ///< its member `type`
/// A member that is a bool, or `otherwise`.
bool bool_member(const nlohmann::json& part, const char* name, bool otherwise);
/// A token id; Corrupt unless it is a number of 31 bits.
Result<int32_t> id_of(const nlohmann::json& value);

/// Appends the ids that a post-processor puts before and after each text.
Status read_special_ids(const nlohmann::json& processor, std::vector<int32_t>& prefix_ids,
                        std::vector<int32_t>& suffix_ids);

/// Parses a file; the result is discarded if it is not JSON. Floats have the bits that `tokenizers`
/// reads: see parse_float().
nlohmann::json parse_file(std::span<const uint8_t> text);
/// Parses a float as serde_json does by default, and therefore `tokenizers`: the first digits as an
/// integer, then one multiplication or division by a power of ten. The result may be a neighbour of
/// the nearest float. It is infinite if it exceeds a double.
double parse_float(std::string_view written);

}  // namespace forebay::tokenizer_file
