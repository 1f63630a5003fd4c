#include "plan/random.h"

#include <cassert>
#include <cmath>
#include <cstddef>

#include "plan/philox.h"

namespace forebay {
namespace {

// Lemire's method. The high part of draw × bound is uniform except for a few draws at the low end
// of each bucket, which are rejected. The division that gives their number runs only if one may be
// rejected.
template <typename Word, typename Wide, typename Draw>
Word below_without_bias(Word bound, Draw draw) {
  constexpr int kBits = 8 * sizeof(Word);
  Wide product = static_cast<Wide>(draw()) * bound;
  if (static_cast<Word>(product) < bound) {
    const Word reject_below = static_cast<Word>(-bound) % bound;
    while (static_cast<Word>(product) < reject_below) product = static_cast<Wide>(draw()) * bound;
  }
  return static_cast<Word>(product >> kBits);
}

}  // namespace

RandomStream::RandomStream(const SampleKey& key, uint32_t operation) {
  const auto epoch = static_cast<uint64_t>(key.epoch), occurrence = static_cast<uint64_t>(key.occurrence);
  const auto id = static_cast<uint64_t>(key.id);
  const PhiloxCounter outer =
      philox4x32({low_word(epoch), high_word(epoch), low_word(occurrence), high_word(occurrence)},
                 {low_word(key.seed), high_word(key.seed)});
  key_ = {outer[0], outer[1]};
  // The first word counts blocks. The layout is fixed for ever (see the header).
  counter_ = {0, operation, low_word(id) ^ outer[2], high_word(id) ^ outer[3]};
}

uint32_t RandomStream::next_u32() {
  if (used_ == 4) {
    block_ = philox4x32(counter_, key_);
    // Wraps around after 2^32 blocks without a carry into `operation`, which would select another
    // stream.
    ++counter_[0];
    used_ = 0;
  }
  return block_[used_++];
}

uint64_t RandomStream::next_u64() {
  // Two statements, because the order of evaluation of arguments is unspecified.
  const uint32_t low = next_u32();
  return join_words(low, next_u32());
}

double RandomStream::uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }

double RandomStream::uniform(double low, double high) {
  const double value = low + (high - low) * uniform();
  // Rounding may reach `high`, which must be excluded.
  return value < high || low == high ? value : std::nextafter(high, low);
}

uint64_t RandomStream::below(uint64_t bound) {
  assert(bound > 0);
  // The number of words depends on the bound alone, except for rejections, so streams stay aligned
  // on all machines.
  if (high_word(bound) == 0) {
    return below_without_bias<uint32_t, uint64_t>(low_word(bound), [this] { return next_u32(); });
  }
  return below_without_bias<uint64_t, unsigned __int128>(bound, [this] { return next_u64(); });
}

}  // namespace forebay
