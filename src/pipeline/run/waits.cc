#include "pipeline/run/waits.h"

namespace forebay {

void Waits::begin(int64_t now_ns, Awaited what) {
  waiting_ = true;
  what_ = what;
  begun_ = since_ = now_ns;
}

void Waits::change(int64_t now_ns, Awaited what) {
  if (!waiting_) return;
  parts_[static_cast<size_t>(what_)] += now_ns - since_;
  since_ = now_ns;
  what_ = what;
}

int64_t Waits::end(int64_t now_ns) {
  change(now_ns, what_);
  waiting_ = false;
  return now_ns - begun_;
}

}  // namespace forebay
