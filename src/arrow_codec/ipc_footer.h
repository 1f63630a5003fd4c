#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forebay/result.h"
#include "forebay/status.h"

namespace forebay {

/// Place of a message in an Arrow file: its head (a flatbuffer), then its body.
struct IpcBlock {
  uint64_t offset = 0;
  uint64_t head_bytes = 0;
  uint64_t body_bytes = 0;
};

/// Places of the batches of a file, which Arrow's own reader does not expose. All blocks lie inside
/// the file.
struct IpcFooter {
  std::vector<IpcBlock> dictionaries;
  std::vector<IpcBlock> batches;
};

/// Parses the flatbuffer at the end of a file. Corrupt if it refers to bytes outside of itself or
/// of the file.
Result<IpcFooter> read_ipc_footer(std::span<const uint8_t> footer, uint64_t file_size);

/// The parsed head of a record batch.
struct IpcBatchHead {
  int64_t rows = 0;
  bool compressed = false;
  std::vector<ByteRange> buffers;  ///< ranges in the body
  std::vector<int64_t> variadic_buffers;
};

/// Parses `head`, the head_bytes of the file at the block's offset. All buffers lie inside the
/// body.
Result<IpcBatchHead> read_ipc_batch_head(std::span<const uint8_t> head, uint64_t body_bytes);

}  // namespace forebay
