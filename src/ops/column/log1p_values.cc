#include "ops/column/log1p_values.h"

#include <bit>
#include <limits>

#include "ops/definition/element_types.h"

namespace forebay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// ln 2 in two parts: the first has 32 bits, so its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;

// The sum of z^(2k) / (2k + 1) for k = kFirst … kLast, by Horner's rule. From k = 1 this is
// artanh(z) / z - 1.
template <int kFirst, int kLast>
[[gnu::always_inline]] inline double artanh_tail(double square) {
  if constexpr (kFirst == kLast) {
    return square * (1.0 / (2 * kFirst + 1));
  } else {
    return square * (1.0 / (2 * kFirst + 1) + artanh_tail<kFirst + 1, kLast>(square));
  }
}

// 1 + x is rounded to u, and the rounding error is added relative to u. Integer arithmetic on the
// bits of u splits it into 2^e × m with m in [√½, √2); ln m = 2 artanh((m - 1) / (m + 1)). There
// are no branches, and vector instructions exist for every operation.
template <int kTerms>
[[gnu::always_inline]] inline double log1p_of(double x) {
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd, kOne = 0x3ff0000000000000, kMantissa = 0x000fffffffffffff;
  constexpr uint64_t kTwoTo52 = 0x4330000000000000;
  const double u = 1.0 + x;
  const double lost = (x - (u - 1.0)) / u;
  const uint64_t moved = std::bit_cast<uint64_t>(u) - kSqrtHalf + kOne;
  const double exponent = std::bit_cast<double>((moved >> 52) | kTwoTo52) - (0x1p52 + 1023);
  const double m = std::bit_cast<double>((moved & kMantissa) + kSqrtHalf);
  const double f = m - 1.0, z = f / (2.0 + f);
  // 2z = f - zf, and f is exact.
  const double log_m = f - z * (f - 2.0 * artanh_tail<1, kTerms>(z * z));
  const double sum = exponent * kLn2High + (log_m + (exponent * kLn2Low + lost));
  double result = x == kInfinity ? kInfinity : sum;
  result = x == -1.0 ? -kInfinity : result;
  return x >= -1.0 ? result : kNaN;
}

template <typename T>
void log1p_all(const uint8_t* in, uint8_t* out, int64_t n) {
  using Out = std::conditional_t<std::is_same_v<T, double>, double, float>;
  // The number of terms that the precision of the result can show.
  constexpr int kTerms = std::is_same_v<T, double> ? 11 : 6;
  map_elements<T, Out>(in, out, n,
                       [](T x) { return static_cast<Out>(log1p_of<kTerms>(static_cast<double>(widen(x)))); });
}

}  // namespace

void log1p_values(DType from, const uint8_t* in, uint8_t* out, int64_t n) {
  with_element(from, [&](auto type) { log1p_all<decltype(type)>(in, out, n); });
}

}  // namespace forebay
