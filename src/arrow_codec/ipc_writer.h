#pragma once

#include <span>
#include <string>

#include "base/table_codec.h"

namespace forebay {

/// Implements TableCodecs::write_arrow_file().
Result<WrittenTable> write_ipc_file(std::span<const Columns> batches, const std::string& compression,
                                    const BufferAllocator& memory = {});

}  // namespace forebay
