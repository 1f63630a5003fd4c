#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace forebay {

/// The orientation (1 to 8) in a TIFF structure, as found in JPEG APP1 after "Exif\0\0", PNG eXIf
/// and WebP EXIF. Returns nullopt if the tag is absent or the structure is damaged, so a wrong EXIF
/// block never makes an image unreadable.
std::optional<int> exif_orientation(std::span<const uint8_t> tiff);

/// The orientation in an XMP packet, found as Pillow finds it.
std::optional<int> xmp_orientation(std::span<const uint8_t> xmp);

/// Collects the orientation from the metadata blocks of one file. EXIF takes precedence over XMP,
/// and the first block over later ones. One thread.
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
