#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// A key that a host is asked for.
struct WantedKey {
  Hash128 key;
  uint64_t most_bytes = 0;  ///< more is not taken: the answer is how many there are
  int64_t element = -1;     ///< what it was made of, if the asker knows: so the host can tell whether it will make it
};

/// What became of it.
struct AnsweredKey {
  enum class State : uint8_t {
    kAbsent,    ///< the host has no such key
    kHere,      ///< `body` is it, as its checksum says
    kTooLarge,  ///< it has `bytes` bytes, more than were wanted
    kComing,    ///< the host will make it; `bytes` falls until then
    kDamaged,   ///< bytes came that were not those that were sent
  };
  State state = State::kAbsent;
  uint64_t bytes = 0;
  Buffer body;  ///< part of the answer's memory, aligned to 64 bytes where that is
};

/// How questions and answers look on the wire, little-endian, whatever carries them:
///
/// | question | bytes | | answer | bytes | |
/// |---|---|---|---|---|---|
/// | magic | 8 | the version is in it | magic | 8 | |
/// | keys | 4, and 4 of zeros | | keys | 4, and 4 of zeros | |
/// | of each key | 32 | its 128 bits, most_bytes, element | of each key | 24 | state (8), length (8), checksum (8) |
/// | | | | bodies | each begins at a multiple of 64 | those of keys that are here |
///
/// The checksum is the lower half of xxh3-128 over the body. Answers have the keys of the question, in its order.
inline constexpr uint32_t kMostKeys = 1024;
/// The longest question, and so the most that a server takes from anybody.
inline constexpr uint64_t kMostQuestionBytes = 16 + 32 * uint64_t{kMostKeys};

/// `wanted`: at most kMostKeys.
Buffer encode_question(std::span<const WantedKey> wanted);
/// Corrupt, with what is wrong, for anything that encode_question() does not make. Takes memory for the keys that are there.
Result<std::vector<WantedKey>> parse_question(std::span<const uint8_t> bytes);

/// An answer in pieces, so that bodies are not copied: what goes over the wire is `head`, then for each body its bytes and as many
/// zeros as lead to the next multiple of 64.
struct AnswerParts {
  Buffer head;
  std::vector<Buffer> bodies;
  uint64_t bytes = 0;  ///< in all
};
/// What a host has of a key.
struct FoundKey {
  std::optional<Buffer> body = {};
  std::optional<uint64_t> coming = {};  ///< where there is no body: it will be made, and how much before it
};
/// `found`: one for each key. What is larger than wanted stays here.
AnswerParts encode_answer(std::span<const WantedKey> wanted, std::span<const FoundKey> found);
/// These parts as one piece.
Buffer joined(const AnswerParts& parts);

/// The most bytes that a right answer has.
uint64_t most_answer_bytes(std::span<const WantedKey> wanted);
/// Corrupt for what cannot be an answer to that question: other keys, lengths beyond what was wanted or beyond what came, bytes left
/// over. A body whose checksum is wrong is kDamaged, and nothing else suffers for it.
Result<std::vector<AnsweredKey>> parse_answer(std::span<const WantedKey> wanted, const Buffer& bytes);

}  // namespace forebay
