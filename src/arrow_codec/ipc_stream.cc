#include "arrow_codec/ipc_stream.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "arrow_codec/flat_bytes.h"
#include "base/sniff.h"

namespace forebay {

namespace {

// Usually holds the schema and the first batch's head.
constexpr uint64_t kFirstBytes = uint64_t{64} << 10;
constexpr uint64_t kHeadBytes = uint64_t{4} << 10;
constexpr uint64_t kPrefixBytes = 8;
constexpr uint32_t kMark = UINT32_MAX;  // precedes the length of a head, except in old streams

// Message.fbs, MessageHeader.
constexpr uint8_t kSchema = 1, kDictionary = 2, kRecordBatch = 3;

Status cut_off(uint64_t offset) {
  return corrupt(fmt::format("the Arrow stream ends within its message at byte {}; restore the file", offset));
}
Status damaged(uint64_t offset) {
  return corrupt(fmt::format("the message at byte {} of the Arrow stream is damaged; restore the file", offset));
}

/// The bytes from `offset` to the end of their piece, at most `most`.
std::span<const uint8_t> bytes_at(std::span<const TableFile::Piece> pieces, uint64_t offset, uint64_t most) {
  auto next = std::ranges::upper_bound(pieces, offset, {}, &TableFile::Piece::offset);
  while (next != pieces.begin()) {
    const TableFile::Piece& piece = *--next;
    const uint64_t inside = offset - piece.offset;
    if (inside >= piece.bytes.size()) continue;
    return piece.bytes.span().subspan(inside, std::min<uint64_t>(most, piece.bytes.size() - inside));
  }
  return {};
}

struct Message {
  uint8_t type = 0;
  int16_t version = 0;
  uint64_t header = 0;  ///< position of the header's table
  uint64_t body_bytes = 0;
};

/// `flat` is a head without its prefix.
std::optional<Message> read_message(const FlatBytes& flat) {
  const auto table = flat.follow(0);
  if (!table) return std::nullopt;
  // Message: version, header_type, header, bodyLength. An absent field has its default, 0.
  const auto version = flat.field(*table, 0), type = flat.field(*table, 1), header = flat.field(*table, 2);
  const auto body = flat.field(*table, 3);
  if (!type || !header) return std::nullopt;
  const auto header_at = flat.follow(*header);
  const auto known_type = flat.read<uint8_t>(*type);
  const std::optional<int64_t> length = body ? flat.read<int64_t>(*body) : std::optional<int64_t>(0);
  const std::optional<int16_t> known_version =
      version ? flat.read<int16_t>(*version) : std::optional<int16_t>(int16_t{0});
  if (!header_at || !known_type || !length || *length < 0 || !known_version) return std::nullopt;
  return Message{*known_type, *known_version, *header_at, static_cast<uint64_t>(*length)};
}

uint64_t prefix_of(std::span<const uint8_t> head) {
  return FlatBytes(head).read<uint32_t>(0) == kMark ? kPrefixBytes : kPrefixBytes / 2;
}

/// The message at an offset of the stream.
struct Step {
  enum class Kind : uint8_t { kNeedsBytes, kEnd, kMessage } kind = Kind::kEnd;
  ByteRange next_read = {};  ///< for kNeedsBytes
  IpcBlock block = {};
  Message message = {};
};

class StreamWalk {
 public:
  StreamWalk(std::span<const TableFile::Piece> pieces, uint64_t file_size) : pieces_(pieces), file_size_(file_size) {}

  Result<Step> step(uint64_t offset) {
    // The end mark is optional.
    if (offset == file_size_) return Step{};
    const uint64_t left = file_size_ - offset;
    if (left < sizeof(uint32_t)) return cut_off(offset);
    const auto prefix = bytes_at(pieces_, offset, kPrefixBytes);
    if (prefix.size() < std::min(kPrefixBytes, left))
      return needs_bytes(offset, offset == 0 ? kFirstBytes : last_head_);
    const FlatBytes flat(prefix);
    const bool marked = flat.read<uint32_t>(0) == kMark;
    const auto length = flat.read<uint32_t>(marked ? 4 : 0);
    if (!length) return cut_off(offset);
    const uint64_t before = marked ? kPrefixBytes : kPrefixBytes / 2;
    if (*length == 0) {
      if (left > before)
        return corrupt(
            fmt::format("{} bytes stand behind the end of the Arrow stream, at byte {}; write one stream a file",
                        left - before, offset + before));
      return Step{};
    }
    const uint64_t head_bytes = before + *length;
    if (head_bytes > left) return cut_off(offset);
    const auto head = bytes_at(pieces_, offset, head_bytes);
    if (head.size() < head_bytes) return needs_bytes(offset, head_bytes);
    last_head_ = head_bytes;
    return message(offset, head, before);
  }

 private:
  Result<Step> message(uint64_t offset, std::span<const uint8_t> head, uint64_t before) {
    const std::optional<Message> read = read_message(FlatBytes(head.subspan(before)));
    if (!read) return damaged(offset);
    const uint64_t left = file_size_ - offset - head.size();
    if (read->body_bytes > left) return cut_off(offset);
    const uint64_t whole = head.size() + read->body_bytes;
    // Dictionaries are part of the index.
    if (read->type == kDictionary && bytes_at(pieces_, offset, whole).size() < whole) return needs_bytes(offset, whole);
    return Step{Step::Kind::kMessage, {}, {offset, head.size(), read->body_bytes}, *read};
  }

  Step needs_bytes(uint64_t offset, uint64_t bytes) const {
    return {Step::Kind::kNeedsBytes, {offset, std::min(std::max(bytes, kPrefixBytes), file_size_ - offset)}, {}, {}};
  }

  const std::span<const TableFile::Piece> pieces_;
  const uint64_t file_size_;
  uint64_t last_head_ = kHeadBytes;  ///< most heads of one stream's batches have the same size
};

template <typename T>
void put(Buffer& out, uint64_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof value);
}

void put_blocks(Buffer& out, uint64_t at, const std::vector<IpcBlock>& blocks) {
  put(out, at, static_cast<uint32_t>(blocks.size()));
  at += sizeof(uint32_t);
  // File.fbs, Block: offset, metaDataLength and 4 bytes of padding, bodyLength.
  for (const IpcBlock& block : blocks) {
    put(out, at, block.offset);
    put(out, at + 8, static_cast<uint64_t>(block.head_bytes));
    put(out, at + 16, block.body_bytes);
    at += 24;
  }
}

}  // namespace

Result<IpcStream> walk_ipc_stream(std::span<const TableFile::Piece> pieces, uint64_t file_size, uint64_t begin) {
  StreamWalk walk(pieces, file_size);
  IpcStream stream;
  for (uint64_t offset = begin;;) {
    FOREBAY_ASSIGN(const Step step, walk.step(offset));
    if (step.kind == Step::Kind::kEnd) return stream;
    if (step.kind == Step::Kind::kNeedsBytes) {
      stream.next_read = step.next_read;
      return stream;
    }
    if ((offset == 0) != (step.message.type == kSchema)) return damaged(offset);
    if (step.message.type == kSchema) {
      stream.schema = step.block;
    } else if (step.message.type == kDictionary) {
      stream.footer.dictionaries.push_back(step.block);
    } else if (step.message.type == kRecordBatch) {
      stream.footer.batches.push_back(step.block);
    } else {
      return unsupported(fmt::format(
          "expected a record batch in the Arrow stream, found a message of kind {}; write a table", step.message.type));
    }
    offset += step.block.head_bytes + step.block.body_bytes;
  }
}

// The offsets of this flatbuffer lead only forwards, so the schema's message can follow the new
// tables unchanged.
Result<Buffer> make_ipc_footer(const IpcStream& stream, std::span<const uint8_t> schema) {
  const std::span<const uint8_t> message = schema.subspan(std::min<uint64_t>(prefix_of(schema), schema.size()));
  const std::optional<Message> read = read_message(FlatBytes(message));
  if (!read) return damaged(0);
  constexpr uint64_t kVtable = 4, kTable = 16, kDictionaries = 36, kBlockBytes = 24;
  const uint64_t batches = kDictionaries + 4 + kBlockBytes * stream.footer.dictionaries.size() + 4;
  const uint64_t copied = batches + 4 + kBlockBytes * stream.footer.batches.size();
  const uint64_t footer_bytes = copied + message.size();
  if (footer_bytes > INT32_MAX)
    return unsupported("the Arrow stream has more batches than an index of 2 GiB holds; write larger ones");
  Buffer out = Buffer::allocate(footer_bytes + 10);
  std::memset(out.data(), 0, out.size());
  put(out, 0, static_cast<uint32_t>(kTable));
  // File.fbs, Footer: version, schema, dictionaries, recordBatches; offsets in the table.
  const uint16_t vtable[] = {12, 18, 16, 4, 8, 12};
  std::memcpy(out.data() + kVtable, vtable, sizeof vtable);
  put(out, kTable, static_cast<int32_t>(kTable - kVtable));
  put(out, kTable + 4, static_cast<uint32_t>(copied + read->header - (kTable + 4)));
  put(out, kTable + 8, static_cast<uint32_t>(kDictionaries - (kTable + 8)));
  put(out, kTable + 12, static_cast<uint32_t>(batches - (kTable + 12)));
  put(out, kTable + 16, read->version);
  put_blocks(out, kDictionaries, stream.footer.dictionaries);
  put_blocks(out, batches, stream.footer.batches);
  std::memcpy(out.data() + copied, message.data(), message.size());
  put(out, footer_bytes, static_cast<int32_t>(footer_bytes));
  std::memcpy(out.data() + footer_bytes + 4, "ARROW1", 6);
  return out;
}

}  // namespace forebay
