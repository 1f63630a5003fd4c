#include "serve/wait_clock.h"

namespace forebay {

namespace {

class RealClock final : public WaitClock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
  Milliseconds begin_wait(Milliseconds most) override { return most; }
};

}  // namespace

WaitClock& WaitClock::real() {
  static RealClock clock;
  return clock;
}

}  // namespace forebay
