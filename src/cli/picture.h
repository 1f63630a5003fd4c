#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/status.h"

namespace forebay {

using Rgb = std::array<uint8_t, 3>;

/// An 8-bit RGB picture to draw into. Drawing outside of it has no effect. The origin is the upper
/// left corner; pixels are stored row by row without gaps. One thread at a time uses it.
class Picture {
 public:
  Picture(int width, int height, Rgb background);

  int width() const { return width_; }
  int height() const { return height_; }
  const std::vector<uint8_t>& pixels() const { return pixels_; }
  /// Returns a pixel. In contrast to set(), it must lie inside.
  Rgb at(int x, int y) const;
  void set(int x, int y, Rgb color);

  /// Draws text. A letter has kGlyphWidth x kGlyphHeight dots of scale x scale pixels. Letters are
  /// one dot apart.
  static constexpr int kGlyphWidth = 5, kGlyphHeight = 7;
  void text(int x, int y, std::string_view text, int scale, Rgb color);

 private:
  int width_, height_;
  std::vector<uint8_t> pixels_;
};

/// Shortens `text` to fit into `width` pixels. A shortened text ends in "..". Characters outside of
/// ASCII become '?'.
std::string fit_text(std::string_view text, int width, int scale);

/// Writes the picture to a temporary file and renames it, so that the file is complete or absent.
/// Errors: NotFound or Unavailable, with the path; the temporary file is removed then.
Status write_png(const std::string& path, const Picture& picture);

}  // namespace forebay
