#pragma once

#include <memory>

#include "store/store.h"
#include "stream/files/file_pattern.h"
#include "stream/record_format.h"
#include "stream/record_log.h"

namespace forebay {

/// Files that appear in local folders, each a record, in the order of their last change; one
/// partition. Their bytes are fetched from `store`, where keys are paths. A file that is written
/// again later comes again; names that end in ".tmp" or ".part", and hidden ones, are left out.
/// Touches no storage.
Result<std::shared_ptr<const RecordLog>> folder_log(std::shared_ptr<Store> store, FilePattern pattern,
                                                    RecordFormat format);

}  // namespace forebay
