#pragma once

#include <string>

#include "forebay/shared_loader.h"

namespace forebay {

/// Returns the pipeline as JSON that another process can open, with absolute paths; with user code
/// the text that stands for it. InvalidArgument, with the reason, for a pipeline that cannot be
/// shared.
Result<std::string> portable(const Pipeline& pipeline, const PortableCode& code = {});
/// Returns InvalidArgument for options that a server does not support.
Status check_shared(const LoaderOptions& options, const ShareOptions& share);

}  // namespace forebay
