#pragma once

#include <memory>
#include <stop_token>

namespace forebay {

/// Handles Ctrl-C while the object lives. The first Ctrl-C requests a stop; the second ends the
/// process at once. A timer also ends the process 0.9 s after the first one, so that the program
/// exits within a second in any state. If the parent ignores SIGINT (a background job), it stays
/// ignored.
///
/// A process has at most one at a time. Callbacks of the token run on a thread of its own and may
/// block for a short time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const;
  bool requested() const { return token().stop_requested(); }

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace forebay
