#pragma once

namespace forebay {

/// e^x and ln x, built from additions, multiplications and divisions only, so they give the same
/// bits on every machine (the C library's may differ in the last bit between processors). Accurate
/// to about 1e-15, for |x| < 700 and x > 0.
double portable_exp(double x);
double portable_log(double x);
/// cos and sin of an angle in turns (1 is the whole circle), also the same on every machine; for
/// |turns| < 2^30.
double portable_cos_turns(double turns);
double portable_sin_turns(double turns);

}  // namespace forebay
