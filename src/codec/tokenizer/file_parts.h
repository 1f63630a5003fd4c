#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "forebay/result.h"

/// What the readers of a tokenizer.json share.
namespace forebay::tokenizer_file {

/// Unsupported: the tokenizer `part`, which is not built in, and what to do then.
Status other_kind(const std::string& part);
/// Corrupt: what is wrong with the file.
Status no_tokenizer(const std::string& what);

/// The member of an object; null for anything else.
const nlohmann::json& member(const nlohmann::json& of, const char* name);
std::string text_of(const nlohmann::json& value);  ///< empty for what is no string
std::string type_of(const nlohmann::json& part);
bool says(const nlohmann::json& part, const char* name, bool otherwise);
Result<int32_t> id_of(const nlohmann::json& value);

/// The ids that a post-processor puts before and behind each text.
Status read_around(const nlohmann::json& processor, std::vector<int32_t>& before, std::vector<int32_t>& behind);

/// The tree of a file; discarded where it is no JSON. Floats have the bits that `tokenizers` reads: see float_of().
nlohmann::json parse_file(std::span<const uint8_t> text);
/// The float that serde_json reads by default, which `tokenizers` uses: the first digits as an integer, then one multiplication or
/// division by a power of ten. It may be the neighbour of the nearest one. Infinite where it is beyond a double.
double float_of(std::string_view written);

}  // namespace forebay::tokenizer_file
