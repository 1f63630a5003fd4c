#include "cache/entry_form.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "cache/entry_description.h"

namespace forebay {

namespace {

constexpr uint64_t kEntryMagic = 0x3159525445424546;  // "FEBETRY1"
constexpr uint32_t kEntryVersion = 1;

struct Header {
  uint64_t magic = kEntryMagic;
  uint32_t version = kEntryVersion;
  uint32_t description_bytes = 0;
  Hash128 id;
  uint64_t bytes = 0;
  uint64_t reserved = 0;
  uint64_t content_hash = 0;
  uint64_t header_hash = 0;
};
static_assert(sizeof(Header) == kEntryHeaderBytes);

uint64_t own_hash(const Header& header) { return hash64(&header, sizeof header - sizeof header.header_hash); }

/// The part of a column that belongs to its rows. Offsets may begin anywhere in values that are
/// shared with other columns.
struct Extent {
  const uint8_t* data = nullptr;
  uint64_t size = 0;
  size_t element_bytes = 1;
};

Extent values_of(const Field& field, const ColumnValues& column, int64_t rows) {
  const size_t element = field.kind == FieldKind::kTensor ? dtype_size(field.dtype) : 1;
  if (field.fixed_shape()) return {column.values.data(), row_bytes(field) * static_cast<uint64_t>(rows), element};
  const auto begin = static_cast<uint64_t>(column.offset()[0]), end = static_cast<uint64_t>(column.offset()[rows]);
  const size_t item = item_bytes(field);
  return {column.values.data() + begin * item, (end - begin) * item, element};
}

/// Returns the offsets shifted to begin at 0.
Buffer own_offsets(const ColumnValues& column, int64_t rows) {
  const auto count = static_cast<size_t>(rows) + 1;
  Buffer offsets = Buffer::allocate(count * sizeof(int64_t));
  auto* const out = reinterpret_cast<int64_t*>(offsets.data());
  for (size_t i = 0; i < count; ++i) out[i] = column.offset()[i] - column.offset()[0];
  return offsets;
}

/// The blocks of an entry in order, with their positions.
class Blocks {
 public:
  explicit Blocks(Compression compression) : compression_(compression) {}

  StoredBlock add(const Extent& extent) {
    StoredBlock block;
    block.bytes = extent.size;
    block.stored_bytes = extent.size;
    // Each block is packed by itself. Blocks that packing does not make smaller stay as they are,
    // and are read without a copy.
    Piece piece{extent.data, extent.size, pack(compression_, extent.data, extent.size, extent.element_bytes), 0};
    if (!piece.packed.empty()) {
      block.compression = compression_;
      block.packed_bytes = piece.packed.size();
      // Padded, so that a reader can bound its memory by the bytes stored.
      block.stored_bytes = std::max(block.packed_bytes, extent.size / kMaxExpansion + 1);
      piece.data = piece.packed.data();
      piece.size = piece.packed.size();
    }
    block.offset = piece.offset = bytes_;
    bytes_ += to_entry_alignment(block.stored_bytes);
    pieces_.push_back(std::move(piece));
    return block;
  }
  /// Gaps between blocks are zeros, so that equal columns give equal bytes.
  void write(uint8_t* out) const {
    uint64_t at = 0;
    for (const Piece& piece : pieces_) {
      std::memset(out + at, 0, piece.offset - at);
      if (piece.size > 0) std::memcpy(out + piece.offset, piece.data, piece.size);
      at = piece.offset + piece.size;
    }
    std::memset(out + at, 0, bytes_ - at);
  }
  uint64_t bytes() const { return bytes_; }

 private:
  struct Piece {
    const uint8_t* data;
    uint64_t size;
    Buffer packed;
    uint64_t offset;
  };
  const Compression compression_;
  std::vector<Piece> pieces_;
  uint64_t bytes_ = 0;
};

void seal(Buffer& entry, Header header) {
  header.content_hash = hash64(entry.data() + sizeof header, entry.size() - sizeof header);
  header.header_hash = own_hash(header);
  std::memcpy(entry.data(), &header, sizeof header);
}

Result<Header> checked_header(std::span<const uint8_t> bytes) {
  Header header;
  if (bytes.size() < sizeof header) return corrupt("the kept entry is shorter than its header");
  std::memcpy(&header, bytes.data(), sizeof header);
  // Checked before the checksum, for the message: foreign bytes are not a damaged entry.
  if (header.magic != kEntryMagic) return corrupt("this is no kept entry");
  if (header.header_hash != own_hash(header)) return corrupt("the kept entry's header is damaged (checksum)");
  if (header.version != kEntryVersion) return corrupt(fmt::format("the kept entry has version {}", header.version));
  return header;
}

Result<Buffer> block_of(const StoredBlock& block, const Buffer& entry, size_t element_bytes) {
  if (block.compression == Compression::kNone) return entry.slice(block.offset, block.bytes);
  return unpack(block.compression, entry.span().subspan(block.offset, block.packed_bytes), block.bytes, element_bytes);
}

Buffer aligned(Buffer stored) {
  if (reinterpret_cast<uintptr_t>(stored.data()) % kEntryAlignment == 0) return stored;
  Buffer copy = Buffer::allocate(stored.size());
  std::memcpy(copy.data(), stored.data(), stored.size());
  return copy;
}

}  // namespace

Result<Buffer> encode_entry(const Hash128& id, const Columns& columns, Compression compression) {
  if (Status checked = columns.check(); !checked.ok()) return checked;
  EntryDescription description{columns.schema, columns.rows, {}, columns.bad_rows};
  Blocks blocks(compression);
  std::vector<Buffer> offsets;  // must live until written
  for (size_t i = 0; i < columns.values.size(); ++i) {
    const Field& field = columns.schema[i];
    StoredColumn column{blocks.add(values_of(field, columns.values[i], columns.rows)), {}};
    if (!field.fixed_shape()) {
      offsets.push_back(own_offsets(columns.values[i], columns.rows));
      column.offsets = blocks.add({offsets.back().data(), offsets.back().size(), sizeof(int64_t)});
    }
    description.columns.push_back(column);
  }
  // Serialized twice: the positions of blocks depend on the length of the description, which does
  // not depend on them.
  FOREBAY_ASSIGN(std::string text, description.to_bytes());
  const uint64_t blocks_at = kEntryHeaderBytes + to_entry_alignment(text.size());
  for (StoredColumn& column : description.columns) {
    column.values.offset += blocks_at;
    if (column.offsets.stored_bytes > 0) column.offsets.offset += blocks_at;
  }
  FOREBAY_ASSIGN(text, description.to_bytes());
  Header header;
  header.id = id;
  header.description_bytes = static_cast<uint32_t>(text.size());
  header.bytes = blocks_at + blocks.bytes();
  Buffer entry = Buffer::allocate(header.bytes);
  std::memset(entry.data() + kEntryHeaderBytes, 0, blocks_at - kEntryHeaderBytes);
  std::memcpy(entry.data() + kEntryHeaderBytes, text.data(), text.size());
  blocks.write(entry.data() + blocks_at);
  seal(entry, header);
  return entry;
}

Result<Columns> decode_entry(const Hash128& id, Buffer stored) {
  FOREBAY_ASSIGN(const Header header, checked_header(stored.span()));
  // It may be from a cache that was removed and written again meanwhile, or from a peer that sent
  // another entry.
  if (header.id != id) return corrupt("the kept bytes are those of another entry");
  if (header.bytes != stored.size() || header.description_bytes > stored.size() - kEntryHeaderBytes)
    return corrupt(fmt::format("the kept entry has {} bytes instead of {}", stored.size(), header.bytes));
  if (hash64(stored.data() + kEntryHeaderBytes, stored.size() - kEntryHeaderBytes) != header.content_hash)
    return corrupt("the kept entry is damaged (checksum)");
  const Buffer entry = aligned(std::move(stored));
  const std::string_view text(reinterpret_cast<const char*>(entry.data()) + kEntryHeaderBytes,
                              header.description_bytes);
  FOREBAY_ASSIGN(EntryDescription description, EntryDescription::from_bytes(text, entry.size()));
  Columns columns{std::move(description.schema), description.rows, {}, std::move(description.bad_rows)};
  for (size_t i = 0; i < description.columns.size(); ++i) {
    const Field& field = columns.schema[i];
    const size_t element = field.kind == FieldKind::kTensor ? dtype_size(field.dtype) : 1;
    ColumnValues column;
    FOREBAY_ASSIGN(column.values, block_of(description.columns[i].values, entry, element));
    if (!field.fixed_shape()) {
      FOREBAY_ASSIGN(column.offsets, block_of(description.columns[i].offsets, entry, sizeof(int64_t)));
    }
    columns.values.push_back(std::move(column));
  }
  if (const Status checked = columns.check(); !checked.ok()) return corrupt("in the kept entry " + checked.message());
  return columns;
}

void reseal_entry(Buffer& entry) {
  Header header;
  if (entry.size() < sizeof header) return;
  std::memcpy(&header, entry.data(), sizeof header);
  header.magic = kEntryMagic;
  header.version = kEntryVersion;
  header.bytes = entry.size();
  seal(entry, header);
}

Result<EntryHeader> read_entry_header(std::span<const uint8_t> bytes) {
  FOREBAY_ASSIGN(const Header header, checked_header(bytes));
  return EntryHeader{header.id, header.bytes};
}

}  // namespace forebay
