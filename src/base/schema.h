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
  kAny,        ///< made by user code; known when the sample is seen
};

/// Whether a field holds sound: samples along the last axis (channels before it), or what was made of pieces of it, piece by piece along
/// the last axis.
enum class SoundForm : uint8_t { kNone, kSamples, kSpectra };

/// What one field of every sample looks like.
struct Field {
  std::string name;
  FieldKind kind = FieldKind::kTensor;
  DType dtype = DType::kUint8;
  Shape shape;
  /// The value comes from the stored object's bytes, which must be fetched for it. False for what the index knows.
  bool fetched = false;
  /// Holds a picture, height × width × channels or channels × height × width: what image operators take.
  bool image = false;
  bool channels_first = false;
  bool layout_chosen = false;  ///< by .layout(), so no later operator changes it
  bool normalized = false;     ///< by .normalize()
  SoundForm sound = SoundForm::kNone;
  int64_t rate = 0;  ///< of sound, samples a second; 0: not known before the sample is seen
  // Of what user code is expected to make:
  bool optional = false;         ///< a sample may lack it
  bool ragged = false;           ///< a list of the source's that it may give back: (values, offsets) in every batch
  bool has_replacement = false;  ///< where a sample lacks it, the step that reads it takes another one
  /// Rows of a rank-1 field are filled up with this value, to pad_length or (0) to the longest of their batch.
  std::optional<double> pad_value;
  int64_t pad_length = 0;
  bool fixed_shape() const { return kind == FieldKind::kTensor && shape.fully_known(); }
  /// Any number of strings in each row.
  bool string_list() const { return kind == FieldKind::kBytesList || kind == FieldKind::kTextList; }
  /// "uint8", "text", "lists of text": the kind, and of tensors the dtype, for messages.
  std::string_view type_word() const;
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
