#pragma once

#include <string>
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

/// Unsupported where the file cuts or fills texts by itself.
Status refuse_lengths(const nlohmann::json& file);

}  // namespace forebay::tokenizer_file
