// HDF5: a chunk through any filters, and a whole file as it is opened and its first chunks decoded.
//
// What begins as an HDF5 file does is one; all else is a chunk: a byte of how many filters, a byte for each, two of its size, one of its filter mask.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "format/hdf5/hdf5_file.h"
#include "format/hdf5/links.h"

namespace {

using namespace forebay;

constexpr uint64_t kMemory = 16 << 20;

void undo_chunk(std::span<const uint8_t> bytes) {
  Hdf5Cursor in(bytes);
  std::vector<Hdf5Filter> filters;
  for (size_t count = in.u8() % 5; count > 0; --count) {
    constexpr uint16_t kIds[] = {1, 2, 3, 4, 32000, 32008};
    const uint8_t which = in.u8();
    filters.push_back({kIds[which % 6], {}, {static_cast<uint32_t>(which / 6)}});
  }
  const uint64_t size = in.u16();
  const uint32_t filter_mask = in.u8() & 7u;
  if (in.failed()) return;
  Hdf5Filtering filtering;
  WorkMemory memory(kMemory);
  const auto undone = filtering.undo(filters, filter_mask, in.bytes(in.left()), size, memory);
  if (undone.ok() && undone->size() != size) std::abort();
}

void read_chunk(const Hdf5File& file, const Buffer& bytes) {
  const size_t field = 0;
  if (file.groups() == 0 || file.cost(0, std::span(&field, 1)).decoded_bytes > kMemory) return;
  std::vector<TableFile::Piece> pieces;
  for (const ByteRange& range : file.ranges(0, std::span(&field, 1)))
    pieces.push_back({range.offset, bytes.slice(range.offset, range.length)});
  WorkMemory memory(kMemory);
  const Result<Columns> columns = file.decode(0, std::span(&field, 1), pieces, memory);
  if (columns.ok() && !columns->check().ok()) std::abort();
}

void open_file(std::span<const uint8_t> bytes) {
  Buffer buffer = Buffer::allocate(bytes.size());
  std::copy(bytes.begin(), bytes.end(), buffer.data());
  Hdf5BytesInMemory memory(buffer);
  Result<Hdf5Metadata> file = Hdf5Metadata::open(memory);
  if (!file.ok()) return;
  for (const std::string& path : hdf5_data_sets(*file, 4)) {
    for (const std::optional<Hdf5Windows>& windows : {std::optional<Hdf5Windows>(), std::optional(Hdf5Windows{3, 2})}) {
      Result<Hdf5Columns> columns = resolve_hdf5_fields(*file, {{"x", path}}, windows);
      if (columns.ok()) read_chunk(Hdf5File(std::move(*columns), windows, file->offset(0)), buffer);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  if (size > 4 && std::memcmp(data, "\x89HDF", 4) == 0)
    open_file(bytes);
  else
    undo_chunk(bytes);
  return 0;
}
