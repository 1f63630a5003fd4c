#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cluster/message.h"

namespace forebay {

/// One item of a response: the answer for one of the things that a call requested.
struct ResponseItem {
  enum class State : uint8_t {
    kAbsent,    ///< the host does not have it
    kHere,      ///< `body` holds it, and its checksum matched
    kTooLarge,  ///< it has `bytes` bytes, more than the caller accepts
    kComing,    ///< the host will have it; `bytes` falls until then
    kDamaged,   ///< the checksum of the received bytes did not match
  };
  State state = State::kAbsent;
  uint64_t bytes = 0;
  Buffer body;  ///< part of the response's memory, aligned to 64 bytes
};

/// One item as the service found it.
struct FoundItem {
  std::optional<Buffer> body = {};
  /// If there is no body: the host will have it, after this much other work.
  std::optional<uint64_t> coming = {};
};

/// Encodes a response about several things, in the order of the request. Its fields give the state,
/// length and checksum of each item; its bodies are those of the items in state kHere. Every
/// service that returns more than one thing a call uses it. `most_bytes` holds, for each item, the
/// most bytes that the caller accepts.
Response encode_items(std::string_view kind, std::span<const uint64_t> most_bytes, std::vector<FoundItem> found);

/// Parses the response to a request. Corrupt for another number of items, for lengths above what
/// the caller accepts or what was received, and for bytes left over. A damaged body makes only its
/// own item kDamaged.
Result<std::vector<ResponseItem>> parse_items(std::string_view kind, std::span<const uint64_t> most_bytes,
                                              const Buffer& response);

/// Returns the size of the longest valid response.
uint64_t max_items_bytes(std::span<const uint64_t> most_bytes);

}  // namespace forebay
