#pragma once

#include <memory>
#include <stop_token>

namespace forebay {

/// While this lives, the first Ctrl-C asks for a stop and the second ends the process at once. So does the clock: what
/// has not closed cleanly within 0.9 s of the first one is left, so that the program is gone within a second in any state.
/// Where the parent ignores SIGINT (a job in the background) it stays ignored.
///
/// One at a time in a process. Callbacks on the token run on a thread of its own, so they may block a little.
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
