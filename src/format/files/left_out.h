#pragma once

#include <string_view>

#include "base/data_warnings.h"

namespace forebay {

// Reasons for which a listing skips objects that may hold samples.
extern const OmissionReason kUnreadFiles;    ///< files in formats that the source does not read
extern const OmissionReason kDeadLinks;      ///< dead links where a folder may have been
extern const OmissionReason kCircularLinks;  ///< links to a folder that contains them

/// True unless files of that name (without folders) usually accompany data: documents, lists,
/// checksums, programs, files that desktops leave.
bool looks_like_data(std::string_view name);
/// True if a dead link of that name may have led to a folder, because the name has no extension.
bool may_name_folder(std::string_view name);

/// The extension of the last name of a key, in lower case: ".jpg" gives "jpg". Empty if there is
/// none.
std::string extension_of(std::string_view key);
/// The part of a key after its last slash.
std::string_view name_of_key(std::string_view key);

}  // namespace forebay
