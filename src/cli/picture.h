#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/status.h"

namespace forebay {

using Rgb = std::array<uint8_t, 3>;

/// An 8-bit RGB picture that things are drawn into. What would lie outside is left out.
/// The origin is the upper left corner, pixels lie row by row without gaps. One thread.
class Picture {
 public:
  Picture(int width, int height, Rgb background);

  int width() const { return width_; }
  int height() const { return height_; }
  const std::vector<uint8_t>& pixels() const { return pixels_; }
  /// Only inside: unlike set(), which leaves out what is not.
  Rgb at(int x, int y) const;
  void set(int x, int y, Rgb color);

  /// A letter is kGlyphWidth x kGlyphHeight dots of scale x scale pixels; the next begins a dot further.
  static constexpr int kGlyphWidth = 5, kGlyphHeight = 7;
  void text(int x, int y, std::string_view text, int scale, Rgb color);

 private:
  int width_, height_;
  std::vector<uint8_t> pixels_;
};

/// `text` cut to fit into `width` pixels, ending in ".." where something was cut. What is not ASCII becomes '?'.
std::string fit_text(std::string_view text, int width, int scale);

/// The file is whole or not there: it is written beside and renamed.
/// NotFound or Unavailable, with the path, where it cannot be written; nothing is left beside then.
Status write_png(const std::string& path, const Picture& picture);

}  // namespace forebay
