#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace forebay {

/// Which function of the other end a message is for.
inline constexpr unsigned kQuestionMessage = 1, kAnswerMessage = 2;

using EndSecret = std::array<uint8_t, 32>;

/// What stands before the bytes of a message. Hosts of a job have the same byte order: UCX itself needs that.
struct MessageHead {
  static constexpr uint64_t kMagic = 0x3178'6375'7965'6266;  // "fbeyucx1"
  uint64_t magic = kMagic;
  uint64_t asker = 0;         ///< the end that asks; a random number
  uint64_t connection = 0;    ///< as the asker counts
  uint64_t id = 0;            ///< of the question, as the asker counts, from a random number on
  uint64_t code = 0;          ///< of an answer; how many bytes of a question are the asker's address
  uint64_t address_hash = 0;  ///< lower half of xxh3-128 over the asker's address
  EndSecret secret{};         ///< of the end that is asked; zeros in answers

  std::string_view shown() const { return {reinterpret_cast<const char*>(secret.data()), secret.size()}; }
  /// Nothing for what is none of ours.
  static std::optional<MessageHead> parse(const void* bytes, size_t size) {
    MessageHead head;
    if (size != sizeof head) return std::nullopt;
    std::memcpy(&head, bytes, sizeof head);
    if (head.magic != kMagic) return std::nullopt;
    return head;
  }
};
static_assert(sizeof(MessageHead) == 80);

}  // namespace forebay
