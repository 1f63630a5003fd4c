#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cluster/message.h"

namespace forebay {

/// One item of a response: the answer about one of the things that a call asked for.
struct ResponseItem {
  enum class State : uint8_t {
    kAbsent,    ///< the host does not have it
    kHere,      ///< `body` is it; the checksum was right
    kTooLarge,  ///< it has `bytes` bytes, more than the caller takes
    kComing,    ///< the host will have it; `bytes` falls until then
    kDamaged,   ///< other bytes came than those that were sent
  };
  State state = State::kAbsent;
  uint64_t bytes = 0;
  Buffer body;  ///< part of the response's memory, at a multiple of 64 bytes
};

/// One item as the service found it.
struct FoundItem {
  std::optional<Buffer> body = {};
  std::optional<uint64_t> coming = {};  ///< without a body: the host will have it, and how much it does before
};

/// A response about several things, in the order in which they were asked for: a message whose fields say
/// for each its state, length and checksum, and whose bodies are those that are here. Used by every
/// service that lends more than one thing a call. `most_bytes` has for each the most that its caller takes.
Response encode_items(std::string_view kind, std::span<const uint64_t> most_bytes, std::vector<FoundItem> found);

/// Corrupt for what cannot be the response to that request: another number of items, lengths beyond what
/// the caller takes or what came, bytes left over. One damaged body is kDamaged, and the others are not
/// affected.
Result<std::vector<ResponseItem>> parse_items(std::string_view kind, std::span<const uint64_t> most_bytes,
                                              const Buffer& response);

/// The bytes of the longest right response.
uint64_t most_items_bytes(std::span<const uint64_t> most_bytes);

}  // namespace forebay
