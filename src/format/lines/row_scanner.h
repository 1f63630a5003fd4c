#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "forebay/result.h"
#include "format/lines/json_values.h"
#include "format/lines/text_form.h"

namespace forebay {

/// Finds the rows of a file whose form is not plain. The file is fed in order, from its first byte
/// to its last. One thread.
class RowScanner {
 public:
  /// A slice ends with the first row that makes it at least `slice_bytes` long.
  RowScanner(TextForm form, LineRows rows, uint64_t slice_bytes);

  /// Takes the next bytes of the file.
  void feed(std::span<const uint8_t> bytes);
  /// Corrupt if a value is not closed, or is closed without having been opened.
  Result<std::vector<LineSlice>> finish();

 private:
  /// Collects consecutive rows into slices.
  class Slices {
   public:
    explicit Slices(uint64_t slice_bytes) : slice_bytes_(slice_bytes) {}
    void add(uint64_t begin, uint64_t end, int64_t line);
    int64_t rows() const { return rows_; }
    std::vector<LineSlice> take();

   private:
    void close();
    const uint64_t slice_bytes_;
    int64_t rows_ = 0;
    std::optional<LineSlice> open_;
    std::vector<LineSlice> slices_;
  };

  void take(uint32_t c);
  void take_value_char(uint32_t c);
  void on_event(JsonValues::Event event, uint64_t at);
  void end_line(uint64_t end);

  const TextForm form_;
  const LineRows rows_;
  std::vector<uint8_t> half_;   ///< first byte of an incomplete two-byte character
  uint64_t at_ = 0, next_ = 0;  ///< offsets at which the current character begins and ends
  JsonValues values_;
  uint64_t value_begin_ = 0, element_begin_ = 0;
  Slices whole_, elements_;
  bool list_first_ = false;  ///< the first value is a list
  uint64_t line_begin_ = 0;
  int64_t line_ = 0;
  bool blank_ = true;
};

}  // namespace forebay
