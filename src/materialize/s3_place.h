#pragma once

#include <memory>
#include <stop_token>

#include "materialize/writing_place.h"

namespace forebay {

/// A prefix in a bucket. Objects have their names once they are whole; large ones go in parts, several at once.
///
/// What a killed writer leaves are parts that nobody completes. Who writes the same object next gives them up first, and clear() all that are
/// of names that materialised data has; nothing else below the prefix is touched.
Result<std::shared_ptr<WritingPlace>> s3_place(const UrlPlace& place, const StorageOptions& options,
                                               std::stop_token stop);

}  // namespace forebay
