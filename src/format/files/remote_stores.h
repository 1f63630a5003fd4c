#pragma once

#include <memory>
#include <string>

#include "format/files/open_store.h"

namespace forebay {

/// Opens the store of a bucket. All users of the same bucket and options share one store as long as
/// any of them uses it.
Result<std::shared_ptr<Store>> open_s3_store(const std::string& bucket, const StorageOptions& options);
/// Opens the store of everything at http:// and https:// URLs, shared in the same way. `url` is the
/// first URL to be read; headers in the options are sent only to its host.
Result<std::shared_ptr<Store>> open_http_store(const std::string& url, const StorageOptions& options);

}  // namespace forebay
