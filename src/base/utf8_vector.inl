// Included by utf8_{avx2,neon}.cc, each of which first defines:
//   FOREBAY_TARGET           the attribute that lets a function use the instruction set
//   FOREBAY_VECTOR           the same, for small functions that must be inlined
//   Block                    a register of bytes
//   load, zero, set          a block from memory, of zeros, of the same byte everywhere
//   either, both, differ     bitwise or, and, xor
//   minus                    subtraction that stops at 0
//   upper                    the upper half of each byte, as a number from 0 to 15
//   look_up(table, places)   the byte of a table of 16 at each place
//   back<n>(block, before)   the bytes that stand n before those of the block
//   has_top_bit, is_zero     whether any byte is 128 or more; whether all are 0

namespace {

// J. Keiser, D. Lemire: Validating UTF-8 in less than one instruction per byte (2021). Three tables
// give the possible errors of two consecutive bytes: one for each half of the first byte, one for
// the upper half of the second. An error exists if all three tables have it.
enum : uint8_t {
  kTooShort = 1,
  kTooLong = 2,
  kOverlong3 = 4,
  kTooLarge = 8,
  kSurrogate = 16,
  kOverlong2 = 32,
  kTooLarge1000 = 64,
  kOverlong4 = 64,
  kTwoContinue = 128,
  kCarry = kTooShort | kTooLong | kTwoContinue,
  kHigh = kCarry | kTooLarge | kTooLarge1000,
  kSecond = kTooLong | kOverlong2 | kTwoContinue,
};

alignas(16) constexpr uint8_t kFirstHigh[16] = {kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTwoContinue,
                                                kTwoContinue,
                                                kTwoContinue,
                                                kTwoContinue,
                                                kTooShort | kOverlong2,
                                                kTooShort,
                                                kTooShort | kOverlong3 | kSurrogate,
                                                kTooShort | kTooLarge | kTooLarge1000 | kOverlong4};
alignas(16) constexpr uint8_t kFirstLow[16] = {kCarry | kOverlong3 | kOverlong2 | kOverlong4,
                                               kCarry | kOverlong2,
                                               kCarry,
                                               kCarry,
                                               kCarry | kTooLarge,
                                               kHigh,
                                               kHigh,
                                               kHigh,
                                               kHigh,
                                               kHigh,
                                               kHigh,
                                               kHigh,
                                               kHigh,
                                               kHigh | kSurrogate,
                                               kHigh,
                                               kHigh};
alignas(16) constexpr uint8_t kSecondHigh[16] = {kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kSecond | kOverlong3 | kTooLarge1000 | kOverlong4,
                                                 kSecond | kOverlong3 | kTooLarge,
                                                 kSecond | kSurrogate | kTooLarge,
                                                 kSecond | kSurrogate | kTooLarge,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort};

FOREBAY_VECTOR Block errors(Block block, Block before) {
  const Block back1 = back<1>(block, before);
  const Block pairs = both(both(look_up(kFirstHigh, upper(back1)), look_up(kFirstLow, both(back1, set(0x0f)))),
                           look_up(kSecondHigh, upper(block)));
  // The difference keeps its top bit only two bytes after E0 or more, or three bytes after F0 or
  // more: there a third or fourth byte of a character must stand. kTwoContinue is that bit, so that
  // the required and the actual continuations cancel out.
  const Block third = minus(back<2>(block, before), set(0xe0 - 0x80));
  const Block fourth = minus(back<3>(block, before), set(0xf0 - 0x80));
  return differ(both(either(third, fourth), set(0x80)), pairs);
}

FOREBAY_TARGET bool is_utf8_in_blocks(std::span<const uint8_t> bytes) {
  constexpr size_t kBlock = sizeof(Block);
  Block before = zero(), wrong = zero();
  size_t at = 0;
  for (; at + kBlock <= bytes.size(); at += kBlock) {
    const Block block = load(bytes.data() + at);
    // ASCII after ASCII needs no check; ASCII after the beginning of a character is an error.
    if (has_top_bit(either(block, before))) wrong = either(wrong, errors(block, before));
    before = block;
  }
  // Zeros after the end: a character that is cut off there becomes one that is too short.
  uint8_t last[kBlock] = {};
  if (at < bytes.size()) std::memcpy(last, bytes.data() + at, bytes.size() - at);
  return is_zero(either(wrong, errors(load(last), before)));
}

}  // namespace
