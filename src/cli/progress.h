#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/verbs.h"

namespace forebay {

/// Returns a line of at most `width` characters that ends in `note`:
/// "epoch 0  [======>     ]  1280 of 2100  812/s  limit: storage".
std::string progress_line(const std::string& what, int64_t done, int64_t total, double per_second, int width,
                          const std::string& note = "");

/// Shows the progress of a run on `err`: a bar that is redrawn on a terminal, otherwise a line for
/// each quarter. One thread calls update() as often as it likes; a terminal is redrawn at most ten
/// times a second. The caller chooses the unit of `done` and `total`, and `done` must not decrease.
class Progress {
 public:
  Progress(const Console& console, std::string what, int64_t total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `note` is called only when a terminal is redrawn. It returns the text at the end of the line.
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
