#include "stream/ranks/record_notes.h"

#include <cstring>

namespace forebay {

namespace {

// | kind (1) | bytes of the offset (2) | gaps only: missing records (8) | offset |
constexpr uint8_t kRecordNote = 0, kGapNote = 1;
constexpr size_t kNoteHead = 3, kCountBytes = 8;

size_t encoded_size(const RecordNote& note) { return kNoteHead + (note.gap ? kCountBytes : 0) + note.offset.size(); }

Status no_note() { return {Code::kCorrupt, "these bytes do not say what was read of a partition"}; }

}  // namespace

Buffer encode_notes(std::span<const RecordNote> notes) {
  size_t size = 0;
  for (const RecordNote& note : notes) size += encoded_size(note);
  Buffer bytes = Buffer::allocate(size);
  uint8_t* at = bytes.data();
  const auto put = [&](const void* data, size_t count) {
    if (count > 0) std::memcpy(at, data, count);
    at += count;
  };
  for (const RecordNote& note : notes) {
    const uint8_t kind = note.gap ? kGapNote : kRecordNote;
    const auto length = static_cast<uint16_t>(note.offset.size());  // below 1 KB (LogRecord)
    put(&kind, sizeof(kind));
    put(&length, sizeof(length));
    if (note.gap) put(&note.missing, sizeof(note.missing));
    put(note.offset.data(), length);
  }
  return bytes;
}

Result<std::vector<RecordNote>> parse_notes(std::span<const uint8_t> bytes) {
  std::vector<RecordNote> notes;
  while (!bytes.empty()) {
    if (bytes.size() < kNoteHead || bytes[0] > kGapNote) return no_note();
    RecordNote note;
    note.gap = bytes[0] == kGapNote;
    uint16_t length = 0;
    std::memcpy(&length, bytes.data() + 1, sizeof(length));
    bytes = bytes.subspan(kNoteHead);
    if (bytes.size() < length + (note.gap ? kCountBytes : 0)) return no_note();
    if (note.gap) {
      std::memcpy(&note.missing, bytes.data(), kCountBytes);
      if (note.missing < -1) return no_note();
      bytes = bytes.subspan(kCountBytes);
    } else if (length == 0) {
      return no_note();
    }
    note.offset.assign(reinterpret_cast<const char*>(bytes.data()), length);
    bytes = bytes.subspan(length);
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace forebay
