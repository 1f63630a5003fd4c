#pragma once

#include <string_view>

#include "base/data_warnings.h"

namespace forebay {

// The causes for which a listing leaves objects out that may hold samples.
extern const LeftOutKind kUnreadFiles;    ///< files in formats that the source does not read
extern const LeftOutKind kDeadLinks;      ///< links that lead nowhere, where a folder may have been
extern const LeftOutKind kCircularLinks;  ///< links to a folder that they lie in

/// True unless files of that name (without folders) usually accompany data: documents, lists, checksums, programs,
/// what desktops leave.
bool looks_like_data(std::string_view name);
/// True where a link of that name may have led to a folder: the name has no extension.
bool may_name_folder(std::string_view name);

/// ".jpg" → "jpg" in lower case, of the last name of a key; empty where there is none.
std::string extension_of(std::string_view key);
/// The part of a key behind its last slash.
std::string_view name_of_key(std::string_view key);

}  // namespace forebay
