#include "ops/audio/real_fft.h"

#include <array>
#include <cmath>
#include <utility>

namespace forebay {

namespace {

constexpr double kTurn = 6.283185307179586476925286766559;

struct Factor {
  float re, im;
};
struct Wave {
  Lanes re, im;
};

// e^(-2 pi i k / n), computed in double and rounded: C libraries differ only in bits that a float
// does not hold.
Factor root_of_one(int64_t k, int64_t n) {
  const double angle = kTurn * static_cast<double>(k % n) / static_cast<double>(n);
  return {static_cast<float>(std::cos(angle)), static_cast<float>(-std::sin(angle))};
}

Wave operator+(const Wave& a, const Wave& b) { return {a.re + b.re, a.im + b.im}; }
Wave operator-(const Wave& a, const Wave& b) { return {a.re - b.re, a.im - b.im}; }
Wave operator*(const Wave& a, const Factor& w) { return {a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re}; }
Wave scaled(const Wave& a, float by) { return {a.re * by, a.im * by}; }
Wave minus_i(const Wave& a) { return {a.im, -a.re}; }

// Radix 4 comes first, because it costs least.
std::vector<int64_t> radices_of(int64_t n) {
  std::vector<int64_t> radices;
  for (; n % 4 == 0; n /= 4) radices.push_back(4);
  // Factors other than 2, 3 and 5 take the general path, whose work grows with the factor.
  for (int64_t radix = 2; n > 1; ++radix)
    for (; n % radix == 0; n /= radix) radices.push_back(radix);
  return radices;
}

}  // namespace

/// The transform of complex numbers in Stockham's form of the mixed-radix algorithm (C. Van Loan,
/// Computational Frameworks for the Fast Fourier Transform, 1.7). Its results are in order without
/// a sorting pass.
class RealFft::Complex {
 public:
  explicit Complex(int64_t n) {
    int64_t stride = 1, length = n;
    for (const int64_t radix : radices_of(n)) {
      length /= radix;
      passes_.push_back(pass_of(n, radix, length, stride));
      stride *= radix;
    }
  }

  /// Transforms by passing data between two buffers of n numbers each. Returns the buffer that
  /// holds the result.
  const Wave* forward(Wave* values, Wave* other) const {
    for (const Pass& pass : passes_) {
      switch (pass.radix) {
        case 2: run<2>(pass, values, other); break;
        case 3: run<3>(pass, values, other); break;
        case 4: run<4>(pass, values, other); break;
        case 5: run<5>(pass, values, other); break;
        default: run_odd(pass, values, other);
      }
      // Each pass reads one buffer and writes the other, so nothing is overwritten before it is
      // read.
      std::swap(values, other);
    }
    return values;
  }

 private:
  /// `length` butterflies of `radix` numbers each, for each of `stride` interleaved transforms.
  struct Pass {
    int64_t radix, length, stride;
    std::vector<Factor> roots;  ///< roots of unity of the butterfly
    /// Factors of all results of a butterfly but the first, butterfly after butterfly.
    std::vector<Factor> twiddles;
  };

  static Pass pass_of(int64_t n, int64_t radix, int64_t length, int64_t stride) {
    Pass pass{radix, length, stride, {}, {}};
    for (int64_t k = 0; k < radix; ++k) pass.roots.push_back(root_of_one(k, radix));
    // Stored in the order in which the passes read them.
    for (int64_t p = 0; p < length; ++p)
      for (int64_t k = 1; k < radix; ++k) pass.twiddles.push_back(root_of_one(p * k * stride, n));
    return pass;
  }

  // kRadix is the radix of the pass, known at compile time.
  template <size_t kRadix>
  static void run(const Pass& pass, const Wave* from, Wave* to) {
    const int64_t stride = pass.stride, step = stride * pass.length;
    const Factor* twiddles = pass.twiddles.data();
    for (int64_t p = 0; p < pass.length; ++p, twiddles += kRadix - 1) {
      for (int64_t q = 0; q < stride; ++q) {
        const std::array<Wave, kRadix> made = butterfly<kRadix>(pass, from + q + stride * p, step);
        Wave* const out = to + q + stride * static_cast<int64_t>(kRadix) * p;
        out[0] = made[0];
        for (size_t k = 1; k < kRadix; ++k) out[static_cast<int64_t>(k) * stride] = made[k] * twiddles[k - 1];
      }
    }
  }

  static void run_odd(const Pass& pass, const Wave* from, Wave* to) {
    const int64_t stride = pass.stride, step = stride * pass.length;
    const Factor* twiddles = pass.twiddles.data();
    for (int64_t p = 0; p < pass.length; ++p, twiddles += pass.radix - 1) {
      for (int64_t q = 0; q < stride; ++q) {
        Wave* const out = to + q + stride * pass.radix * p;
        odd(pass, from + q + stride * p, step, out);
        for (int64_t k = 1; k < pass.radix; ++k) out[k * stride] = out[k * stride] * twiddles[k - 1];
      }
    }
  }

  template <size_t kRadix>
  static std::array<Wave, kRadix> butterfly(const Pass& pass, const Wave* in, int64_t step) {
    if constexpr (kRadix == 2) return {in[0] + in[step], in[0] - in[step]};
    if constexpr (kRadix == 3) return three(pass, in, step);
    if constexpr (kRadix == 4) return four(in, step);
    if constexpr (kRadix == 5) return five(pass, in, step);
  }

  static std::array<Wave, 3> three(const Pass& pass, const Wave* in, int64_t step) {
    const Wave sum = in[step] + in[2 * step];
    const Wave middle = in[0] + scaled(sum, pass.roots[1].re);
    const Wave side = minus_i(scaled(in[step] - in[2 * step], -pass.roots[1].im));
    return {in[0] + sum, middle + side, middle - side};
  }

  static std::array<Wave, 4> four(const Wave* in, int64_t step) {
    const Wave even = in[0] + in[2 * step], even_less = in[0] - in[2 * step];
    const Wave odd = in[step] + in[3 * step], odd_less = minus_i(in[step] - in[3 * step]);
    return {even + odd, even_less + odd_less, even - odd, even_less - odd_less};
  }

  static std::array<Wave, 5> five(const Pass& pass, const Wave* in, int64_t step) {
    const Factor one = pass.roots[1], two = pass.roots[2];
    const Wave outer = in[step] + in[4 * step], outer_less = in[step] - in[4 * step];
    const Wave inner = in[2 * step] + in[3 * step], inner_less = in[2 * step] - in[3 * step];
    const Wave first = in[0] + scaled(outer, one.re) + scaled(inner, two.re);
    const Wave second = in[0] + scaled(outer, two.re) + scaled(inner, one.re);
    const Wave first_side = minus_i(scaled(outer_less, -one.im) + scaled(inner_less, -two.im));
    const Wave second_side = minus_i(scaled(outer_less, -two.im) - scaled(inner_less, -one.im));
    return {in[0] + outer + inner, first + first_side, second + second_side, second - second_side, first - first_side};
  }

  // Any odd radix: the factors of numbers j and radix - j differ only in the sign of their sines.
  static void odd(const Pass& pass, const Wave* in, int64_t step, Wave* out) {
    Wave all = in[0];
    for (int64_t j = 1; j < pass.radix; ++j) all = all + in[j * step];
    out[0] = all;
    for (int64_t k = 1; k <= pass.radix / 2; ++k) {
      Wave cosines = in[0], sines{};
      // Pairs share their products, which halves the number of products.
      for (int64_t j = 1; j <= pass.radix / 2; ++j) {
        const Factor root = pass.roots[static_cast<size_t>(j * k % pass.radix)];
        const Wave &low = in[j * step], &high = in[(pass.radix - j) * step];
        cosines = cosines + scaled(low + high, root.re);
        sines = sines + scaled(low - high, -root.im);
      }
      out[k * pass.stride] = cosines + minus_i(sines);
      out[(pass.radix - k) * pass.stride] = cosines - minus_i(sines);
    }
  }

  std::vector<Pass> passes_;
};

RealFft::RealFft(int64_t n) : n_(n), complex_(std::make_unique<const Complex>(n % 2 == 0 ? n / 2 : n)) {
  for (int64_t k = 0; n % 2 == 0 && k <= n / 2; ++k) {
    const Factor root = root_of_one(k, n);
    roots_.insert(roots_.end(), {root.re, root.im});
  }
}
RealFft::~RealFft() = default;
RealFft::RealFft(RealFft&&) noexcept = default;

void RealFft::forward(Lanes* values) const { n_ % 2 == 0 ? even(values) : odd(values); }

// Transforms n real numbers as n / 2 complex ones, then separates the result into the transforms of
// the even and the odd places.
void RealFft::even(Lanes* values) const {
  const int64_t half = n_ / 2;
  const auto scratch = std::make_unique_for_overwrite<Wave[]>(static_cast<size_t>(2 * half));
  for (int64_t i = 0; i < half; ++i) scratch[static_cast<size_t>(i)] = {values[2 * i], values[2 * i + 1]};
  const Wave* const waves = complex_->forward(scratch.get(), scratch.get() + half);
  values[0] = waves[0].re + waves[0].im;
  values[n_ - 1] = waves[0].re - waves[0].im;
  // Each result depends on itself and its mirror, so both are read before either is written.
  for (int64_t k = 1; k <= half / 2; ++k) {
    const int64_t mirror = half - k;
    const Wave here = scaled(waves[k], 0.5f), there{waves[mirror].re * 0.5f, waves[mirror].im * -0.5f};
    const Factor root{roots_[static_cast<size_t>(2 * k)], roots_[static_cast<size_t>(2 * k + 1)]};
    const Wave evens = here + there, odds = minus_i((here - there) * root);
    const Wave low = evens + odds, high = evens - odds;  // `high` mirrored
    values[2 * mirror - 1] = high.re, values[2 * mirror] = -high.im;
    values[2 * k - 1] = low.re, values[2 * k] = low.im;
  }
}

void RealFft::odd(Lanes* values) const {
  const auto scratch = std::make_unique_for_overwrite<Wave[]>(static_cast<size_t>(2 * n_));
  for (int64_t i = 0; i < n_; ++i) scratch[static_cast<size_t>(i)] = {values[i], Lanes{}};
  const Wave* const waves = complex_->forward(scratch.get(), scratch.get() + n_);
  values[0] = waves[0].re;
  for (int64_t k = 1; k <= n_ / 2; ++k) values[2 * k - 1] = waves[k].re, values[2 * k] = waves[k].im;
}

}  // namespace forebay
