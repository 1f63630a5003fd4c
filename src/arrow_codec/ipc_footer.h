#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forebay/result.h"
#include "forebay/status.h"

namespace forebay {

/// Where a message of an Arrow file lies: its head (a flatbuffer), then its body.
struct IpcBlock {
  uint64_t offset = 0;
  uint64_t head_bytes = 0;
  uint64_t body_bytes = 0;
};

/// What Arrow's own reader does not tell: where the batches of a file are. All blocks lie inside of the file.
struct IpcFooter {
  std::vector<IpcBlock> dictionaries;
  std::vector<IpcBlock> batches;
};

/// `footer`: the flatbuffer at the end of the file. Corrupt where it leads outside of itself or of the file.
Result<IpcFooter> read_ipc_footer(std::span<const uint8_t> footer, uint64_t file_size);

/// What the head of a record batch says.
struct IpcBatchHead {
  int64_t rows = 0;
  bool compressed = false;
  std::vector<ByteRange> buffers;  ///< in the body
  std::vector<int64_t> variadic_buffers;
};

/// `head`: head_bytes of the file from the block's offset on. Buffers lie inside of the body.
Result<IpcBatchHead> read_ipc_batch_head(std::span<const uint8_t> head, uint64_t body_bytes);

}  // namespace forebay
