#include "stream/ranks/record_notes.h"

#include <cstring>

#include "base/bytes.h"

namespace forebay {

namespace {

Status no_note() { return {Code::kCorrupt, "these bytes do not say what was read of a partition"}; }

}  // namespace

Buffer encode_notes(std::span<const RecordNote> notes) {
  ByteWriter out;
  for (const RecordNote& note : notes) {
    out.put(static_cast<uint8_t>(note.gap));
    if (note.gap) out.put(note.missing);
    out.put_text(note.offset);
  }
  Buffer bytes = Buffer::allocate(out.bytes().size());
  if (!bytes.empty()) std::memcpy(bytes.data(), out.bytes().data(), bytes.size());
  return bytes;
}

Result<std::vector<RecordNote>> parse_notes(std::span<const uint8_t> bytes) {
  ByteReader in({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  std::vector<RecordNote> notes;
  while (in.left() > 0) {
    const auto gap = in.take<uint8_t>();
    RecordNote note;
    note.gap = gap == 1;
    if (note.gap) note.missing = in.take<int64_t>();
    note.offset = in.take_text();
    if (!in.ok() || gap > 1 || note.missing < -1 || (!note.gap && note.offset.empty())) return no_note();
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace forebay
