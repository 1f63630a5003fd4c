#pragma once

#include <string>

#include "forebay/result.h"
#include "forebay/status.h"

namespace forebay {

/// Returns the subfolder in which an update of a finished folder is made. The finished data stays
/// intact meanwhile.
std::string update_folder(const std::string& folder);

/// Makes that folder and its subfolders. From then on publish_folder_update() does not delete it as
/// empty.
Status begin_update(const std::string& folder);

/// If the update is finished, moves it into the place of the old data. If it is unfinished or
/// missing, does nothing. If a process is killed in it, the next caller completes the move; until
/// then the folder may have no manifest. Several processes may call it at once. Unavailable if
/// files cannot be moved.
Status publish_folder_update(const std::string& folder);

/// Deletes an unfinished update, or unfinished first data. Finished data stays.
void delete_unfinished(const std::string& folder);

}  // namespace forebay
