#pragma once

#include <memory>

#include "store/store.h"
#include "stream/files/file_pattern.h"
#include "stream/record_format.h"
#include "stream/record_log.h"
#include "stream/stream_clock.h"

namespace forebay {

/// Makes a log of the files that appear in local folders. Each file is a record; the one partition
/// has them in the order of their last change. Their bytes are fetched from `store`, whose keys are
/// paths. A file that is written again later is another record. Hidden files and files that end in
/// ".tmp" or ".part" are ignored. This call touches no storage.
Result<std::shared_ptr<const RecordLog>> folder_log(std::shared_ptr<Store> store, FilePattern pattern,
                                                    RecordFormat format, StreamClock& clock = StreamClock::real());

}  // namespace forebay
