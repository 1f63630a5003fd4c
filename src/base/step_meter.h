#pragma once

#include <array>
#include <cstdint>

#include "base/clock.h"

namespace forebay {

/// For which step a thread spends its time, where the work of several is done in one go (a picture is decoded, cropped, resized and
/// normalised while it is written to its batch). Steps are numbers; what is nobody's is that of step 0.
///
/// Looking at the clock at every change costs as much as some of the work, so it looks closely at one piece of work in kEvery, in an
/// order that has no period. The CPU time of all pieces is exact; the shares of the steps are those of the pieces that were looked
/// at: with n of them, whose shares differ by s, right to about s / √n. Used by one thread at a time.
class StepMeter {
 public:
  static constexpr int kSteps = 64;  ///< those with larger numbers are booked to the last
  static constexpr int kEvery = 8;

  /// A piece of work begins (a row); end() ends it.
  void begin() {
    begun_ns_ = thread_cpu_ns();
    looks_ = pieces_++ * 0x9e3779b97f4a7c15 >> 61 == 0;  // multiples of the golden ratio, and the first
    current_ = 0;
    if (looks_) since_ns_ = monotonic_ns();
  }
  /// Whether it is worth while to say who is at work.
  bool looks() const { return looks_; }
  /// What follows is done for that step. Gives the one before, to go back to.
  int enter(int step) {
    const int before = current_;
    if (looks_) {
      const int64_t now = monotonic_ns();
      spent_ns_[static_cast<size_t>(before)] += now - since_ns_;
      since_ns_ = now;
    }
    current_ = step < kSteps ? step : kSteps - 1;
    return before;
  }
  int current() const { return current_; }
  /// CPU time of the piece so far.
  int64_t cpu_ns() const { return thread_cpu_ns() - begun_ns_; }
  /// The piece is done. Gives its CPU time in ns. Where it was looked at, `book(step, ns)` is called for each step that had part in
  /// that.
  template <typename Book>
  int64_t end(const Book& book) {
    const int64_t cpu = cpu_ns();
    if (!looks_) return cpu;
    enter(0);
    looks_ = false;
    int64_t whole = 0;
    for (const int64_t part : spent_ns_) whole += part;
    for (size_t step = 0; step < spent_ns_.size(); ++step) {
      if (spent_ns_[step] == 0) continue;
      const double share = static_cast<double>(spent_ns_[step]) / static_cast<double>(whole);
      book(static_cast<int>(step), static_cast<int64_t>(share * static_cast<double>(cpu)));
      spent_ns_[step] = 0;
    }
    return cpu;
  }

 private:
  std::array<int64_t, kSteps> spent_ns_{};  // of the piece that is looked at, by the clock on the wall
  int64_t begun_ns_ = 0, since_ns_ = 0;
  uint64_t pieces_ = 0;
  int current_ = 0;
  bool looks_ = false;
};

/// Work for a step, until the end of the scope.
class StepSpan {
 public:
  StepSpan(StepMeter& meter, int step) : meter_(meter), before_(meter.enter(step)) {}
  ~StepSpan() { meter_.enter(before_); }
  StepSpan(const StepSpan&) = delete;
  StepSpan& operator=(const StepSpan&) = delete;

 private:
  StepMeter& meter_;
  const int before_;
};

}  // namespace forebay
