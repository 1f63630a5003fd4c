#include "cluster/message.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr uint64_t kQuestionMagic = 0x3276'7361'7965'6266;  // "fbeyasv2"
constexpr uint64_t kAnswerMagic = 0x3276'676e'7965'6266;    // "fbeyngv2"
constexpr uint64_t kHeadBytes = 16, kWantedBytes = 32, kAnsweredBytes = 24, kAlignment = 64;

constexpr uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
constexpr uint64_t question_bytes(uint64_t keys) { return kHeadBytes + kWantedBytes * keys; }
constexpr uint64_t head_bytes(uint64_t keys) { return kHeadBytes + kAnsweredBytes * keys; }

void put_u64(uint8_t* to, uint64_t value) {
  for (int i = 0; i < 8; ++i) to[i] = static_cast<uint8_t>(value >> (8 * i));
}

uint64_t get_u64(const uint8_t* from) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value |= uint64_t{from[i]} << (8 * i);
  return value;
}

// Against faults on the way, not against liars: whoever has the token can compute it, too.
uint64_t checksum_of(const Buffer& body) { return hash128(body.data(), body.size()).low; }

// How many keys a message says that it has; what follows is a table with that many.
Result<uint64_t> parse_head(std::span<const uint8_t> bytes, uint64_t magic, uint64_t key_bytes) {
  if (bytes.size() < kHeadBytes) return corrupt(fmt::format("a message of {} bytes is too short", bytes.size()));
  if (get_u64(bytes.data()) != magic) return corrupt("not a message of this version");
  const uint64_t keys = get_u64(bytes.data() + 8);
  if (keys > kMostKeys) return corrupt(fmt::format("a message about {} keys; there may be {}", keys, kMostKeys));
  if (bytes.size() < kHeadBytes + key_bytes * keys) return corrupt("a message that ends inside its keys");
  return keys;
}

struct AnswerRow {
  uint64_t state, bytes, checksum;
};

AnswerRow answer_row(const Buffer& bytes, size_t index) {
  const uint8_t* at = bytes.data() + head_bytes(index);
  return {get_u64(at), get_u64(at + 8), get_u64(at + 16)};
}

}  // namespace

Buffer encode_question(std::span<const WantedKey> wanted) {
  Buffer bytes = Buffer::allocate(question_bytes(wanted.size()));
  put_u64(bytes.data(), kQuestionMagic);
  put_u64(bytes.data() + 8, wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    uint8_t* at = bytes.data() + question_bytes(i);
    put_u64(at, wanted[i].key.high);
    put_u64(at + 8, wanted[i].key.low);
    put_u64(at + 16, wanted[i].most_bytes);
    put_u64(at + 24, static_cast<uint64_t>(wanted[i].element));
  }
  return bytes;
}

Result<std::vector<WantedKey>> parse_question(std::span<const uint8_t> bytes) {
  FOREBAY_ASSIGN(const uint64_t keys, parse_head(bytes, kQuestionMagic, kWantedBytes));
  if (bytes.size() != question_bytes(keys)) return corrupt("a question with bytes left over");
  std::vector<WantedKey> wanted(keys);
  for (size_t i = 0; i < keys; ++i) {
    const uint8_t* at = bytes.data() + question_bytes(i);
    wanted[i] = {{get_u64(at), get_u64(at + 8)}, get_u64(at + 16), static_cast<int64_t>(get_u64(at + 24))};
  }
  return wanted;
}

AnswerParts encode_answer(std::span<const WantedKey> wanted, std::span<const FoundKey> found) {
  using State = AnsweredKey::State;
  AnswerParts parts;
  const uint64_t head = aligned(head_bytes(wanted.size()));
  parts.head = Buffer::allocate(head);
  std::memset(parts.head.data(), 0, head);
  parts.bytes = head;
  put_u64(parts.head.data(), kAnswerMagic);
  put_u64(parts.head.data() + 8, wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    uint8_t* at = parts.head.data() + head_bytes(i);
    if (!found[i].body) {
      put_u64(at, static_cast<uint64_t>(found[i].coming ? State::kComing : State::kAbsent));
      put_u64(at + 8, found[i].coming.value_or(0));
      continue;
    }
    const Buffer& body = *found[i].body;
    const bool fits = body.size() <= wanted[i].most_bytes;
    put_u64(at, static_cast<uint64_t>(fits ? State::kHere : State::kTooLarge));
    put_u64(at + 8, body.size());
    if (!fits) continue;
    put_u64(at + 16, checksum_of(body));
    parts.bodies.push_back(body);
    parts.bytes += aligned(body.size());
  }
  return parts;
}

Buffer joined(const AnswerParts& parts) {
  Buffer all = Buffer::allocate(parts.bytes);
  std::memset(all.data(), 0, all.size());
  std::memcpy(all.data(), parts.head.data(), parts.head.size());
  uint64_t at = parts.head.size();
  for (const Buffer& body : parts.bodies) {
    if (!body.empty()) std::memcpy(all.data() + at, body.data(), body.size());
    at += aligned(body.size());
  }
  return all;
}

uint64_t most_answer_bytes(std::span<const WantedKey> wanted) {
  constexpr uint64_t kMost = uint64_t{1} << 40;  // so that sums stay sums
  uint64_t bytes = aligned(head_bytes(wanted.size()));
  for (const WantedKey& each : wanted) bytes += aligned(std::min(each.most_bytes, kMost));
  return bytes;
}

Result<std::vector<AnsweredKey>> parse_answer(std::span<const WantedKey> wanted, const Buffer& bytes) {
  using State = AnsweredKey::State;
  FOREBAY_ASSIGN(const uint64_t keys, parse_head(bytes.span(), kAnswerMagic, kAnsweredBytes));
  if (keys != wanted.size()) return corrupt(fmt::format("{} keys were asked for, {} answered", wanted.size(), keys));
  std::vector<AnsweredKey> answers(keys);
  uint64_t at = aligned(head_bytes(keys));
  if (bytes.size() < at) return corrupt("an answer that ends inside its keys");
  for (size_t i = 0; i < keys; ++i) {
    const AnswerRow row = answer_row(bytes, i);
    if (row.state > static_cast<uint64_t>(State::kComing)) return corrupt("an answer of an unknown kind");
    AnsweredKey& answer = answers[i];
    answer.state = static_cast<State>(row.state);
    answer.bytes = row.bytes;
    if (answer.state != State::kHere) continue;
    if (row.bytes > wanted[i].most_bytes) return corrupt("an answer with more bytes than were wanted");
    // The first condition keeps aligned() from overflowing.
    if (row.bytes > bytes.size() - at || aligned(row.bytes) > bytes.size() - at)
      return corrupt("an answer that ends inside a body");
    answer.body = bytes.slice(at, row.bytes);
    at += aligned(row.bytes);
    if (checksum_of(answer.body) == row.checksum) continue;
    answer.state = State::kDamaged;
    answer.body = Buffer();
  }
  if (at != bytes.size()) return corrupt("an answer with bytes left over");
  return answers;
}

}  // namespace forebay
