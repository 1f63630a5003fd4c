#pragma once

#include <memory>
#include <string>

#include "format/files/open_store.h"

namespace forebay {

/// The store of a bucket, and that of everything behind http:// and https://: shared by all who use them at the same time with
/// the same options.
Result<std::shared_ptr<Store>> open_s3_store(const std::string& bucket, const StorageOptions& options);
/// `url`: the first that is asked for; headers of the options go to its host only.
Result<std::shared_ptr<Store>> open_http_store(const std::string& url, const StorageOptions& options);

}  // namespace forebay
