#pragma once

namespace forebay {

/// e^x and ln x made of additions, multiplications and divisions only, so that they give the same bits on every machine
/// (the system's may differ in the last bit between processors). Good to about 1e-15; for |x| < 700 and x > 0.
double portable_exp(double x);
double portable_log(double x);
/// cos and sin of so many turns (1 is the whole circle), likewise; for |turns| < 2^30.
double portable_cos_turns(double turns);
double portable_sin_turns(double turns);

}  // namespace forebay
