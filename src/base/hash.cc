#include "base/hash.h"

#include <charconv>
#include <new>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/hash_kernels.h"

namespace forebay {

namespace {

void library_hash128(const void* data, size_t size, uint64_t* low, uint64_t* high) {
  const XXH128_hash_t hash = XXH3_128bits(data, size);
  *low = hash.low64;
  *high = hash.high64;
}
uint64_t library_hash64(const void* data, size_t size) { return XXH3_64bits(data, size); }
void library_update(void* state, const void* data, size_t size) {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state), data, size);
}
constexpr HashKernels kLibraryKernels{library_hash128, library_hash64, library_update};

// xxHash's own dispatch leaves the upper halves of registers dirty, which makes the code after it
// several times slower.
const HashKernels& choose_kernels() {
  const HashKernels* chosen = nullptr;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) chosen = hash_kernels_avx512();
  if (chosen == nullptr && __builtin_cpu_supports("avx2")) chosen = hash_kernels_avx2();
#endif
  return chosen == nullptr ? kLibraryKernels : *chosen;
}

// Chosen once for the process. Only functions that touch all bytes are kernels: the library resets
// and digests states.
const HashKernels& kernels() {
  static const HashKernels& chosen = choose_kernels();
  return chosen;
}

}  // namespace

struct Hasher::State {
  State() {
    if (xxh == nullptr) throw std::bad_alloc();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { XXH3_freeState(xxh); }

  XXH3_state_t* const xxh = XXH3_createState();
};

std::string Hash128::to_string() const { return fmt::format("{:016x}{:016x}", high, low); }

bool Hash128::parse(std::string_view text, Hash128* out) {
  if (text.size() != 32) return false;
  const auto parse_half = [&](size_t begin, uint64_t* value) {
    const char* end = text.data() + begin + 16;
    return std::from_chars(text.data() + begin, end, *value, 16).ptr == end;
  };
  Hash128 parsed;
  if (!parse_half(0, &parsed.high) || !parse_half(16, &parsed.low)) return false;
  *out = parsed;
  return true;
}

Hash128 hash128(const void* data, size_t size) {
  Hash128 hash;
  kernels().hash128(data, size, &hash.low, &hash.high);
  return hash;
}

uint64_t hash64(const void* data, size_t size) { return kernels().hash64(data, size); }

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(state_->xxh); }
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(const void* data, size_t size) {
  if (size > 0) kernels().update(state_->xxh, data, size);
}

Hash128 Hasher::digest() const {
  const XXH128_hash_t h = XXH3_128bits_digest(state_->xxh);
  return {h.high64, h.low64};
}

}  // namespace forebay
