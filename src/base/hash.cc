#include "base/hash.h"

#include <charconv>

#include <fmt/format.h>
#include <xxhash.h>

namespace forebay {

struct Hasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  ~State() { XXH3_freeState(xxh); }
};

std::string Hash128::to_string() const { return fmt::format("{:016x}{:016x}", high, low); }

bool Hash128::parse(std::string_view text, Hash128* out) {
  if (text.size() != 32) return false;
  auto part = [&](size_t at, uint64_t* value) {
    const char* end = text.data() + at + 16;
    return std::from_chars(text.data() + at, end, *value, 16).ptr == end;
  };
  return part(0, &out->high) && part(16, &out->low);
}

Hash128 hash128(const void* data, size_t size) {
  const XXH128_hash_t h = XXH3_128bits(data, size);
  return {h.high64, h.low64};
}

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(state_->xxh); }
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(const void* data, size_t size) {
  if (size > 0) XXH3_128bits_update(state_->xxh, data, size);
}

Hash128 Hasher::digest() const {
  const XXH128_hash_t h = XXH3_128bits_digest(state_->xxh);
  return {h.high64, h.low64};
}

}  // namespace forebay
