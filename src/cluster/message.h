#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "cluster/transport.h"
#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

inline constexpr uint64_t kBodyAlignment = 64;
/// Returns the bytes that a body takes in a message.
constexpr uint64_t body_room(uint64_t bytes) { return (bytes + kBodyAlignment - 1) / kBodyAlignment * kBodyAlignment; }

/// The form of every request and response of this project's services, little-endian:
///
/// | part | bytes | |
/// |---|---|---|
/// | kind | 8 | eight characters that name the service, the message and its version |
/// | checksum | 8 | lower half of xxh3-128 over the length and the fields |
/// | length | 8 | of the fields |
/// | fields | length | as ByteWriter puts them |
/// | bodies | the rest | each begins at a multiple of 64; their lengths are fields |
///
/// Checksums protect against faults in transit, not against a malicious host, which has the token
/// and can compute them. This class writes one message, on one thread.
class MessageFields : public ByteWriter {
 public:
  /// `kind` has eight characters.
  explicit MessageFields(std::string_view kind);
  /// Returns the message, without bodies.
  Buffer done();
  /// Returns the message in pieces, followed by the bodies, which are not copied.
  Response done_with(std::vector<Buffer> bodies);
};

/// The parts of a received message, as views of its bytes.
struct ReadMessage {
  std::string_view fields;
  size_t bodies_at = 0;  ///< offset of the first body, if there is one
};
/// Checks kind, length and checksum. Corrupt for anything but a message of that kind.
Result<ReadMessage> read_message(std::span<const uint8_t> bytes, std::string_view kind);
/// Does the same for a message that has no bodies.
Result<std::string_view> read_fields(std::span<const uint8_t> bytes, std::string_view kind);
/// Returns Corrupt if fields are missing or left over.
Status check_all_read(const ByteReader& fields);

/// Returns the size of a message with `field_bytes` bytes of fields and bodies of these lengths.
uint64_t max_message_bytes(uint64_t field_bytes, std::span<const uint64_t> body_bytes);

/// Returns the pieces as one buffer.
Buffer joined(const Response& response);

}  // namespace forebay
