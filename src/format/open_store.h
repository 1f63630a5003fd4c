#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "store/store.h"

namespace forebay {

struct StoreAndPath {
  std::shared_ptr<Store> store;
  std::string path;  ///< key inside the store of what the URL names
};

/// The one place that knows URL schemes: plain paths and file:// are local files; others are Unsupported and say so.
Result<StoreAndPath> open_store(std::string_view url);

/// The local path that a URL names; what open_store() refuses is refused here in the same words.
Result<std::string> path_of_url(std::string_view url);

/// "s3" of "s3://bucket/x"; empty for a plain path.
std::string_view url_scheme(std::string_view url);

}  // namespace forebay
