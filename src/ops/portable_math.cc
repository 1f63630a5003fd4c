#include "ops/portable_math.h"

#include <cmath>

namespace forebay {
namespace {
constexpr double kLn2 = 0.693147180559945309417;
}

double portable_exp(double x) {
  const double power = std::nearbyint(x / kLn2);
  const double rest = x - power * kLn2;  // at most ln 2 / 2 from 0
  double sum = 1.0;
  for (int n = 18; n >= 1; --n) sum = 1.0 + rest / n * sum;
  return std::ldexp(sum, static_cast<int>(power));
}

double portable_log(double x) {
  int power = 0;
  double part = std::frexp(x, &power);  // in [1/2, 1)
  if (part < 0.70710678118654752) {
    part *= 2;
    --power;
  }
  // ln m = 2 artanh((m - 1) / (m + 1)), a series that falls by at least 33 a term.
  const double z = (part - 1) / (part + 1), square = z * z;
  double sum = 0;
  for (int n = 25; n >= 1; n -= 2) sum = sum * square + 1.0 / n;
  return power * kLn2 + 2 * z * sum;
}

}  // namespace forebay
