#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "forebay/result.h"
#include "store/local/local_file.h"

namespace forebay {

/// A connection to the server at `path`. With `starts`, one is started where none listens, by `program` (empty: `forebay` on PATH): a
/// process of its own, which goes some seconds after its last client. Whoever comes at the same time gets the same one.
///
/// NotFound where there is none; Unavailable where it cannot be started.
Result<FileDescriptor> connect_or_start(const std::string& path, const std::vector<std::string>& program, bool starts,
                                        const std::stop_token& stop);

}  // namespace forebay
