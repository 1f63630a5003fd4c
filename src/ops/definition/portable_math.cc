#include "ops/definition/portable_math.h"

#include <cmath>

namespace forebay {
namespace {
constexpr double kLn2 = 0.693147180559945309417;
constexpr double kTwoPi = 6.283185307179586476925;

// Series of sin and cos, for at most an eighth of a turn.
double small_sin(double turns) {
  const double x = turns * kTwoPi, square = x * x;
  double sum = 1.0;
  // Horner's rule, smallest terms first: no power is computed, and rounding errors of small terms
  // stay small.
  for (int n = 16; n >= 2; n -= 2) sum = 1.0 - square / (n * (n + 1)) * sum;
  return x * sum;
}

double small_cos(double turns) {
  const double x = turns * kTwoPi, square = x * x;
  double sum = 1.0;
  for (int n = 15; n >= 1; n -= 2) sum = 1.0 - square / (n * (n + 1)) * sum;
  return sum;
}

// The angle is between 0 and half a turn.
double half_turn_cos(double turns) {
  if (turns > 0.25) return -half_turn_cos(0.5 - turns);
  // Uses the function whose angle is small, because its series needs few terms.
  return turns > 0.125 ? small_sin(0.25 - turns) : small_cos(turns);
}
}  // namespace

double portable_exp(double x) {
  // e^x = 2^power e^rest: the series converges fast for a small rest, and 2^power is exact.
  const double power = std::nearbyint(x / kLn2);
  const double rest = x - power * kLn2;  // at most ln 2 / 2 from 0
  double sum = 1.0;
  for (int n = 18; n >= 1; --n) sum = 1.0 + rest / n * sum;
  return std::ldexp(sum, static_cast<int>(power));
}

double portable_log(double x) {
  int power = 0;
  double part = std::frexp(x, &power);  // in [1/2, 1)
  // Moves `part` to [√½, √2), where z is smallest.
  if (part < 0.70710678118654752) {
    part *= 2;
    --power;
  }
  // ln m = 2 artanh((m - 1) / (m + 1)), a series whose terms shrink by a factor of at least 33.
  const double z = (part - 1) / (part + 1), square = z * z;
  double sum = 0;
  for (int n = 25; n >= 1; n -= 2) sum = sum * square + 1.0 / n;
  return power * kLn2 + 2 * z * sum;
}

double portable_cos_turns(double turns) {
  const double part = std::abs(turns - std::nearbyint(turns));  // exact, and cos is even
  return half_turn_cos(part);
}

double portable_sin_turns(double turns) { return portable_cos_turns(turns - 0.25); }

}  // namespace forebay
