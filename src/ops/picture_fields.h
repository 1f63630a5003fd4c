#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/definition/args.h"
#include "ops/image/lazy_image.h"

// Functions shared by all image operators: the argument `field`, one name or a list of names that
// share one draw.

namespace forebay {

/// Largest side of a picture that an operator may make.
constexpr int64_t kMaxSide = 1 << 20;
/// Largest number of pixels of a picture that an operator may make; also decode_image's default
/// limit.
constexpr int64_t kMaxMadePixels = 100'000'000;

/// Defaults to "image".
ArgDef field_arg(std::string help = "the picture's field, or a list of fields that share one draw");
ArgDef interpolation_arg();
/// The argument n of the crop operators.
ArgDef crop_size_arg();

/// Element types that an operator accepts.
enum class PixelNeed : uint8_t {
  kAny,
  kEightBits,
  kWhole,  ///< 8 or 16 bits
};

/// Returns the schema indices of the fields that `field` names and that are pictures, and marks
/// them as pictures. Adds a problem for each field that is missing, still encoded, not a picture,
/// or of the wrong type.
std::vector<size_t> check_pictures(const Args& args, PixelNeed need, std::string_view op, Schema& schema,
                                   Problems& problems);
/// Adds a problem if a size is not positive or unreasonably large.
void check_size(const Args& args, std::string_view name, Problems& problems);
/// Adds a problem for each unknown interpolation, for each named field that the operator does not
/// have, and for bilinear interpolation of pixels that are neither 8-bit nor uint16.
void check_interpolation(const Args& args, std::span<const size_t> fields, const Schema& schema, Problems& problems);
/// The shape of one picture of the field, also of those in lists.
Shape picture_shape(const Field& field);
/// Sets it.
void set_picture_shape(Field& field, const Shape& shape);
/// Sets the picture size of these fields (Shape::kUnknown: known per sample).
void set_size(Schema& schema, std::span<const size_t> fields, Size size);

/// A field that an operator works on, and how it is processed.
struct PictureField {
  size_t index = 0;
  std::string name;
  bool channels_first = false;
  Interpolation interpolation = Interpolation::kBilinear;
};
std::vector<PictureField> picture_fields(const Args& args, const Schema& before);

/// Whether the value is a picture, or a list of pictures, whose pixels are not computed yet.
bool is_described(const Value& value);
/// One picture of a sample.
struct SamplePicture {
  LazyImage* image = nullptr;
  size_t field = 0;  ///< its field's number among those of the operator
  /// The list is empty. The operator changes this picture all the same: it tells what pictures of
  /// the list would be like.
  bool stands_in = false;
};
/// The pictures of one sample as descriptions that an operator can change: one of each field, or all
/// of a list. Tensors are first converted to descriptions, those of four axes to lists. The pointers are valid as long as the
/// record's values.
Result<std::vector<SamplePicture>> pictures(Record& record, std::span<const PictureField> fields, WorkMemory& memory);
/// The common size of all pictures, `of_none` if there is none. Unsupported, naming both sizes, if
/// they differ.
Result<Size> common_size(std::span<const SamplePicture> pictures, std::span<const PictureField> fields, Size of_none);
/// "640 × 480", width first.
std::string size_text(int64_t height, int64_t width);

}  // namespace forebay
