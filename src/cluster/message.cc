#include "cluster/message.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"

namespace forebay {

namespace {

constexpr size_t kKindBytes = 8, kChecksumAt = 8, kLengthAt = 16, kHeadBytes = 24;

// Padding between fields and bodies. Static, so that it needs no reference count; never written.
Buffer zeros(uint64_t bytes) {
  static std::array<uint8_t, kBodyAlignment> all{};
  return {all.data(), bytes, nullptr};
}

void put_aligned(Response& pieces, Buffer piece) {
  const uint64_t gap = body_room(piece.size()) - piece.size();
  if (!piece.empty()) pieces.push_back(std::move(piece));
  if (gap > 0) pieces.push_back(zeros(gap));
}

// The checksum covers the length, so that a damaged length is found.
uint64_t fields_checksum(std::span<const uint8_t> message) {
  return hash128(message.data() + kLengthAt, message.size() - kLengthAt).low;
}

uint64_t number_at(std::span<const uint8_t> bytes, size_t offset) {
  uint64_t number = 0;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

}  // namespace

MessageFields::MessageFields(std::string_view kind) {
  for (size_t i = 0; i < kKindBytes; ++i) put(kind[i]);
  put(uint64_t{0});
  put(uint64_t{0});
}

Buffer MessageFields::done() {
  put_at(kLengthAt, uint64_t{bytes().size() - kHeadBytes});
  Buffer message = Buffer::allocate(bytes().size());
  std::memcpy(message.data(), bytes().data(), bytes().size());
  const uint64_t checksum = fields_checksum(message.span());
  std::memcpy(message.data() + kChecksumAt, &checksum, sizeof checksum);
  return message;
}

Response MessageFields::done_with(std::vector<Buffer> bodies) {
  Response pieces;
  pieces.reserve(2 + 2 * bodies.size());
  put_aligned(pieces, done());
  for (Buffer& body : bodies) put_aligned(pieces, std::move(body));
  return pieces;
}

Result<ReadMessage> read_message(std::span<const uint8_t> bytes, std::string_view kind) {
  if (bytes.size() < kHeadBytes) return corrupt(fmt::format("a message of {} bytes is too short", bytes.size()));
  if (std::memcmp(bytes.data(), kind.data(), kKindBytes) != 0)
    return corrupt(fmt::format("expected a message of the kind '{}', found another", kind));
  const uint64_t length = number_at(bytes, kLengthAt);
  if (length > bytes.size() - kHeadBytes) return corrupt("a message ends inside its fields");
  if (fields_checksum(bytes.first(kHeadBytes + length)) != number_at(bytes, kChecksumAt))
    return corrupt("the fields of a message do not have its checksum");
  const std::string_view fields(reinterpret_cast<const char*>(bytes.data()) + kHeadBytes, length);
  return ReadMessage{fields, body_room(kHeadBytes + length)};
}

Result<std::string_view> read_fields(std::span<const uint8_t> bytes, std::string_view kind) {
  FOREBAY_ASSIGN(const ReadMessage message, read_message(bytes, kind));
  if (kHeadBytes + message.fields.size() != bytes.size()) return corrupt("a message has bytes behind its fields");
  return message.fields;
}

Status check_all_read(const ByteReader& fields) {
  if (!fields.ok()) return corrupt("a message ends inside a field");
  return fields.left() == 0 ? Status() : corrupt("a message has more fields than it may have");
}

uint64_t max_message_bytes(uint64_t field_bytes, std::span<const uint64_t> body_bytes) {
  constexpr uint64_t kMost = uint64_t{1} << 40;  // limit that keeps the sum from overflowing
  uint64_t bytes = body_room(kHeadBytes + field_bytes);
  for (const uint64_t body : body_bytes) bytes += body_room(std::min(body, kMost));
  return bytes;
}

Buffer joined(const Response& response) {
  Buffer all = Buffer::allocate(response_bytes(response));
  uint64_t at = 0;
  for (const Buffer& piece : response) {
    if (!piece.empty()) std::memcpy(all.data() + at, piece.data(), piece.size());
    at += piece.size();
  }
  return all;
}

}  // namespace forebay
