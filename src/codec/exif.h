#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace forebay {

/// The orientation (1 to 8) in a TIFF structure, as found in JPEG APP1 after "Exif\0\0", PNG eXIf and WebP EXIF; nothing where
/// the tag is absent or the structure is damaged: a wrong EXIF block never makes a picture unreadable.
std::optional<int> exif_orientation(std::span<const uint8_t> tiff);

/// The orientation that an XMP packet states, the way Pillow finds it.
std::optional<int> xmp_orientation(std::span<const uint8_t> xmp);

/// Collects what the blocks of one file say: EXIF goes before XMP, the first block before later ones.
/// One file, one thread.
class OrientationFinder {
 public:
  void add_exif(std::span<const uint8_t> tiff) {
    if (!exif_) exif_ = exif_orientation(tiff);
  }
  void add_xmp(std::span<const uint8_t> xmp) {
    if (!xmp_) xmp_ = xmp_orientation(xmp);
  }
  int orientation() const { return exif_.value_or(xmp_.value_or(1)); }

 private:
  std::optional<int> exif_, xmp_;
};

}  // namespace forebay
