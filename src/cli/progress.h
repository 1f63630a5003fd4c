#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/verbs.h"

namespace forebay {

/// "epoch 0  [======>     ]  1280 of 2100  812/s  limit: storage": at most `width` characters. `note`: what stands at the end, or nothing.
std::string progress_line(const std::string& what, int64_t done, int64_t total, double per_second, int width,
                          const std::string& note = "");

/// Shows how far a run has come, on `err`: a bar that redraws itself on a terminal, else a plain line for each quarter.
/// One thread, which calls update() as often as it likes: a terminal is written to ten times a second at most. Units of `done` and `total`
/// are the caller's; done never falls.
class Progress {
 public:
  Progress(const Console& console, std::string what, int64_t total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `note`: asked for what to say beside it, when a terminal is drawn.
  void update(int64_t done, const std::function<std::string()>& note = {});

 private:
  void draw(int64_t done, int64_t now_ns, const std::function<std::string()>& note = {});

  Console console_;
  std::string what_;
  int64_t total_;
  bool quiet_, terminal_;
  int64_t begin_ns_, drawn_ns_ = 0;
  int64_t quarters_ = 0;
};

}  // namespace forebay
