#pragma once

#include <string>

#include "forebay/shared_loader.h"

namespace forebay {

/// Returns the pipeline as JSON that another process can open, with absolute paths.
/// InvalidArgument, with the reason, for a pipeline that cannot be shared.
Result<std::string> portable(const Pipeline& pipeline);
/// Returns InvalidArgument for options that a server does not support.
Status check_shared(const LoaderOptions& options, const ShareOptions& share);

}  // namespace forebay
