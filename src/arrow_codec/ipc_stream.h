#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "arrow_codec/ipc_footer.h"
#include "base/table_codec.h"

namespace forebay {

/// Places of the messages of an Arrow stream that have been found so far. A stream is a schema,
/// dictionaries and record batches in sequence, without an index. Each message tells where the next
/// one begins.
struct IpcStream {
  std::optional<ByteRange> next_read;  ///< range to read next; nullopt after the end of the stream
  IpcBlock schema;
  IpcFooter footer;  ///< places of the dictionaries and batches, as a file's footer would list them
};

/// Follows the messages from offset `begin`, where one begins, as far as their heads are in
/// `pieces` (ascending). Corrupt if the stream is damaged or truncated. Takes time proportional to
/// the messages passed.
Result<IpcStream> walk_ipc_stream(std::span<const TableFile::Piece> pieces, uint64_t file_size, uint64_t begin = 0);

/// Builds the bytes that, appended to the stream, make it an Arrow file: the footer with the places in
/// `stream`, its length, and the magic number. `schema` is the head of the stream's schema message.
Result<Buffer> make_ipc_footer(const IpcStream& stream, std::span<const uint8_t> schema);

}  // namespace forebay
