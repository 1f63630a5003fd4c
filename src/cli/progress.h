#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/verbs.h"

namespace forebay {

/// Returns a line of progress, cut to `width` characters. `note`, if any, is at its end:
/// "epoch 0  [======>     ]  1280 of 2100  812/s  limit: storage".
std::string progress_line(const std::string& label, int64_t done, int64_t total, double per_second, int width,
                          const std::string& note = "");

/// Shows the progress of a run on `err`: a bar that is redrawn on a terminal, otherwise a line for
/// each quarter. One thread calls update() as often as it likes; a terminal is redrawn at most ten
/// times a second. The caller chooses the unit of `done` and `total`, and `done` must not decrease.
class Progress {
 public:
  /// Shows nothing if `quiet`. If `total` is 0 or less, only a terminal shows progress.
  Progress(const Console& console, std::string label, int64_t total, bool quiet);
  /// Clears the line of a terminal.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `note` is called only when a terminal is redrawn. It returns the text at the end of the line.
  void update(int64_t done, const std::function<std::string()>& note = {});

 private:
  void draw(int64_t done, int64_t now_ns, const std::function<std::string()>& note);

  Console console_;
  std::string label_;
  int64_t total_;
  bool quiet_, terminal_;
  int64_t start_ns_, last_draw_ns_ = 0;
  int64_t quarters_shown_ = 0;
};

}  // namespace forebay
