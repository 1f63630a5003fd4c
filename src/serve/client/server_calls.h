#pragma once

#include <string>

#include "forebay/result.h"

namespace forebay {

/// What the server at that socket tells of itself, JSON; see docs/shared.md. NotFound where none listens.
Result<std::string> server_status(const std::string& path);
/// Ends it, and comes back when it has gone. Unavailable where it does not go within half a minute.
Status stop_server(const std::string& path);

}  // namespace forebay
