#pragma once

#include <memory>
#include <stop_token>

#include "materialize/output_location.h"

namespace forebay {

/// A prefix in a bucket. An object has its name once it is complete. Large objects are uploaded in
/// parts, several at a time.
///
/// A killed writer leaves parts of incomplete uploads. The next writer of the same object aborts
/// them, and clear() aborts those of all names that materialised data has. Nothing else below
/// the prefix is touched.
Result<std::shared_ptr<OutputLocation>> s3_location(const UrlPlace& location, const StorageOptions& options,
                                                    std::stop_token stop);

}  // namespace forebay
