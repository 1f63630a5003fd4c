#pragma once

#include <functional>
#include <memory>
#include <string>

#include "forebay/loader.h"

namespace forebay {

/// A pipeline with functions of another language, loaded in the process of the server. The server's
/// face to that language makes it (src/python/serving.h). Any thread may call it.
struct UserPipeline {
  Pipeline pipeline;
  /// Begins to answer the calls of a loader of this pipeline, or of one over the same steps. The
  /// result closes the loader with its last reference. Empty: the pipeline has no functions.
  std::function<Result<std::shared_ptr<Loader>>(std::unique_ptr<Loader>)> answer = {};
};

/// Loads the code that a client names (PortableCode::source).
using LoadCode = std::function<Result<UserPipeline>(const std::string& source)>;

}  // namespace forebay
