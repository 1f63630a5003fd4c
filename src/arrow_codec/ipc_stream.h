#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "arrow_codec/ipc_footer.h"
#include "base/table_codec.h"

namespace forebay {

/// What is known of an Arrow stream: a schema, dictionaries and record batches one after the other, without an index. Each message
/// says where the next one begins.
struct IpcStream {
  std::optional<ByteRange> wanted;  ///< what the walk needs next; nothing where it came to the stream's end
  IpcBlock schema;
  IpcFooter blocks;
};

/// Goes from message to message as far as the heads are among `pieces` (ascending), from offset `begin` on, where a message begins.
/// Corrupt where the stream is damaged or cut off. Time goes with the messages passed.
Result<IpcStream> walk_ipc_stream(std::span<const TableFile::Piece> pieces, uint64_t file_size, uint64_t begin = 0);

/// The end that the stream would have as an Arrow file: a footer with the blocks of `stream`, its length, and the magic word.
/// `schema`: the head of the stream's schema message.
Result<Buffer> ipc_end_of(const IpcStream& stream, std::span<const uint8_t> schema);

}  // namespace forebay
