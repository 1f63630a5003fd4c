#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/tensor.h"

namespace forebay {

enum class FieldKind : uint8_t {
  kTensor,     ///< a dense array; a dimension may be unknown until the sample is seen
  kBytes,      ///< one string of bytes, e.g. an encoded image
  kText,       ///< one string of UTF-8 (file names may hold other bytes)
  kBytesList,  ///< any number of strings of bytes
  kTextList,   ///< any number of strings of UTF-8
  kAny,        ///< made by user code; known once a sample is seen
};

/// Whether a field holds sound. Samples lie along the last axis, after the channels. Spectra are
/// computed from consecutive pieces of the sound, and those pieces lie along the last axis. The
/// recordings of a list lie one after the other, and another field has the length of each.
enum class SoundForm : uint8_t { kNone, kSamples, kSpectra, kRecordings };

/// Description of one field, valid for every sample.
struct Field {
  std::string name;
  FieldKind kind = FieldKind::kTensor;
  DType dtype = DType::kUint8;
  Shape shape;
  /// The value comes from the stored object's bytes, which must be fetched for it. False if the
  /// index alone gives the value.
  bool fetched = false;
  /// Holds a picture, height × width × channels or channels × height × width. Image operators
  /// accept such fields.
  bool image = false;
  bool channels_first = false;
  bool layout_chosen = false;  ///< set by .layout(); later operators do not change it
  bool normalized = false;     ///< set by .normalize()
  SoundForm sound = SoundForm::kNone;
  int64_t rate = 0;  ///< samples a second of a sound; 0: unknown until a sample is seen
  // Expectations about fields that user code makes:
  bool optional = false;  ///< a sample may lack it
  /// A list of the source that user code may return: (values, offsets) in every batch.
  bool ragged = false;
  /// If a sample lacks the field, the step that reads it takes a replacement.
  bool has_replacement = false;
  /// Rows of a rank-1 field are padded with this value, to pad_length, or to the longest row of the
  /// batch if pad_length is 0.
  std::optional<double> pad_value;
  int64_t pad_length = 0;
  bool fixed_shape() const { return kind == FieldKind::kTensor && shape.fully_known(); }
  /// Whether each row holds any number of strings.
  bool string_list() const { return kind == FieldKind::kBytesList || kind == FieldKind::kTextList; }
  /// Kind of the field, and for tensors the dtype, for messages: "uint8", "text", "lists of text".
  std::string_view type_word() const;
  /// Whether values of both fields have the same kind, and for tensors the same dtype and shape.
  bool same_type(const Field& other) const;
  /// "image: uint8 (?, ?, 3)".
  std::string to_string() const;
};

/// The fields of a record, in a fixed order.
class Schema {
 public:
  Schema() = default;
  explicit Schema(std::vector<Field> fields) : fields_(std::move(fields)) {}

  size_t size() const { return fields_.size(); }
  const Field& operator[](size_t i) const { return fields_[i]; }
  Field& operator[](size_t i) { return fields_[i]; }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::optional<size_t> find(std::string_view name) const;
  void push_back(Field field) { fields_.push_back(std::move(field)); }
  void erase(size_t i) { fields_.erase(fields_.begin() + static_cast<std::ptrdiff_t>(i)); }
  /// "image: uint8 (?, ?, 3), label: int64 ()", for messages.
  std::string to_string() const;
  /// "image, label, key", for messages.
  std::string names() const;
  /// User code may add or drop fields that are not known before the first sample.
  bool open_ended = false;

 private:
  std::vector<Field> fields_;
};

}  // namespace forebay
