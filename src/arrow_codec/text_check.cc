#include "arrow_codec/text_check.h"

#include <cstring>
#include <mutex>

#include <arrow/util/utf8.h>

#include "arrow_codec/utf8_avx2.h"

namespace forebay {

namespace {

constexpr size_t kBlock = 64;

bool is_ascii(const uint8_t* block) {
  uint64_t words[kBlock / sizeof(uint64_t)], all = 0;
  std::memcpy(words, block, kBlock);
  for (const uint64_t word : words) all |= word;
  return (all & 0x8080808080808080u) == 0;
}

/// How many bytes at the beginning are ASCII, in whole blocks.
size_t ascii_bytes(std::span<const uint8_t> bytes) {
  size_t at = 0;
  while (at + kBlock <= bytes.size() && is_ascii(bytes.data() + at)) at += kBlock;
  return at;
}

bool continues(uint8_t byte) { return (byte & 0xc0) == 0x80; }

}  // namespace

bool is_utf8(std::span<const uint8_t> bytes) {
  if (has_avx2()) return is_utf8_avx2(bytes);
  static std::once_flag once;
  std::call_once(once, [] { arrow::util::InitializeUTF8(); });
  const size_t skipped = ascii_bytes(bytes);
  return arrow::util::ValidateUTF8(bytes.data() + skipped, static_cast<int64_t>(bytes.size() - skipped));
}

// All at once, since most strings are short; then no character may reach from one into the next.
bool all_utf8(std::span<const uint8_t> bytes, std::span<const int64_t> offsets) {
  if (!is_utf8(bytes)) return false;
  bool cut = false;
  for (const int64_t offset : offsets) {
    const auto at = static_cast<size_t>(offset);
    cut |= at < bytes.size() && continues(bytes[at]);
  }
  return !cut;
}

}  // namespace forebay
