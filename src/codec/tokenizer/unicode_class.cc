#include "codec/tokenizer/unicode_class.h"

#include <memory>

namespace forebay {

namespace {

struct CodeRange {
  uint32_t first, last;
};
#include "codec/tokenizer/unicode_classes.inl"
constexpr CodeRange kSpaces[] = {{0x9, 0xd},       {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},
                                 {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
                                 {0x205f, 0x205f}, {0x3000, 0x3000}};
constexpr uint32_t kCodes = 0x110000;

/// The class of every code: 1.1 MiB, once per process.
std::unique_ptr<CharClass[]> all_classes() {
  auto classes = std::make_unique<CharClass[]>(kCodes);
  const auto set = [&](const auto& ranges, CharClass is) {
    for (const CodeRange& range : ranges) {
      for (uint32_t code = range.first; code <= range.last; ++code) classes[code] = is;
    }
  };
  set(kLetters, CharClass::kLetter);
  set(kNumbers, CharClass::kNumber);
  set(kSpaces, CharClass::kSpace);
  return classes;
}

}  // namespace

CharClass char_class(uint32_t code) {
  // A table, because most of the time of cutting words is spent here.
  static const std::unique_ptr<CharClass[]> classes = all_classes();
  return code < kCodes ? classes[code] : CharClass::kOther;
}

Utf8Char char_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[at + i])); };
  const uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xe0) return {(first & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (first < 0xf0) return {(first & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f), 4};
}

}  // namespace forebay
