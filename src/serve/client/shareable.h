#pragma once

#include <string>

#include "forebay/shared_loader.h"

namespace forebay {

/// The pipeline as JSON that another process can open, with places that do not depend on this one's folder. InvalidArgument for one that is not
/// shared, saying why.
Result<std::string> portable(const Pipeline& pipeline);
/// InvalidArgument for options that a server does not heed.
Status check_shared(const LoaderOptions& options, const ShareOptions& share);

}  // namespace forebay
