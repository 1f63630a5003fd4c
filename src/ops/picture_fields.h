#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/definition/args.h"
#include "ops/image/lazy_image.h"

// What all image operators share: the argument `field`, one name or a list of names that share one draw.

namespace forebay {

/// Largest side that a picture may be brought to.
constexpr int64_t kMaxSide = 1 << 20;
/// Most pixels of a picture that an operator makes: as many as decode_image takes by default.
constexpr int64_t kMaxMadePixels = 100'000'000;

/// "image" by default.
ArgDef field_arg(std::string help = "the picture's field, or a list of fields that share one draw");
ArgDef interpolation_arg();
/// The argument n of the crops.
ArgDef crop_size_arg();

enum class PixelNeed : uint8_t {
  kAny,
  kEightBits,
  kWhole,  ///< 8 bits, or 16
};

/// The places in the schema of the fields that `field` names, as far as they are pictures (marked so from here on); a
/// problem for each that is not there, still encoded, no picture, or of the wrong type.
std::vector<size_t> check_pictures(const Args& args, PixelNeed need, std::string_view op, Schema& schema,
                                   Problems& problems);
/// A problem where a size is not positive or absurd.
void check_size(const Args& args, std::string_view name, Problems& problems);
/// A problem for unknown interpolations, fields that the operator does not have, and weighted sums of what is not 8
/// bits.
void check_interpolation(const Args& args, std::span<const size_t> fields, const Schema& schema, Problems& problems);
/// The pictures of these fields are of this size from here on (Shape::kUnknown: known per sample).
void set_size(Schema& schema, std::span<const size_t> fields, Size size);

/// A field that an operator works on, and how.
struct PictureField {
  size_t index = 0;
  std::string name;
  bool channels_first = false;
  Interpolation interpolation = Interpolation::kBilinear;
};
std::vector<PictureField> picture_fields(const Args& args, const Schema& before);

/// The pictures of one sample, as descriptions that an operator can change; tensors become such first. The pointers
/// live as long as the record's values.
Result<std::vector<LazyImage*>> pictures(Record& record, std::span<const PictureField> fields, WorkMemory& memory);
/// The size that all the pictures have; Unsupported, with both sizes, where they differ.
Result<Size> common_size(std::span<LazyImage* const> pictures, std::span<const PictureField> fields);
/// "640 × 480", width first.
std::string size_text(int64_t height, int64_t width);

}  // namespace forebay
