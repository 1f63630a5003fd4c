#include "ops/audio/real_fft.h"

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

// e^(-2 pi i k / n) in double, rounded: variants of the C library differ behind what a float keeps.
Factor root_of_one(int64_t k, int64_t n) {
  const double angle = kTurn * static_cast<double>(k % n) / static_cast<double>(n);
  return {static_cast<float>(std::cos(angle)), static_cast<float>(-std::sin(angle))};
}

Wave operator+(const Wave& a, const Wave& b) { return {a.re + b.re, a.im + b.im}; }
Wave operator-(const Wave& a, const Wave& b) { return {a.re - b.re, a.im - b.im}; }
Wave operator*(const Wave& a, const Factor& w) { return {a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re}; }
Wave scaled(const Wave& a, float by) { return {a.re * by, a.im * by}; }
Wave minus_i(const Wave& a) { return {a.im, -a.re}; }

// Fours first: they cost least.
std::vector<int64_t> radices_of(int64_t n) {
  std::vector<int64_t> radices;
  for (; n % 4 == 0; n /= 4) radices.push_back(4);
  for (int64_t radix = 2; n > 1; ++radix)
    for (; n % radix == 0; n /= radix) radices.push_back(radix);
  return radices;
}

}  // namespace

/// Of complex numbers: Stockham's form of the mixed-radix transform (C. Van Loan, Computational Frameworks for the Fast Fourier
/// Transform, 1.7), whose results are in order without a pass that sorts.
class RealFft::Complex {
 public:
  explicit Complex(int64_t n) : n_(n), radices_(radices_of(n)) {
    for (int64_t k = 0; k < n; ++k) roots_.push_back(root_of_one(k, n));
  }

  /// Leaves the result in the first of both, each of n.
  void forward(std::vector<Wave>& values, std::vector<Wave>& other) const {
    int64_t stride = 1, length = n_;
    for (const int64_t radix : radices_) {
      length /= radix;
      pass(radix, length, stride, values.data(), other.data());
      std::swap(values, other);
      stride *= radix;
    }
  }

 private:
  // `length` butterflies of `radix` numbers each, for each of `stride` transforms that lie between each other.
  void pass(int64_t radix, int64_t length, int64_t stride, const Wave* from, Wave* to) const {
    for (int64_t p = 0; p < length; ++p) {
      for (int64_t q = 0; q < stride; ++q) {
        const Wave* const in = from + q + stride * p;
        Wave* const out = to + q + stride * radix * p;
        const int64_t step = stride * length;
        if (radix == 4)
          four(in, step, out, stride);
        else if (radix == 2)
          two(in, step, out, stride);
        else
          odd(radix, in, step, out, stride);
        for (int64_t k = 1; p > 0 && k < radix; ++k)
          out[k * stride] = out[k * stride] * roots_[static_cast<size_t>(p * k * stride % n_)];
      }
    }
  }

  static void two(const Wave* in, int64_t step, Wave* out, int64_t stride) {
    out[0] = in[0] + in[step];
    out[stride] = in[0] - in[step];
  }

  static void four(const Wave* in, int64_t step, Wave* out, int64_t stride) {
    const Wave even = in[0] + in[2 * step], even_less = in[0] - in[2 * step];
    const Wave odd = in[step] + in[3 * step], odd_less = minus_i(in[step] - in[3 * step]);
    out[0] = even + odd;
    out[stride] = even_less + odd_less;
    out[2 * stride] = even - odd;
    out[3 * stride] = even_less - odd_less;
  }

  // Numbers j and radix - j have factors that differ in the sign of their sines.
  void odd(int64_t radix, const Wave* in, int64_t step, Wave* out, int64_t stride) const {
    out[0] = in[0];
    for (int64_t j = 1; j < radix; ++j) out[0] = out[0] + in[j * step];
    for (int64_t k = 1; k <= radix / 2; ++k) {
      Wave cosines = in[0], sines{};
      for (int64_t j = 1; j <= radix / 2; ++j) {
        const Factor root = roots_[static_cast<size_t>(j * k % radix * (n_ / radix))];
        const Wave &low = in[j * step], &high = in[(radix - j) * step];
        cosines = cosines + scaled(low + high, root.re);
        sines = sines + scaled(low - high, -root.im);
      }
      out[k * stride] = cosines + minus_i(sines);
      out[(radix - k) * stride] = cosines - minus_i(sines);
    }
  }

  const int64_t n_;
  const std::vector<int64_t> radices_;
  std::vector<Factor> roots_;
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

// As half as many complex numbers, whose transform is taken apart into those of the even and of the odd places.
void RealFft::even(Lanes* values) const {
  const int64_t half = n_ / 2;
  std::vector<Wave> waves(static_cast<size_t>(half)), other(waves.size());
  for (int64_t i = 0; i < half; ++i) waves[static_cast<size_t>(i)] = {values[2 * i], values[2 * i + 1]};
  complex_->forward(waves, other);
  for (int64_t k = 0; k <= half; ++k) {
    const Wave& here = waves[static_cast<size_t>(k % half)];
    const Wave& there = waves[static_cast<size_t>((half - k) % half)];
    const Wave mirrored{there.re, -there.im};
    const Factor root{roots_[static_cast<size_t>(2 * k)], roots_[static_cast<size_t>(2 * k + 1)]};
    const Wave both = scaled(here + mirrored, 0.5f) + minus_i(scaled(here - mirrored, 0.5f) * root);
    values[k == 0 ? 0 : 2 * k - 1] = both.re;
    if (k > 0 && k < half) values[2 * k] = both.im;
  }
}

void RealFft::odd(Lanes* values) const {
  std::vector<Wave> waves(static_cast<size_t>(n_)), other(waves.size());
  for (int64_t i = 0; i < n_; ++i) waves[static_cast<size_t>(i)] = {values[i], Lanes{}};
  complex_->forward(waves, other);
  values[0] = waves[0].re;
  for (int64_t k = 1; k <= n_ / 2; ++k) {
    values[2 * k - 1] = waves[static_cast<size_t>(k)].re;
    values[2 * k] = waves[static_cast<size_t>(k)].im;
  }
}

}  // namespace forebay
