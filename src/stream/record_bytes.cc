#include "stream/record_bytes.h"

#include <cstring>
#include <string_view>

#include "base/hash.h"

namespace forebay {

namespace {

struct RecordHead {
  uint64_t hash;  // of the rest of the record
  uint32_t offset_bytes, key_bytes;
  uint64_t payload_bytes;
  uint64_t size() const { return sizeof(RecordHead) + offset_bytes + key_bytes + payload_bytes; }
};
static_assert(sizeof(RecordHead) == kRecordHeadBytes);

// The hash covers lengths and bytes, so that a wrong length is found as well.
uint64_t hash_of(const uint8_t* record, uint64_t size) {
  constexpr size_t kBehind = sizeof(uint64_t);
  return hash128(std::string_view(reinterpret_cast<const char*>(record) + kBehind, size - kBehind)).low;
}

RecordHead head_at(const uint8_t* bytes) {
  RecordHead head;
  std::memcpy(&head, bytes, sizeof(head));
  return head;
}

}  // namespace

Buffer record_bytes(const LogRecord& record) {
  RecordHead head{0, static_cast<uint32_t>(record.offset.size()), static_cast<uint32_t>(record.key.size()),
                  record.payload.size()};
  Buffer bytes = Buffer::allocate(head.size());
  uint8_t* at = bytes.data();
  const auto put = [&](const void* data, size_t size) {
    if (size > 0) std::memcpy(at, data, size);
    at += size;
  };
  // The hash also covers the rest of the head, and is filled in last.
  put(&head, sizeof(head));
  put(record.offset.data(), record.offset.size());
  put(record.key.data(), record.key.size());
  put(record.payload.data(), record.payload.size());
  head.hash = hash_of(bytes.data(), bytes.size());
  std::memcpy(bytes.data(), &head, sizeof(head));
  return bytes;
}

uint64_t record_size(const uint8_t* head) { return head_at(head).size(); }

Result<LogRecord> parse_record(const Buffer& bytes, size_t partition) {
  const auto wrong = [] { return Status(Code::kCorrupt, "these bytes are no record of a stream"); };
  if (bytes.size() < sizeof(RecordHead)) return wrong();
  const RecordHead head = head_at(bytes.data());
  // The sum of all three could overflow and then look right.
  if (head.payload_bytes > bytes.size() || head.size() != bytes.size()) return wrong();
  if (hash_of(bytes.data(), bytes.size()) != head.hash) return wrong();
  LogRecord record;
  record.partition = partition;
  const char* text = reinterpret_cast<const char*>(bytes.data()) + sizeof(head);
  record.offset.assign(text, head.offset_bytes);
  record.key.assign(text + head.offset_bytes, head.key_bytes);
  // A view, which keeps its whole block in memory. Use deep_copy() to retain the record for long.
  record.payload = bytes.slice(bytes.size() - head.payload_bytes, head.payload_bytes);
  return record;
}

}  // namespace forebay
